# Installs the build tree into an empty prefix.
#
#   cmake -DBUILD=<build tree> -DPREFIX=<prefix> -DSOURCE=<repository> -P install.cmake

file(REMOVE_RECURSE "${PREFIX}")
execute_process(
  COMMAND "${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${PREFIX}"
  COMMAND_ERROR_IS_FATAL ANY
  OUTPUT_QUIET)

# The package can be moved to a machine that has neither tree.
file(GLOB_RECURSE files "${PREFIX}/*.cmake" "${PREFIX}/*.h")
if(NOT files)
  message(FATAL_ERROR "nothing was installed")
endif()
foreach(file IN LISTS files)
  file(READ "${file}" text)
  foreach(tree "${BUILD}" "${SOURCE}")
    string(FIND "${text}" "${tree}" place)
    if(NOT place EQUAL -1)
      message(FATAL_ERROR "${file} names ${tree}")
    endif()
  endforeach()
endforeach()
