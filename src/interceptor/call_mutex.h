// The lock of one call. Nearly always free, held for a few instructions, never
// while another of our locks is taken but the timer's. A std::mutex, because the
// distributed builds of absl::Mutex look for lock cycles, at some 350 instructions
// a locking.

#pragma once

#include <mutex>

#include "absl/base/thread_annotations.h"

namespace grpc_resilience::internal {

/// This type is safe to use from several threads at once.
class ABSL_LOCKABLE CallMutex {
 public:
  void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() { mutex_.lock(); }
  void Unlock() ABSL_UNLOCK_FUNCTION() { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

/// Holds a CallMutex as long as it lives.
class ABSL_SCOPED_LOCKABLE CallLock {
 public:
  explicit CallLock(CallMutex* mutex) ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex)
      : mutex_(mutex) {
    mutex_->Lock();
  }
  ~CallLock() ABSL_UNLOCK_FUNCTION() { mutex_->Unlock(); }
  CallLock(const CallLock&) = delete;
  CallLock& operator=(const CallLock&) = delete;

 private:
  CallMutex* const mutex_;
};

}  // namespace grpc_resilience::internal
