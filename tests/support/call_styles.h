// One unary call in every style that gRPC C++ offers, behind one signature, so
// that each behaviour is tested in all of them.
//
//   class FooTest : public StyleTest {};
//   TEST_P(FooTest, Works) {
//     grpc::ClientContext context;
//     EchoResponse response;
//     CallResult result = Call(GetParam(), channel, EchoMethod::kUnary, &context,
//                              request, &response);
//   }
//   INSTANTIATE_TEST_SUITE_P(, FooTest, AllCallStyles(), CallStyleName);

#pragma once

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "test_service.grpc.pb.h"

namespace grpc_resilience::test {

enum class CallStyle {
  kSync,
  kAsyncCq,                 ///< Finish only
  kAsyncCqInitialMetadata,  ///< ReadInitialMetadata, then Finish
  kCallback,                ///< a function
  kReactor,                 ///< ClientUnaryReactor that deletes itself
  kGenericCq,               ///< GenericStub: ByteBuffers
  kGenericCallback,
  kGenericReactor,
};

std::string ToString(CallStyle style);
/// For INSTANTIATE_TEST_SUITE_P.
std::string CallStyleName(const testing::TestParamInfo<CallStyle>& info);
inline auto AllCallStyles() {
  return testing::Values(
      CallStyle::kSync, CallStyle::kAsyncCq, CallStyle::kAsyncCqInitialMetadata,
      CallStyle::kCallback, CallStyle::kReactor, CallStyle::kGenericCq,
      CallStyle::kGenericCallback, CallStyle::kGenericReactor);
}
bool IsGeneric(CallStyle style);
/// The interceptor sees the request's object, not only its bytes.
bool ShowsRequestObject(CallStyle style);

enum class EchoMethod { kUnary, kIdempotent, kReadOnly };

/// "/grpc_resilience.test.Echo/Unary".
std::string MethodName(EchoMethod method);

using MetadataMap = std::multimap<std::string, std::string>;

/// What the caller is left with. A value type.
struct CallResult {
  grpc::Status status;
  /// Completion queue: every tag came with ok. True in the other styles.
  bool tag_ok = true;
  MetadataMap initial_metadata;
  MetadataMap trailing_metadata;
  std::chrono::nanoseconds elapsed{0};
  std::string peer;
  std::string debug_error_string;

  /// The values of a key, in order.
  std::vector<std::string> Initial(const std::string& key) const;
  std::vector<std::string> Trailing(const std::string& key) const;
};

/// Makes the call and waits for it. A second completion ends the program.
/// What `*response` held before stays in it when the call fails, also in the
/// generic styles.
CallResult Call(CallStyle style, const std::shared_ptr<grpc::Channel>& channel,
                EchoMethod method, grpc::ClientContext* context,
                const EchoRequest& request, EchoResponse* response);

/// A call under way. Not safe for use from several threads at once.
class RunningCall {
 public:
  struct State;
  explicit RunningCall(std::shared_ptr<State> state)
      : state_(std::move(state)) {}
  RunningCall(RunningCall&&) = default;
  RunningCall& operator=(RunningCall&&) = default;
  /// Waits.
  ~RunningCall();

  bool done() const;
  CallResult Wait();

 private:
  std::shared_ptr<State> state_;
};

/// As Call, without waiting; everything must live until Wait returns. Sync and
/// completion queue calls run on a thread of their own.
RunningCall Start(CallStyle style,
                  const std::shared_ptr<grpc::Channel>& channel,
                  EchoMethod method, grpc::ClientContext* context,
                  const EchoRequest& request, EchoResponse* response);

/// As Start, but context, request and response are deleted as early as the style
/// allows: in the callback, in OnDone, right after Finish's tag or the return.
/// `prepare` may be empty.
RunningCall StartSelfDeleting(
    CallStyle style, const std::shared_ptr<grpc::Channel>& channel,
    EchoMethod method, const std::function<void(grpc::ClientContext*)>& prepare,
    const EchoRequest& request);

}  // namespace grpc_resilience::test
