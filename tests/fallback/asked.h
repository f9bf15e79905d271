// Asks a fallback source as a call would, without one.

#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "grpc_resilience/fallback.h"

namespace grpc_resilience::test {

/// This type is safe to use from several threads at once.
class AskedTaker : public FallbackReply::Taker {
 public:
  bool Take(FallbackAnswer answer) override {
    absl::MutexLock lock(&mu_);
    if (answer_.has_value() || over_) return false;
    answer_ = std::move(answer);
    return true;
  }
  bool over() const override {
    absl::MutexLock lock(&mu_);
    return over_ || answer_.has_value();
  }
  /// The caller has gone.
  void GiveUp() {
    absl::MutexLock lock(&mu_);
    over_ = true;
  }
  std::optional<FallbackAnswer> answer() const {
    absl::MutexLock lock(&mu_);
    return answer_;
  }
  /// Empty when none comes in time.
  std::optional<FallbackAnswer> Wait(absl::Duration time = absl::Seconds(20)) {
    absl::MutexLock lock(&mu_);
    mu_.AwaitWithTimeout(
        absl::Condition(
            +[](std::optional<FallbackAnswer>* a) { return a->has_value(); },
            &answer_),
        time);
    return answer_;
  }

 private:
  mutable absl::Mutex mu_;
  std::optional<FallbackAnswer> answer_ ABSL_GUARDED_BY(mu_);
  bool over_ ABSL_GUARDED_BY(mu_) = false;
};

inline constexpr TimePoint kStart = TimePoint(std::chrono::hours(1000));

inline std::shared_ptr<FailedCall> MakeCall(std::string request,
                                            TimePoint now = kStart) {
  auto call = std::make_shared<FailedCall>();
  call->target = "catalogue:443";
  call->method = "/shop.Catalogue/GetPage";
  call->request = std::move(request);
  call->message = "overloaded";
  call->attempts = 3;
  call->now = now;
  return call;
}

inline std::shared_ptr<AskedTaker> Ask(
    FallbackSource* source, const std::shared_ptr<const FailedCall>& call) {
  auto taker = std::make_shared<AskedTaker>();
  source->Start(call, FallbackReply(taker));
  return taker;
}

/// What `source` says at once.
inline FallbackAnswer AnswerOf(FallbackSource* source,
                               const std::shared_ptr<const FailedCall>& call) {
  return Ask(source, call)
      ->answer()
      .value_or(FallbackAnswer::Declined("no answer"));
}

}  // namespace grpc_resilience::test
