# The admin service, and the command line tool that needs it: built when what they
# need is found.

if(TARGET gRPC::grpc++_reflection)
  option(GRPC_RESILIENCE_BUILD_ADMIN "Build the admin service" ON)
else()
  message(STATUS "gRPC without its reflection library: no admin service")
  set(GRPC_RESILIENCE_BUILD_ADMIN OFF)
endif()

find_package(CLI11 CONFIG QUIET)
if(CLI11_FOUND)
  option(GRPC_RESILIENCE_BUILD_TOOLS "Build resiliencectl" ${PROJECT_IS_TOP_LEVEL})
else()
  message(STATUS "CLI11 not found: no resiliencectl")
  set(GRPC_RESILIENCE_BUILD_TOOLS OFF)
endif()
