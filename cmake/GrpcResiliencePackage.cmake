# What find_package(grpc_resilience) reads, beside the exported targets.

include(CMakePackageConfigHelpers)

set(package_directory "${CMAKE_INSTALL_LIBDIR}/cmake/grpc_resilience")
configure_package_config_file(
  "${CMAKE_CURRENT_LIST_DIR}/grpc_resilience-config.cmake.in"
  "${PROJECT_BINARY_DIR}/grpc_resilience-config.cmake"
  INSTALL_DESTINATION "${package_directory}"
  NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(
  "${PROJECT_BINARY_DIR}/grpc_resilience-config-version.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES
  "${PROJECT_BINARY_DIR}/grpc_resilience-config.cmake"
  "${PROJECT_BINARY_DIR}/grpc_resilience-config-version.cmake"
  DESTINATION "${package_directory}")
