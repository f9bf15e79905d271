// The fixtures of the end-to-end tests: a backend for each suite, a watchdog for
// each test, and the usual ways to make a protected channel.

#pragma once

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "grpc_resilience/channel.h"
#include "grpc_resilience/resilience.h"
#include "support/backend_process.h"
#include "support/call_styles.h"
#include "support/test_paths.h"
#include "support/watchdog.h"

namespace grpc_resilience::test {

using std::chrono::milliseconds;
using std::chrono::seconds;

inline double Milliseconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

/// The values of a metadata key that the server saw, in order.
inline std::vector<std::string> Seen(const Observation& observation,
                                     const std::string& key) {
  std::vector<std::string> values;
  for (const Metadata& entry : observation.metadata()) {
    if (entry.key() == key) values.push_back(entry.value());
  }
  return values;
}

/// A policy that retries without getting in the way of what is tested: breaker
/// off, retries not limited by tokens, waits of exactly 2 ms.
inline Config RetryConfig(int max_attempts = 3) {
  Config config;
  config.DefaultTarget().breaker.mode = BreakerMode::kDisabled;
  config.DefaultTarget().throttle.limits_retries = false;
  RetryPolicy& retry = config.DefaultMethod().retry;
  retry.max_attempts = max_attempts;
  retry.backoff.initial_backoff = milliseconds(2);
  retry.backoff.max_backoff = milliseconds(2);
  retry.backoff.backoff_multiplier = 1;
  retry.backoff.jitter = Jitter::kNone;
  return config;
}

/// Waits of exactly this long.
inline void SetBackoff(RetryPolicy* retry, Duration wait) {
  retry->backoff.initial_backoff = wait;
  retry->backoff.max_backoff = wait;
  retry->backoff.backoff_multiplier = 1;
  retry->backoff.jitter = Jitter::kNone;
}

/// Ends the test program when the config is bad.
inline std::shared_ptr<Resilience> MakeResilience(Config config) {
  auto resilience = Resilience::Create(std::move(config));
  if (!resilience.ok()) {
    ADD_FAILURE() << resilience.status();
    std::abort();
  }
  return *std::move(resilience);
}

inline void SetDeadline(grpc::ClientContext* context,
                        std::chrono::milliseconds from_now) {
  context->set_deadline(std::chrono::system_clock::now() + from_now);
}

class EndToEndTest : public testing::Test {
 protected:
  explicit EndToEndTest(std::chrono::nanoseconds limit = seconds(60))
      : watchdog_(limit) {}

  static void SetUpTestSuite() {
    backend_ = BackendProcess::Start(BackendPath());
  }
  static void TearDownTestSuite() { backend_.reset(); }
  static BackendProcess& backend() { return *backend_; }

  /// A request with a key that no other test uses.
  static EchoRequest NewRequest() {
    static int number = 0;
    EchoRequest request;
    request.set_key(CurrentTestName() + "#" + std::to_string(++number));
    request.add_payload("payload of " + request.key());
    return request;
  }
  /// Its first `times` hits fail.
  static EchoRequest FailingRequest(int times,
                                    StatusCode code = StatusCode::UNAVAILABLE) {
    EchoRequest request = NewRequest();
    request.mutable_script()->set_fail_times(times);
    request.mutable_script()->set_code(code);
    request.mutable_script()->set_message("hit # failed");
    return request;
  }
  static HitsResponse Hits(const EchoRequest& request) {
    return backend().Hits(request.key());
  }

  static std::shared_ptr<grpc::Channel> NewChannel(
      const std::shared_ptr<Resilience>& resilience,
      InterceptorFactories inner = {}) {
    return CreateChannel(resilience, backend().target(),
                         grpc::InsecureChannelCredentials(),
                         grpc::ChannelArguments(), std::move(inner));
  }
  static std::shared_ptr<grpc::Channel> NewChannel(Config config) {
    return NewChannel(MakeResilience(std::move(config)));
  }
  /// A channel as made by someone who keeps his own list of factories.
  static std::shared_ptr<grpc::Channel> NewChannelOf(
      InterceptorFactories factories) {
    grpc::ChannelArguments args;
    args.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
    return grpc::experimental::CreateCustomChannelWithInterceptors(
        backend().target(), grpc::InsecureChannelCredentials(), args,
        std::move(factories));
  }
  static std::shared_ptr<grpc::Channel> PlainChannel() {
    return NewChannelOf({});
  }

 private:
  inline static std::unique_ptr<BackendProcess> backend_;
  const Watchdog watchdog_;
};

/// How a unary call goes through the library.
enum class Way {
  /// The caller's own call is the first attempt, where the style allows it.
  kWatched,
  /// As kWatched, with a limit on each attempt and no deadline of the caller's.
  kLimited,
  /// Every attempt is a call of the library's own.
  kHijacked,
};

/// What tests of one style have in common.
class CallTest : public EndToEndTest {
 protected:
  virtual CallStyle style() const = 0;

  CallResult Call(const std::shared_ptr<grpc::Channel>& channel,
                  EchoMethod method, const EchoRequest& request,
                  EchoResponse* response) {
    grpc::ClientContext context;
    return Call(channel, method, &context, request, response);
  }
  CallResult Call(const std::shared_ptr<grpc::Channel>& channel,
                  EchoMethod method, grpc::ClientContext* context,
                  const EchoRequest& request, EchoResponse* response) {
    Prepare(context);
    return test::Call(style(), channel, method, context, request, response);
  }
  /// For contexts of calls that are made in other ways.
  virtual void Prepare(grpc::ClientContext*) const {}
  /// Where the response doesn't matter.
  CallResult Call(const std::shared_ptr<grpc::Channel>& channel,
                  EchoMethod method, const EchoRequest& request) {
    EchoResponse response;
    return Call(channel, method, request, &response);
  }
};

/// For every style of call.
class StyleTest : public CallTest,
                  public testing::WithParamInterface<CallStyle> {
 protected:
  CallStyle style() const override { return GetParam(); }
};

/// For every style of call and all ways through the library.
class WayTest : public CallTest,
                public testing::WithParamInterface<std::tuple<CallStyle, Way>> {
 protected:
  CallStyle style() const override { return std::get<0>(GetParam()); }
  Way way() const { return std::get<1>(GetParam()); }
  Config RetryConfig(int max_attempts = 3) const {
    Config config = test::RetryConfig(max_attempts);
    if (way() != Way::kWatched) {
      config.DefaultMethod().retry.per_attempt_timeout =
          std::chrono::minutes(1);
    }
    return config;
  }
  /// A limit that gRPC can't keep beside the caller's deadline takes the call over.
  void Prepare(grpc::ClientContext* context) const override {
    const gpr_timespec none =
        gpr_inf_future(context->raw_deadline().clock_type);
    if (way() == Way::kHijacked &&
        gpr_time_cmp(context->raw_deadline(), none) == 0) {
      SetDeadline(context, std::chrono::minutes(10));
    }
  }
};

inline std::string ToString(Way way) {
  switch (way) {
    case Way::kWatched:
      return "Watched";
    case Way::kLimited:
      return "Limited";
    case Way::kHijacked:
      return "Hijacked";
  }
  return "";
}

inline auto AllWays() {
  return testing::Combine(
      AllCallStyles(),
      testing::Values(Way::kWatched, Way::kLimited, Way::kHijacked));
}
inline std::string WayName(
    const testing::TestParamInfo<std::tuple<CallStyle, Way>>& info) {
  return ToString(std::get<0>(info.param)) + ToString(std::get<1>(info.param));
}

}  // namespace grpc_resilience::test
