# Included before the targets: what the extension of the Python package is compiled with, and its own libprotobuf.
#
# A process may hold other copies of protobuf: that of google.protobuf (Debian's links libprotobuf.so), of PyTorch, of
# gRPC. Each has a registry of messages, and a registry takes a file once. So the extension has a copy for itself, under
# a name that no other library asks for. A static libprotobuf cannot be linked: Debian's is not position-independent.
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
add_compile_options(-fno-semantic-interposition)  # nothing of it is visible, so nothing of it is replaced
find_package(Python3 3.10 REQUIRED COMPONENTS Interpreter)
set(EVENKEEL_LIBRARIES ${PROJECT_BINARY_DIR}/package/_libraries)  # next to the module
set(EVENKEEL_PROTOBUF_COPY ${EVENKEEL_LIBRARIES}/libevkproto.so)
file(MAKE_DIRECTORY ${EVENKEEL_LIBRARIES})
get_target_property(shared protobuf::libprotobuf IMPORTED_LOCATION_RELEASE)
if(NOT shared)
  get_target_property(shared protobuf::libprotobuf IMPORTED_LOCATION)
endif()
execute_process(
  COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/private_library.py ${shared} ${EVENKEEL_PROTOBUF_COPY}
  COMMAND_ERROR_IS_FATAL ANY)
set_target_properties(protobuf::libprotobuf PROPERTIES IMPORTED_LOCATION ${EVENKEEL_PROTOBUF_COPY}
                                                       IMPORTED_LOCATION_RELEASE ${EVENKEEL_PROTOBUF_COPY})
