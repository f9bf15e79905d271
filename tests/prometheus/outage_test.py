#!/usr/bin/env python3
"""A real Prometheus scrapes a real client while its backend is killed and restarted;
then asks what an operator would ask: alert rules, dashboard, invariants.

  outage_test.py --prometheus P --backend P --client P --rules FILE --dashboard FILE

Exits with 0 when everything held. Starts its own processes on ports of the kernel's
choice, kills them by their ids, and ends itself after TIME_LIMIT seconds.
"""

import argparse
import contextlib
import ctypes
import json
import math
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request

TIME_LIMIT = 150
HEALTHY_S, OUTAGE_S, RECOVERY_S = 4, 5, 4
SCRAPE_MS = 250
PR_SET_PDEATHSIG = 1

failures = []


def check(condition, what):
    print("ok    " if condition else "FAILED", what, flush=True)
    if not condition:
        failures.append(what)


def die_with_parent():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def kill(process):
    if process.poll() is None:
        process.kill()
    process.wait()


@contextlib.contextmanager
def running(*command, **options):
    process = subprocess.Popen(command, preexec_fn=die_with_parent, **options)
    try:
        yield process
    finally:
        kill(process)


def port_of(process, word):
    """The port that a program of ours prints in its first line."""
    line = process.stdout.readline().split()
    if len(line) != 2 or line[0] != word:
        sys.exit(f"expected '{word} <port>', got {line}")
    return int(line[1])


def wait_for(condition, what, seconds=30):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        result = condition()
        if result:
            return result
        time.sleep(0.1)
    sys.exit(f"not within {seconds} s: {what}")


class Prometheus:
    def __init__(self, log):
        self.log = log
        self.address = wait_for(self.listening, "Prometheus listens")
        wait_for(self.ready, "Prometheus is ready")

    def listening(self):
        found = re.search(r'msg="Listening on" address=(\S+)', self.log.read_text())
        return found and found.group(1)

    def ready(self):
        try:
            urllib.request.urlopen(f"http://{self.address}/-/ready", timeout=5).close()
            return True
        except OSError:
            return False

    def get(self, path, **parameters):
        url = f"http://{self.address}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        try:
            with urllib.request.urlopen(url, timeout=20) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            return {"result": [], "error": error.read().decode()}

    def query(self, expression):
        """Now: list of (labels, value)."""
        result = self.get("query", query=expression)["result"]
        return [(s["metric"], float(s["value"][1])) for s in result]

    def value(self, expression):
        """Of the only series."""
        result = self.query(expression)
        return result[0][1] if len(result) == 1 else math.nan

    def range(self, expression, start, end):
        """List of (labels, [value, …]), a value each scrape."""
        result = self.get("query_range", query=expression, start=start, end=end,
                          step=SCRAPE_MS / 1000)["result"]
        return [(s["metric"], [float(v) for _, v in s["values"]]) for s in result]


def check_counters(prometheus, target):
    metric = "grpc_resilience_"
    total = lambda name, labels="": prometheus.value(f"sum({metric}{name}{{{labels}}})")
    check(total("calls_total", 'code="OK"') > 50, "calls succeeded")
    check(total("calls_total", 'code="UNAVAILABLE"') > 0, "calls failed")
    check(total("rejected_total") > 20, "the breaker rejected calls")
    check(total("retries_total") > 5, "calls were retried")
    # A scrape is no snapshot across counters: the calls under way may be between.
    for one in ("call", "attempt"):
        apart = prometheus.value(f"sum({metric}{one}_duration_seconds_count)"
                                 f" - sum({metric}{one}s_total)")
        check(abs(apart) <= 4, f"the histogram has as many {one}s as the counter: {apart:+g}")
    # The first attempt of each call that wasn't rejected at once, and the retries.
    firsts = prometheus.value(f"sum({metric}attempts_total) - sum({metric}retries_total)"
                              f" - sum({metric}calls_total)")
    check(firsts <= 4, f"attempts are calls and retries: {firsts:+g}")
    methods = {labels["method"] for labels, _ in prometheus.query(f"{metric}calls_total")}
    check(methods == {"/grpc_resilience.test.Echo/Idempotent", "other"},
          f"methods are those of the config and other: {sorted(methods)}")
    targets = {labels["target"] for labels, _ in prometheus.query(f"{metric}calls_total")}
    check(targets == {target}, f"one target: {targets}")
    labels = set()
    for series in prometheus.get("series", **{"match[]": '{__name__=~"grpc_resilience_.*"}'}):
        labels |= set(series)
    check(labels <= {"__name__", "job", "instance", "target", "method", "code", "kind",
                     "result", "state", "mode", "from", "to", "reason", "cause", "le"},
          f"no label of a peer or a port: {sorted(labels)}")


def check_states(prometheus, start, end):
    """F04"""
    by_key = "sum by (target, method, key) "
    states = prometheus.range(f"{by_key}(grpc_resilience_breaker_state)", start, end)
    check(len(states) == 1 and set(states[0][1]) == {1.0} and len(states[0][1]) > 20,
          "in every scrape exactly one state is 1")
    modes = prometheus.range(f"{by_key}(grpc_resilience_breaker_mode)", start, end)
    check(len(modes) == 1 and set(modes[0][1]) == {1.0}, "and exactly one mode")
    seen = {labels["state"]: max(values) for labels, values in
            prometheus.range("grpc_resilience_breaker_state", start, end)}
    check(seen.get("open") == 1.0, "the breaker was seen open")
    count = lambda labels: prometheus.value(
        f"sum(grpc_resilience_breaker_transitions_total{{{labels}}})")
    opened, closed = count('from="closed", to="open"'), count('to="closed"')
    check(opened >= 1 and opened - closed in (0, 1),
          f"opened {opened:.0f} times, closed {closed:.0f} times")
    begun, ended = count('from="open", to="half_open"'), count('from="half_open"')
    check(begun >= 1 and begun - ended in (0, 1),
          f"half-open rounds: {begun:.0f}, ended: {ended:.0f}")


def check_alerts(prometheus, killed_at, start, end):
    rules = [rule for group in prometheus.get("rules")["groups"] for rule in group["rules"]]
    check(len(rules) == 4 and all(rule["health"] != "err" for rule in rules),
          f"the rules are in force: {[rule['name'] for rule in rules]}")
    for rule in rules:
        measured = re.sub(r"\s(>=?) [\d.]+(\s|$)", " ", rule["query"])
        numbers = [v for _, values in prometheus.range(measured, start, end)
                   for v in values if math.isfinite(v)]
        check(len(numbers) > 0, f"{rule['name']} measures: {len(numbers)} numbers, "
                                f"up to {max(numbers, default=math.nan):.3g}")
    fired = prometheus.get(
        "query_range", start=start, end=end, step=SCRAPE_MS / 1000,
        query='ALERTS{alertname="GrpcResilienceCircuitOpen", alertstate="firing"}')["result"]
    check(len(fired) == 1, "the alert of the open circuit fired")
    if fired:
        after = float(fired[0]["values"][0][0]) - killed_at
        check(0 <= after <= 60, f"within 60 s of the outage: {after:.1f} s")


# What the outage must look like: of the panel's first query, (lowest, highest).
SHOWN = {
    "Open circuits": lambda low, high: (low, high) == (0, 1),
    "Breaker states": lambda low, high: (low, high) == (0, 2),
    "Success": lambda low, high: low < 0.3 and high > 0.7,
    "What the library did": lambda low, high: low == 0 and high > 5,
}


def check_dashboard(prometheus, path, start, end):
    """Every query has data: a number at some time."""
    dashboard = json.loads(path.read_text(encoding="utf-8"))
    queries = [(panel["title"], target["expr"], target["refId"])
               for panel in dashboard["panels"] for target in panel["targets"]]
    queries += [(a["name"], a["expr"], "") for a in dashboard["annotations"]["list"]]
    for title, expression, ref in queries:
        for variable, value in (("$__rate_interval", "2s"), ("$job", ".*"), ("$target", ".*")):
            expression = expression.replace(variable, value)
        if "$" in expression:
            check(False, f"dashboard: {title}: a variable that isn't known: {expression}")
        result = prometheus.range(expression, start, end)
        numbers = [v for _, values in result for v in values if math.isfinite(v)]
        check(len(numbers) > 0, f"dashboard: {title} {ref}: {len(result)} series, "
                                f"{len(numbers)} numbers")
        if numbers and ref == "A" and title in SHOWN:
            check(SHOWN[title](min(numbers), max(numbers)),
                  f"dashboard: {title} shows the outage: "
                  f"{min(numbers):.3g} to {max(numbers):.3g}")
    check(set(SHOWN) <= {title for title, _, _ in queries}, "dashboard: panels are there")
    for panel in dashboard["templating"]["list"]:
        found = re.fullmatch(r"label_values\((\w+), (\w+)\)", panel.get("definition", ""))
        if found:
            values = prometheus.get(f"label/{found.group(2)}/values",
                                    **{"match[]": found.group(1)})
            check(len(values) == 1, f"dashboard: variable {panel['name']}: {values}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("prometheus", "backend", "client", "rules", "dashboard"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    signal.signal(signal.SIGALRM, lambda *_: sys.exit(f"took longer than {TIME_LIMIT} s"))
    signal.alarm(TIME_LIMIT)

    piped = {"stdout": subprocess.PIPE, "text": True}
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        backend = stack.enter_context(running(arguments.backend, **piped))
        port = port_of(backend, "PORT")
        target = f"127.0.0.1:{port}"
        client = stack.enter_context(running(arguments.client, f"--target={target}", **piped))
        metrics_port = port_of(client, "METRICS")

        (folder / "prometheus.yml").write_text(json.dumps({
            "global": {"scrape_interval": f"{SCRAPE_MS}ms", "scrape_timeout": f"{SCRAPE_MS}ms",
                       "evaluation_interval": "1s"},
            "rule_files": [str(arguments.rules.resolve())],
            "scrape_configs": [{"job_name": "shop", "static_configs": [
                {"targets": [f"127.0.0.1:{metrics_port}"]}]}]}))
        log = folder / "log"
        with open(log, "w", encoding="utf-8") as file:
            stack.enter_context(running(
                arguments.prometheus, f"--config.file={folder / 'prometheus.yml'}",
                f"--storage.tsdb.path={folder / 'data'}",
                "--web.listen-address=127.0.0.1:0", stdout=file, stderr=file))
        prometheus = Prometheus(log)
        wait_for(lambda: prometheus.value("sum(grpc_resilience_calls_total)") > 0,
                 "the client is scraped")
        start = time.time() + 0.5

        time.sleep(HEALTHY_S)
        kill(backend)
        killed_at = time.time()
        time.sleep(OUTAGE_S)
        backend = stack.enter_context(running(arguments.backend, f"--port={port}", **piped))
        port_of(backend, "PORT")
        wait_for(lambda: prometheus.value(
            'sum(grpc_resilience_breaker_state{state="closed"})') == 1, "the breaker closes")
        time.sleep(RECOVERY_S)
        end = time.time() - 0.5

        check(prometheus.value("avg_over_time(up[1m])") > 0.8, "scrapes succeeded")
        check_counters(prometheus, target)
        check_states(prometheus, start, end)
        check_alerts(prometheus, killed_at, start, end)
        check_dashboard(prometheus, arguments.dashboard, start, end)
        if client.poll() is not None:
            check(False, f"the client ended with {client.returncode}")
    print(f"{len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
