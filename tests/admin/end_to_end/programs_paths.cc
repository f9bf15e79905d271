#include "admin/end_to_end/programs.h"

namespace grpc_resilience::test {

// The only file that is compiled with paths of the machine, so that a compiler cache
// serves a checkout in another folder.
std::string SubjectPath() { return TEST_SUBJECT_PATH; }
std::string ResiliencectlPath() { return TEST_RESILIENCECTL_PATH; }

}  // namespace grpc_resilience::test
