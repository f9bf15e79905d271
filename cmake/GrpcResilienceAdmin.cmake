# The admin service, and the command line tool, which is built when CLI11 is found.

option(GRPC_RESILIENCE_BUILD_ADMIN "Build the admin service" ON)

find_package(CLI11 CONFIG QUIET)
if(CLI11_FOUND)
  option(GRPC_RESILIENCE_BUILD_TOOLS "Build resiliencectl" ${PROJECT_IS_TOP_LEVEL})
else()
  message(STATUS "CLI11 not found: no resiliencectl")
  set(GRPC_RESILIENCE_BUILD_TOOLS OFF)
endif()
