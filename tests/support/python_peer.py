"""A server of another implementation: Python's grpcio, without generated code.

Answers every unary method. Requests are not parsed; what to do is told by metadata:
  x-key          which counter the call belongs to
  x-fail-times   so many attempts of that key fail with UNAVAILABLE
The response is an EchoResponse whose items tell what each attempt so far looked
like, one item per attempt: "key=value" pairs, one per line.
"""

import ctypes
import signal
import sys
import threading
from concurrent import futures

import grpc

PR_SET_PDEATHSIG = 1


def varint(number):
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def echo_response(items):
    """Field 1, repeated string."""
    out = b""
    for item in items:
        data = item.encode("utf-8", "backslashreplace")
        out += b"\x0a" + varint(len(data)) + data
    return out


class Peer(grpc.GenericRpcHandler):
    def __init__(self):
        self._lock = threading.Lock()
        self._attempts = {}

    def service(self, details):
        def handle(request, context):
            return self._handle(details.method, request, context)

        return grpc.unary_unary_rpc_method_handler(handle)

    def _handle(self, method, request, context):
        metadata = context.invocation_metadata()
        first = {}
        for key, value in metadata:
            first.setdefault(key, value)
        left = context.time_remaining()
        # Absent where the caller sets no deadline.
        seen = [("method", method), ("bytes", len(request))]
        if left is not None and left < 1e6:
            seen.append(("time-left-ms", int(left * 1000)))
        seen += [(k, v if isinstance(v, str) else v.hex()) for k, v in metadata]
        with self._lock:
            attempts = self._attempts.setdefault(first.get("x-key", ""), [])
            attempts.append("\n".join("%s=%s" % pair for pair in seen))
            attempts = list(attempts)
        if len(attempts) <= int(first.get("x-fail-times", "0")):
            context.set_trailing_metadata((("x", str(len(attempts))),))
            context.abort(
                grpc.StatusCode.UNAVAILABLE, "attempt %d failed" % len(attempts)
            )
        return echo_response(attempts)


def main():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=8))
    server.add_generic_rpc_handlers((Peer(),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print("PORT %d" % port, flush=True)
    server.wait_for_termination()


if __name__ == "__main__":
    sys.exit(main())
