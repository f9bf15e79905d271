// Waiting as a port: "run this at that time". The gRPC adapter implements it
// with one lazily started thread for the whole process, FakeClock with Advance.
//
//   Timer::Id id = timer.Schedule(when, [&] { Launch(); }, owner);
//   if (timer.Cancel(id)) { /* Launch will never run */ }

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "grpc_resilience/clock.h"

namespace grpc_resilience {

/// This type is safe to use from several threads at once.
class Timer {
 public:
  using Id = std::uint64_t;

  virtual ~Timer() = default;

  /// Runs `run` once, at `when` or soon after, on the timer's own thread (never
  /// inside this call). `run` must not block and must not throw. `owner` groups
  /// entries for ExpireAll; null belongs to no group.
  virtual Id Schedule(TimePoint when, std::function<void()> run,
                      const void* owner) = 0;

  /// True: the entry was removed, is freed, and will never run. False: it has
  /// run, is running, or is about to.
  virtual bool Cancel(Id id) = 0;

  /// Makes every entry of `owner` due at once; returns how many.
  virtual std::size_t ExpireAll(const void* owner) = 0;

  /// Entries that wait.
  virtual std::size_t pending() const = 0;
};

}  // namespace grpc_resilience
