# Generated protocol buffer code as part of a target.
#
#   grpc_resilience_add_protos(<target> <PUBLIC|PRIVATE> <import directory> [SERVICES] PROTOS <file>...)
#
# The files are generated into the build tree of the calling directory; with
# SERVICES, gRPC's stubs too. The scope is that of the generated headers: "a/b.proto"
# below the import directory is included as "a/b.pb.h".
#
# protobuf_generate isn't used: CMake 3.25 computes a wrong output path for protos
# outside the calling directory.

function(grpc_resilience_add_protos target scope import_directory)
  cmake_parse_arguments(PARSE_ARGV 3 arg "SERVICES" "" "PROTOS")
  set(out "${CMAKE_CURRENT_BINARY_DIR}/${target}_generated")
  file(MAKE_DIRECTORY "${out}")
  set(plugin_arguments)
  set(suffixes .pb)
  if(arg_SERVICES)
    set(plugin_arguments "--grpc_out=${out}"
      "--plugin=protoc-gen-grpc=$<TARGET_FILE:gRPC::grpc_cpp_plugin>")
    list(APPEND suffixes .grpc.pb)
  endif()

  set(generated)
  foreach(proto IN LISTS arg_PROTOS)
    cmake_path(ABSOLUTE_PATH proto NORMALIZE)
    cmake_path(RELATIVE_PATH proto BASE_DIRECTORY "${import_directory}" OUTPUT_VARIABLE name)
    cmake_path(REMOVE_EXTENSION name LAST_ONLY)
    set(sources)
    set(headers)
    foreach(suffix IN LISTS suffixes)
      list(APPEND sources "${out}/${name}${suffix}.cc")
      list(APPEND headers "${out}/${name}${suffix}.h")
    endforeach()
    add_custom_command(
      OUTPUT ${sources} ${headers}
      COMMAND protobuf::protoc "--proto_path=${import_directory}" "--cpp_out=${out}"
        ${plugin_arguments} "${proto}"
      DEPENDS "${proto}"
      COMMENT "Generating C++ of ${name}.proto"
      VERBATIM)
    set_source_files_properties(${sources} PROPERTIES COMPILE_OPTIONS -w)
    target_sources(${target} PRIVATE ${sources} ${headers})
    list(APPEND generated ${sources} ${headers})
  endforeach()
  # For tools that read the sources but compile nothing.
  if(NOT TARGET grpc_resilience_generated)
    add_custom_target(grpc_resilience_generated)
  endif()
  add_custom_target(${target}_protos DEPENDS ${generated})
  add_dependencies(grpc_resilience_generated ${target}_protos)
  target_include_directories(${target} SYSTEM ${scope} "$<BUILD_INTERFACE:${out}>")
endfunction()
