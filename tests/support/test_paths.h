// Where the programs are that tests start.

#pragma once

#include <string>

namespace grpc_resilience::test {

/// The backend of test_backend_main.cc.
std::string BackendPath();

/// The script of the server in Python.
std::string PythonPeerPath();

}  // namespace grpc_resilience::test
