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
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
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
  # A library is compiled as position independent code, a program isn't: they can't
  # share.
  get_target_property(pic ${target} POSITION_INDEPENDENT_CODE)
  string(SHA256 owner "${pic} ${ARGN}")
  string(SUBSTRING "${owner}" 0 8 owner)
  set(owner "grpc_resilience_precompiled_${owner}")
  if(NOT TARGET ${owner})
    file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/${owner}.cc" CONTENT "")
    add_library(${owner} OBJECT EXCLUDE_FROM_ALL "${PROJECT_BINARY_DIR}/${owner}.cc")
    grpc_resilience_compile_options(${owner})
    if(pic)
      set_target_properties(${owner} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    endif()
    target_link_libraries(${owner} PRIVATE gRPC::grpc++)
    if("${ARGN}" MATCHES "gmock|gtest")
      target_link_libraries(${owner} PRIVATE GTest::gmock)  # its definitions, too
    endif()
    target_precompile_headers(${owner} PRIVATE ${ARGN})
    _grpc_resilience_ccache_options(${owner})
  endif()
  target_precompile_headers(${target} REUSE_FROM ${owner})
  _grpc_resilience_ccache_options(${target})
endfunction()

# Lets ccache see through precompiled headers.
function(_grpc_resilience_ccache_options target)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE -fpch-preprocess)
  else()
    target_compile_options(${target} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
  endif()
endfunction()
