// Options and suppressions of the sanitizers, linked into every test program, so
// that a program started by hand behaves as it does under ctest.

extern "C" {

const char* __asan_default_options() {
  return "detect_leaks=1:detect_stack_use_after_return=1";
}

const char* __ubsan_default_options() { return "print_stacktrace=1"; }

const char* __lsan_default_suppressions() {
  return
      // Error queues of threads of gRPC's that are alive at the end.
      "leak:libcrypto.so\n"
      // What c-ares read of the system's settings, kept by gRPC's resolver.
      "leak:libcares.so\n";
}

const char* __tsan_default_options() {
  // gRPC, protobuf and Abseil aren't instrumented: what they do to memory is not
  // judged, or every use of them would be a report.
  return "ignore_noninstrumented_modules=1:second_deadlock_stack=1";
}

const char* __tsan_default_suppressions() {
  return
      // Counts its callbacks down by an atomic whose first value was written on the
      // thread that started the call; ordered inside libgrpc.
      "race:grpc::internal::ClientCallbackUnaryImpl\n"
      // The same of the test servers' calls.
      "race:grpc::internal::CallbackUnaryHandler\n"
      "race:grpc::internal::ServerCallbackCall\n"
      // A test's own callback, handed over inside libgrpc as well.
      "race:*StartGeneric*\n";
}

}  // extern "C"
