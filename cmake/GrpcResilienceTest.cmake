# Test programs.
#
#   grpc_resilience_test_options(<target>)
#     Compiles it as our own code, with src/ and tests/ on the include path and the
#     generated headers of the libraries' private protos.
#
#   grpc_resilience_add_tests(<name> [BY_FILE] LABELS <label>... [TIMEOUT <seconds>]
#     SOURCES <file>... LINKS <target>...)
#     One program of all files; *_allocation_test.cc, which count allocations
#     (tests/support/allocation), become one program each. Target tests_<label> builds all with that label.
#     BY_FILE: one ctest entry for each file instead of each case, and never two at a
#     time: for cases that need a process of their own to talk to.

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
  cmake_parse_arguments(PARSE_ARGV 1 arg "BY_FILE" "TIMEOUT" "LABELS;SOURCES;LINKS")
  set(grouped)
  foreach(source IN LISTS arg_SOURCES)
    if(source MATCHES "_allocation_test\\.cc$")
      if(GRPC_RESILIENCE_SANITIZE)
        continue()  # the sanitizers have an operator new of their own
      endif()
      cmake_path(GET source STEM stem)
      _grpc_resilience_test_program(${stem} "${source}")
      target_link_libraries(${stem} PRIVATE grpc_resilience_counting_allocator)
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
  if(TARGET test_backend AND "end_to_end" IN_LIST arg_LABELS)
    add_dependencies(${name} test_backend)
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
  if(arg_BY_FILE)
    _grpc_resilience_tests_by_file(${name} "${sources}")
    return()
  endif()
  gtest_discover_tests(${name}
    DISCOVERY_MODE PRE_TEST
    DISCOVERY_TIMEOUT 60
    NO_PRETTY_VALUES
    PROPERTIES ${properties})
  # A property that is a list doesn't survive gtest_discover_tests.
  set(labels_file "${CMAKE_CURRENT_BINARY_DIR}/${name}_labels.cmake")
  file(CONFIGURE OUTPUT "${labels_file}" @ONLY CONTENT [[
foreach(test IN LISTS @name@_TESTS)
  set_tests_properties("${test}" PROPERTIES LABELS "@arg_LABELS@")
endforeach()
]])
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${labels_file}")
endfunction()

# Reads arg_* of its caller's caller.
function(_grpc_resilience_tests_by_file name sources)
  foreach(source IN LISTS sources)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${source}")
    file(STRINGS "${source}" lines REGEX "^(TEST|TEST_F|TEST_P)\\(")
    set(suites)
    foreach(line IN LISTS lines)
      string(REGEX REPLACE "^[A-Z_]+\\( *([A-Za-z0-9_]+).*" "\\1" suite "${line}")
      list(APPEND suites "${suite}.*" "*/${suite}.*")
    endforeach()
    list(REMOVE_DUPLICATES suites)
    list(JOIN suites ":" filter)
    cmake_path(GET source STEM stem)
    list(GET arg_LABELS 0 label)
    add_test(NAME ${label}.${stem} COMMAND ${name} "--gtest_filter=${filter}")
    set_tests_properties(${label}.${stem} PROPERTIES
      LABELS "${arg_LABELS}" TIMEOUT "${arg_TIMEOUT}" PROCESSORS 2)
  endforeach()
endfunction()
