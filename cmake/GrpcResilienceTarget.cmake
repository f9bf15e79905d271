# One library of ours, which is one component of the package.
#
#   grpc_resilience_add_library(<component>
#     SOURCES <file>... HEADERS <public header>... [PROTOS <file>...]
#     [PUBLIC_SERVICES <proto>...] [LINKS <target>...])
#
# Makes grpc_resilience_<component>, alias grpc_resilience::<component>, and its
# install rules. Every public header must compile on its own
# (all_verify_interface_header_sets). PROTOS are private; of PUBLIC_SERVICES the
# generated headers and the protos are installed too.

function(grpc_resilience_add_library component)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;HEADERS;PROTOS;PUBLIC_SERVICES;LINKS")
  if(NOT arg_SOURCES AND NOT arg_PUBLIC_SERVICES)
    return()
  endif()
  set(target grpc_resilience_${component})

  add_library(${target} ${arg_SOURCES})
  add_library(grpc_resilience::${component} ALIAS ${target})
  target_sources(${target} PUBLIC
    FILE_SET HEADERS BASE_DIRS "${PROJECT_SOURCE_DIR}/include" FILES ${arg_HEADERS})
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/src")
  target_link_libraries(${target} PUBLIC ${arg_LINKS})
  if(arg_PROTOS)
    grpc_resilience_add_protos(${target} PRIVATE "${PROJECT_SOURCE_DIR}/protos" PROTOS ${arg_PROTOS})
  endif()
  if(arg_PUBLIC_SERVICES)
    grpc_resilience_add_protos(${target} PUBLIC "${PROJECT_SOURCE_DIR}/protos" SERVICES
      PROTOS ${arg_PUBLIC_SERVICES})
  endif()
  grpc_resilience_compile_options(${target})
  set_target_properties(${target} PROPERTIES
    EXPORT_NAME ${component}
    VERIFY_INTERFACE_HEADER_SETS ON
    POSITION_INDEPENDENT_CODE ON
    VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
    INSTALL_RPATH "$ORIGIN")

  if(GRPC_RESILIENCE_INSTALL)
    install(TARGETS ${target} EXPORT ${target}
      FILE_SET HEADERS DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
      INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
    if(arg_PUBLIC_SERVICES)
      install(DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}/${target}_generated/"
        DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" FILES_MATCHING PATTERN "*.h")
      foreach(proto IN LISTS arg_PUBLIC_SERVICES)
        cmake_path(RELATIVE_PATH proto BASE_DIRECTORY "${PROJECT_SOURCE_DIR}/protos"
          OUTPUT_VARIABLE name)
        cmake_path(GET name PARENT_PATH folder)
        install(FILES "${proto}"
          DESTINATION "${CMAKE_INSTALL_DATADIR}/grpc_resilience/protos/${folder}")
      endforeach()
    endif()
    install(EXPORT ${target}
      NAMESPACE grpc_resilience::
      DESTINATION "${CMAKE_INSTALL_LIBDIR}/cmake/grpc_resilience")
    set_property(GLOBAL APPEND PROPERTY GRPC_RESILIENCE_COMPONENTS ${component})
  endif()
endfunction()
