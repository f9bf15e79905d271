#include "grpc_resilience/retry_worst_case.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "core/retry_decision.h"
#include "grpc_resilience/backoff.h"
#include "grpc_resilience/deadline.h"

namespace grpc_resilience {
namespace {

constexpr int kCountedWaits = 10'000;

Duration Add(Duration a, Duration b) {
  return SaturatingAdd(TimePoint(a), b).time_since_epoch();
}

Duration Times(int count, Duration length) {
  if (count > 0 && length > Duration::max() / count) return Duration::max();
  return count * length;
}

Duration Scaled(Duration length, double factor) {
  const double scaled = static_cast<double>(length.count()) * factor;
  // 2^63 as a double; the largest Duration isn't one.
  if (!(scaled < 0x1.0p63)) return Duration::max();
  return Duration(static_cast<std::int64_t>(std::round(scaled)));
}

// The policy without jitter that waits as long as this one can.
BackoffPolicy LongestWaits(BackoffPolicy policy) {
  if (policy.jitter == Jitter::kRatio) {
    policy.initial_backoff =
        Scaled(policy.initial_backoff, 1 + policy.jitter_ratio);
  } else if (policy.jitter == Jitter::kDecorrelated) {
    policy.initial_backoff = Scaled(policy.initial_backoff, 3);
    policy.backoff_multiplier = 3;
  }
  policy.jitter = Jitter::kNone;
  return policy;
}

/// A call whose attempts all take their full time.
class SlowestCourse {
 public:
  SlowestCourse(const RetryPolicy& retry, Duration per_attempt)
      : waits_(LongestWaits(retry.backoff)), per_attempt_(per_attempt) {}

  /// Of attempt `number`; 1 is the first.
  Duration End(int number) const {
    return Add(Times(number, per_attempt_), WaitsBefore(number));
  }
  Duration WaitAfter(int number) const {
    return number > kCountedWaits ? waits_.max_backoff
                                  : UnjitteredBackoff(waits_, number);
  }

 private:
  // In all.
  Duration WaitsBefore(int attempt) const {
    Duration total{0};
    for (int retry = 1; retry < attempt; ++retry) {
      const Duration wait = WaitAfter(retry);
      // They never shrink.
      if (wait >= waits_.max_backoff) {
        return Add(total, Times(attempt - retry, waits_.max_backoff));
      }
      total = Add(total, wait);
    }
    return total;
  }

  const BackoffPolicy waits_;
  const Duration per_attempt_;
};

// The last number in [first, last] that `holds`, which holds up to some number
// and not beyond; first - 1: none.
template <typename Predicate>
int LastThat(int first, int last, Predicate holds) {
  while (first <= last) {
    const int middle = first + (last - first) / 2;
    if (holds(middle)) {
      if (middle == last) return last;
      first = middle + 1;
    } else {
      last = middle - 1;
    }
  }
  return last;
}

}  // namespace

RetryWorstCase WorstCaseOf(const RetryPolicy& retry,
                           std::optional<Duration> deadline) {
  // The first attempt takes all there is.
  if (!retry.per_attempt_timeout && !deadline) return {1, std::nullopt};
  const SlowestCourse course(
      retry, retry.per_attempt_timeout.value_or(Duration::max()));
  if (!deadline) return {retry.max_attempts, course.End(retry.max_attempts)};

  const Deadline end = Deadline::At(TimePoint(*deadline));
  const auto begins = [&](int number) {
    return number == 1 || internal::HasTimeForAttempt(
                              retry, end, TimePoint(course.End(number - 1)),
                              course.WaitAfter(number - 1));
  };
  const int attempts = LastThat(1, retry.max_attempts, begins);
  // As CallSession: nothing is kept back where there is one attempt only.
  const bool keeps_reserve =
      retry.max_attempts > 1 &&
      (attempts > 1 ||
       internal::HasTimeForAttempt(retry, end, TimePoint(), Duration::zero()));
  const Duration limit = keeps_reserve ? *deadline - retry.reserve : *deadline;
  return {attempts, std::min(course.End(attempts), limit)};
}

int AttemptsThatFit(const RetryPolicy& retry, Duration budget) {
  if (!retry.per_attempt_timeout) return 1;
  const SlowestCourse course(retry, *retry.per_attempt_timeout);
  return LastThat(1, std::numeric_limits<int>::max(),
                  [&](int attempts) { return course.End(attempts) <= budget; });
}

}  // namespace grpc_resilience
