#include "grpc_resilience/other_target.h"

#include <grpcpp/client_context.h>
#include <grpcpp/generic/generic_stub.h>

#include <chrono>

#include "absl/strings/str_cat.h"
#include "fallback/sent_again.h"
#include "fallback/workers.h"

namespace grpc_resilience {
namespace {

// The call to the other target.
struct OtherCall {
  explicit OtherCall(FallbackReply to) : reply(std::move(to)) {}

  void Answer(const grpc::Status& status) const {
    if (status.ok()) {
      reply.Answer(FallbackAnswer::Response(internal::BytesOf(response)));
    } else {
      // No more than the code: the rest is another server's to tell.
      reply.Answer(
          FallbackAnswer::Declined(StatusCodeName(status.error_code())));
    }
  }

  FallbackReply reply;
  std::shared_ptr<const FailedCall> call;
  grpc::ClientContext context;
  grpc::ByteBuffer request;
  grpc::ByteBuffer response;
};

// The context may hold the last reference to its channel, which must not go on a
// thread of gRPC's. Without a thread to be had it is rather leaked.
void DeleteElsewhere(OtherCall* over) {
  internal::Workers::OfProcess().Run([over] { delete over; });
}

}  // namespace

void OtherTarget::UseChannel(const std::shared_ptr<grpc::Channel>& channel) {
  absl::MutexLock lock(&mu_);
  channel_ = channel;
}

void OtherTarget::Start(const std::shared_ptr<const FailedCall>& call,
                        FallbackReply reply) {
  std::shared_ptr<grpc::Channel> channel;
  {
    absl::MutexLock lock(&mu_);
    channel = channel_.lock();
  }
  if (channel == nullptr) {
    reply.Answer(FallbackAnswer::Declined("no channel"));
    return;
  }
  auto* const other = new OtherCall(std::move(reply));
  other->call = call;
  if (const auto left = call->deadline.Remaining(call->now)) {
    other->context.set_deadline(
        std::chrono::system_clock::now() +
        std::chrono::duration_cast<std::chrono::system_clock::duration>(*left));
  }
  internal::CopyMetadata(*call, options_.metadata_keys, &other->context);
  other->request = internal::BufferOf(call->request);
  grpc::GenericStub stub(channel);
  stub.UnaryCall(&other->context, call->method, grpc::StubOptions(),
                 &other->request, &other->response,
                 [other](const grpc::Status& status) {
                   other->Answer(status);
                   DeleteElsewhere(other);
                 });
}

}  // namespace grpc_resilience
