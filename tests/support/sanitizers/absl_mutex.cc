// Shows absl::Mutex to ThreadSanitizer. The Abseil of the system isn't
// instrumented, so that without this every guarded member is a reported race.
//
// These definitions take the place of the library's, for all modules of the
// process (gRPC's locks become visible with ours), and call it.

#include <absl/synchronization/mutex.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

extern "C" void __tsan_acquire(void* address);
extern "C" void __tsan_release(void* address);

namespace {

// The library's function of the same name as `ours`. The first word of a pointer to
// a member function is its address.
template <typename Function>
Function Library(Function ours) {
  void* address = nullptr;
  std::memcpy(&address, &ours, sizeof(address));
  Dl_info info;
  void* next = nullptr;
  if (dladdr(address, &info) != 0 && info.dli_sname != nullptr) {
    next = dlsym(RTLD_NEXT, info.dli_sname);
  }
  if (next == nullptr) {
    std::fprintf(stderr, "absl_mutex.cc: no such function in the library\n");
    std::abort();
  }
  std::memcpy(&ours, &next, sizeof(next));
  return ours;
}

// A condition as seen by whichever thread looks at it, which holds the mutex then: the
// waiting one, or one that unlocks.
class ShownCondition {
 public:
  ShownCondition(absl::Mutex* mutex, const absl::Condition& condition)
      : mutex_(mutex), condition_(condition) {}
  absl::Condition condition() const { return {&ShownCondition::Eval, this}; }

 private:
  static bool Eval(const ShownCondition* self) {
    __tsan_acquire(self->mutex_);
    const bool met = self->condition_.Eval();
    __tsan_release(self->mutex_);
    return met;
  }

  absl::Mutex* const mutex_;
  const absl::Condition& condition_;
};

}  // namespace

namespace absl {
ABSL_NAMESPACE_BEGIN

void Mutex::Lock() {
  static const auto library = Library(&Mutex::Lock);
  (this->*library)();
  __tsan_acquire(this);
}

bool Mutex::TryLock() {
  static const auto library = Library(&Mutex::TryLock);
  const bool locked = (this->*library)();
  if (locked) __tsan_acquire(this);
  return locked;
}

void Mutex::Unlock() {
  static const auto library = Library(&Mutex::Unlock);
  __tsan_release(this);
  (this->*library)();
}

void Mutex::ReaderLock() {
  static const auto library = Library(&Mutex::ReaderLock);
  (this->*library)();
  __tsan_acquire(this);
}

void Mutex::ReaderUnlock() {
  static const auto library = Library(&Mutex::ReaderUnlock);
  __tsan_release(this);
  (this->*library)();
}

void Mutex::LockWhen(const Condition& condition) {
  static const auto library = Library(&Mutex::LockWhen);
  const ShownCondition shown(this, condition);
  (this->*library)(shown.condition());
  __tsan_acquire(this);
}

bool Mutex::LockWhenWithTimeout(const Condition& condition, Duration timeout) {
  static const auto library = Library(&Mutex::LockWhenWithTimeout);
  const ShownCondition shown(this, condition);
  const bool met = (this->*library)(shown.condition(), timeout);
  __tsan_acquire(this);
  return met;
}

bool Mutex::LockWhenWithDeadline(const Condition& condition, Time deadline) {
  static const auto library = Library(&Mutex::LockWhenWithDeadline);
  const ShownCondition shown(this, condition);
  const bool met = (this->*library)(shown.condition(), deadline);
  __tsan_acquire(this);
  return met;
}

void Mutex::Await(const Condition& condition) {
  static const auto library = Library(&Mutex::Await);
  const ShownCondition shown(this, condition);
  __tsan_release(this);
  (this->*library)(shown.condition());
  __tsan_acquire(this);
}

bool Mutex::AwaitWithTimeout(const Condition& condition, Duration timeout) {
  static const auto library = Library(&Mutex::AwaitWithTimeout);
  const ShownCondition shown(this, condition);
  __tsan_release(this);
  const bool met = (this->*library)(shown.condition(), timeout);
  __tsan_acquire(this);
  return met;
}

bool Mutex::AwaitWithDeadline(const Condition& condition, Time deadline) {
  static const auto library = Library(&Mutex::AwaitWithDeadline);
  const ShownCondition shown(this, condition);
  __tsan_release(this);
  const bool met = (this->*library)(shown.condition(), deadline);
  __tsan_acquire(this);
  return met;
}

void CondVar::Wait(Mutex* mutex) {
  static const auto library = Library(&CondVar::Wait);
  __tsan_release(mutex);
  (this->*library)(mutex);
  __tsan_acquire(mutex);
}

bool CondVar::WaitWithTimeout(Mutex* mutex, Duration timeout) {
  static const auto library = Library(&CondVar::WaitWithTimeout);
  __tsan_release(mutex);
  const bool timed_out = (this->*library)(mutex, timeout);
  __tsan_acquire(mutex);
  return timed_out;
}

bool CondVar::WaitWithDeadline(Mutex* mutex, Time deadline) {
  static const auto library = Library(&CondVar::WaitWithDeadline);
  __tsan_release(mutex);
  const bool timed_out = (this->*library)(mutex, deadline);
  __tsan_acquire(mutex);
  return timed_out;
}

ABSL_NAMESPACE_END
}  // namespace absl
