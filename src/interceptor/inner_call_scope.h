// Marks the calls that this library makes itself while they are created, so that
// no factory of ours protects them a second time.

#pragma once

namespace grpc_resilience::internal {

/// Not to be shared between threads; nests.
class InnerCallScope {
 public:
  InnerCallScope() : before_(active_) { active_ = true; }
  ~InnerCallScope() { active_ = before_; }
  InnerCallScope(const InnerCallScope&) = delete;
  InnerCallScope& operator=(const InnerCallScope&) = delete;

  /// True on a thread that is creating such a call right now.
  static bool Active() { return active_; }

 private:
  static inline thread_local bool active_ = false;
  const bool before_;
};

}  // namespace grpc_resilience::internal
