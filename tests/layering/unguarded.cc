// Must fail the thread-safety analysis: shows that it is at work.

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace {

class Counter {
 public:
  void Increment() { ++count_; }

 private:
  absl::Mutex mu_;
  int count_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace

void Use() { Counter().Increment(); }
