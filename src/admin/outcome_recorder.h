// Keeps the last outcomes of a breaker's calls, while somebody wants them: calls pay
// for it only then.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "grpc_resilience/observer.h"
#include "grpc_resilience/resilience.h"

namespace grpc_resilience::internal {

struct RecordedOutcome {
  TimePoint at;
  bool rejected = false;  ///< a call, before its first attempt
  Classification classification;
  StatusCode code = StatusCode::OK;
  Duration latency{0};
  std::string target;
  std::string method;
  int attempt = 0;
};

/// This type is safe to use from several threads at once.
class OutcomeRecorder : public CallObserver,
                        public std::enable_shared_from_this<OutcomeRecorder> {
 public:
  OutcomeRecorder(std::weak_ptr<Resilience> resilience,
                  std::size_t most_recordings)
      : resilience_(std::move(resilience)), most_(most_recordings) {}

  /// Starts, or goes on with another capacity and end. Until when;
  /// RESOURCE_EXHAUSTED when there are too many recordings.
  absl::StatusOr<TimePoint> Record(const BreakerKey& key, std::size_t capacity,
                                   Duration duration);
  /// False: there was none.
  bool Stop(const BreakerKey& key);
  void StopAll();
  /// Forgets what is over. True: there are more recordings.
  bool Expire();

  struct Recording {
    std::vector<RecordedOutcome> outcomes;  ///< oldest first
    std::uint64_t recorded = 0;
    TimePoint until;
  };
  /// Empty: none.
  std::optional<Recording> Find(const BreakerKey& key) const;

  void OnAttemptEnd(const AttemptEvent& event) override;
  void OnCallEnd(const CallEvent& event) override;

 private:
  struct Ring {
    std::size_t capacity = 0;
    TimePoint until;
    std::deque<RecordedOutcome> outcomes;
    std::uint64_t recorded = 0;
  };

  void Keep(RecordedOutcome outcome) ABSL_LOCKS_EXCLUDED(mu_);
  Ring* RingOfLocked(const std::string& target, const std::string& method,
                     const std::string& custom)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  /// What the key function says of such a call; "" where nobody asks.
  std::string CustomOf(const std::string& target, const std::string& method)
      ABSL_LOCKS_EXCLUDED(mu_);
  /// Is an observer exactly while there are recordings.
  void Attend() ABSL_EXCLUSIVE_LOCKS_REQUIRED(changing_);

  const std::weak_ptr<Resilience> resilience_;
  const std::size_t most_;
  absl::Mutex changing_ ABSL_ACQUIRED_BEFORE(mu_);
  bool attending_ ABSL_GUARDED_BY(changing_) = false;
  mutable absl::Mutex mu_;
  absl::flat_hash_map<BreakerKey, Ring> rings_ ABSL_GUARDED_BY(mu_);
  bool any_custom_ ABSL_GUARDED_BY(mu_) = false;
  absl::flat_hash_map<std::pair<std::string, std::string>, std::string> custom_
      ABSL_GUARDED_BY(mu_);
};

}  // namespace grpc_resilience::internal
