# How our own code is compiled: build type, ccache, sanitizers, warnings and
# precompiled headers.
#
#   grpc_resilience_compile_options(<target>)
#
#   grpc_resilience_precompile(<target> <header>...)
#     Takes the headers from a precompiled one, where GRPC_RESILIENCE_PRECOMPILE is
#     on. Targets with the same headers share it. gRPC's headers are most of the
#     compile time (10 s to 2 s for a test); sources still include what they need.

if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Build type" FORCE)
endif()

if(GRPC_RESILIENCE_CCACHE AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(GRPC_RESILIENCE_CCACHE_PROGRAM ccache)
  mark_as_advanced(GRPC_RESILIENCE_CCACHE_PROGRAM)
  if(GRPC_RESILIENCE_CCACHE_PROGRAM)
    # What ccache needs to know of precompiled headers.
    set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros "${GRPC_RESILIENCE_CCACHE_PROGRAM}")
  endif()
endif()

if(GRPC_RESILIENCE_SANITIZE)
  add_compile_options(-fsanitize=${GRPC_RESILIENCE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${GRPC_RESILIENCE_SANITIZE})
endif()

function(grpc_resilience_compile_options target)
  target_compile_features(${target} PUBLIC cxx_std_17)
  # Same flags for every target, or they can't share a precompiled header.
  set_target_properties(${target} PROPERTIES
    CXX_EXTENSIONS OFF
    POSITION_INDEPENDENT_CODE ON)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang")
    return()
  endif()
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual
    $<$<CXX_COMPILER_ID:Clang,AppleClang>:-Wthread-safety>
    $<$<BOOL:${GRPC_RESILIENCE_WERROR}>:-Werror>)
endfunction()

function(grpc_resilience_precompile target)
  if(NOT GRPC_RESILIENCE_PRECOMPILE)
    return()
  endif()
  string(MAKE_C_IDENTIFIER "grpc_resilience_pch_${ARGN}" owner)
  if(NOT TARGET ${owner})
    file(GENERATE OUTPUT "${PROJECT_BINARY_DIR}/${owner}.cc" CONTENT "")
    add_library(${owner} OBJECT EXCLUDE_FROM_ALL "${PROJECT_BINARY_DIR}/${owner}.cc")
    grpc_resilience_compile_options(${owner})
    target_link_libraries(${owner} PRIVATE gRPC::grpc++ protobuf::libprotobuf Threads::Threads)
    target_precompile_headers(${owner} PRIVATE ${ARGN})
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      target_compile_options(${owner} PRIVATE -fpch-preprocess)
    else()
      target_compile_options(${owner} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
    endif()
  endif()
  target_precompile_headers(${target} REUSE_FROM ${owner})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE -fpch-preprocess)
  else()
    target_compile_options(${target} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
  endif()
endfunction()
