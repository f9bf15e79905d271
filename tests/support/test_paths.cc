#include "support/test_paths.h"

namespace grpc_resilience::test {

// The only file that is compiled with paths of the machine, so that a compiler cache
// serves a checkout in another folder.
std::string BackendPath() { return TEST_BACKEND_PATH; }
std::string PythonPeerPath() { return TEST_PYTHON_PEER_PATH; }

}  // namespace grpc_resilience::test
