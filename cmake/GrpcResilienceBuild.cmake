# How our own code is compiled: build type, ccache, sanitizers, warnings.
#
#   grpc_resilience_compile_options(<target>)
#
# No precompiled headers: measured with gRPC 1.51, they save less than a fifth of a
# test's compile time, cost most of one each, and must match flag for flag.

if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Build type" FORCE)
endif()

if(GRPC_RESILIENCE_CCACHE AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(GRPC_RESILIENCE_CCACHE_PROGRAM ccache)
  mark_as_advanced(GRPC_RESILIENCE_CCACHE_PROGRAM)
  if(GRPC_RESILIENCE_CCACHE_PROGRAM)
    set(CMAKE_CXX_COMPILER_LAUNCHER "${GRPC_RESILIENCE_CCACHE_PROGRAM}")
  endif()
endif()

if(GRPC_RESILIENCE_SANITIZE)
  add_compile_options(
    -fsanitize=${GRPC_RESILIENCE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -g1)
  add_link_options(-fsanitize=${GRPC_RESILIENCE_SANITIZE})
  if(GRPC_RESILIENCE_SANITIZE MATCHES "thread")
    set(ignorelist "${PROJECT_SOURCE_DIR}/tests/support/sanitizers/thread_ignorelist.txt")
    # Neither Ninja nor ccache looks into the list.
    file(MD5 "${ignorelist}" ignorelist_digest)
    set_property(DIRECTORY "${PROJECT_SOURCE_DIR}" APPEND PROPERTY
      CMAKE_CONFIGURE_DEPENDS "${ignorelist}")
    add_compile_options("-fsanitize-ignorelist=${ignorelist}")
    add_compile_definitions("GRPC_RESILIENCE_IGNORELIST=${ignorelist_digest}")
  endif()
endif()

function(grpc_resilience_compile_options target)
  target_compile_features(${target} PUBLIC cxx_std_17)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang")
    return()
  endif()
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual
    $<$<CXX_COMPILER_ID:Clang,AppleClang>:-Wthread-safety>
    $<$<BOOL:${GRPC_RESILIENCE_WERROR}>:-Werror>)
endfunction()
