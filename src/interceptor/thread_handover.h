// Shows ThreadSanitizer the hand-overs between threads that go through gRPC's core,
// which isn't instrumented: what one thread did before it gave an operation to core
// happened before what another does when core reports the operation's end. Nothing
// in other builds.

#pragma once

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define GRPC_RESILIENCE_THREAD_SANITIZER 1
extern "C" void __tsan_acquire(void* address);
extern "C" void __tsan_release(void* address);
#endif
#endif

namespace grpc_resilience::internal {

/// Just before core gets what `operation` names.
inline void HandOver([[maybe_unused]] const void* operation) {
#ifdef GRPC_RESILIENCE_THREAD_SANITIZER
  __tsan_release(const_cast<void*>(operation));
#endif
}

/// First thing when core reports it.
inline void TakeOver([[maybe_unused]] const void* operation) {
#ifdef GRPC_RESILIENCE_THREAD_SANITIZER
  __tsan_acquire(const_cast<void*>(operation));
#endif
}

}  // namespace grpc_resilience::internal
