# Test programs.
#
#   grpc_resilience_test_options(<target>)
#     Compiles it as our own code, with src/ and tests/ on the include path and the
#     generated headers of the libraries' private protos.
#
#   grpc_resilience_add_tests(<name> LABELS <label>... [TIMEOUT <seconds>]
#     SOURCES <file>... LINKS <target>...)
#     One program of all files; *_allocation_test.cc, which replace operator new,
#     become one program each. Target tests_<label> builds all with that label.

include(GoogleTest)

function(grpc_resilience_test_options target)
  grpc_resilience_compile_options(${target})
  target_include_directories(${target} PRIVATE
    "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/tests")
  if(TARGET grpc_resilience_interceptor)
    target_include_directories(${target} SYSTEM PRIVATE
      "${PROJECT_BINARY_DIR}/src/grpc_resilience_interceptor_generated")
  endif()
  get_target_property(type ${target} TYPE)
  if(TARGET grpc_resilience_sanitizers AND type STREQUAL "EXECUTABLE")
    target_link_libraries(${target} PRIVATE grpc_resilience_sanitizers)
  endif()
endfunction()

function(grpc_resilience_add_tests name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "LABELS;SOURCES;LINKS")
  set(grouped)
  foreach(source IN LISTS arg_SOURCES)
    if(source MATCHES "_allocation_test\\.cc$")
      if(GRPC_RESILIENCE_SANITIZE)
        continue()  # the sanitizers have an operator new of their own
      endif()
      cmake_path(GET source STEM stem)
      _grpc_resilience_test_program(${stem} "${source}")
    else()
      list(APPEND grouped "${source}")
    endif()
  endforeach()
  if(grouped)
    _grpc_resilience_test_program(${name} "${grouped}")
  endif()
endfunction()

# Reads arg_* of its caller.
function(_grpc_resilience_test_program name sources)
  add_executable(${name} ${sources})
  grpc_resilience_test_options(${name})
  target_link_libraries(${name} PRIVATE ${arg_LINKS} GTest::gmock_main)
  if(TARGET test_backend)
    target_compile_definitions(${name} PRIVATE TEST_BACKEND_PATH="$<TARGET_FILE:test_backend>")
    if("end_to_end" IN_LIST arg_LABELS)
      add_dependencies(${name} test_backend)
    endif()
  endif()
  foreach(label IN LISTS arg_LABELS)
    if(NOT TARGET tests_${label})
      add_custom_target(tests_${label})
    endif()
    add_dependencies(tests_${label} ${name})
  endforeach()
  set(properties)
  if(arg_TIMEOUT)
    set(properties TIMEOUT ${arg_TIMEOUT})
  endif()
  string(REPLACE ";" "\\;" labels "${arg_LABELS}")
  gtest_discover_tests(${name}
    DISCOVERY_MODE PRE_TEST
    DISCOVERY_TIMEOUT 60
    PROPERTIES LABELS "${labels}" ${properties})
endfunction()
