// The probes of one half-open round: who is under way, how many succeeded.
//
//   HalfOpenRound round;
//   std::uint64_t probe = round.Admit(now);
//   if (round.Finish(probe)) round.AddSuccess();
//
// Each probe has a number of its own and the round keeps a list, not a count:
// a probe that lost its slot, or belongs to an earlier round, isn't on it, so
// its late result can neither be counted nor free a slot twice.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "grpc_resilience/clock.h"

namespace grpc_resilience::internal {

/// Not safe for use from several threads at once.
class HalfOpenRound {
 public:
  /// Forgets the probes of the round before; numbers go on.
  void Start();

  /// Gives a slot away; the probe's number, never 0.
  std::uint64_t Admit(TimePoint now);
  /// Takes the slot back. False: that probe has none.
  bool Finish(std::uint64_t probe);
  void AddSuccess() { ++succeeded_; }

  /// Takes the slots back of probes that were admitted `max_wait` ago or
  /// earlier.
  void DropLost(TimePoint now, Duration max_wait);
  /// Slots that DropLost would leave taken.
  int InFlightAfterDrop(TimePoint now, Duration max_wait) const;

  int in_flight() const { return static_cast<int>(probes_.size()); }
  int succeeded() const { return succeeded_; }

 private:
  struct Probe {
    std::uint64_t number;
    TimePoint admitted_at;
  };
  std::ptrdiff_t LostCount(TimePoint now, Duration max_wait) const;

  std::vector<Probe> probes_;  // under way, in the order of admission
  std::uint64_t last_number_ = 0;
  int succeeded_ = 0;
};

}  // namespace grpc_resilience::internal
