# The bodies of `slipway data ...`; the command line is parsed elsewhere.
add_library(slipway_data_commands STATIC
  "${CMAKE_CURRENT_LIST_DIR}/data.cpp"
  "${CMAKE_CURRENT_LIST_DIR}/data_convert.cpp"
  "${CMAKE_CURRENT_LIST_DIR}/data_fields.cpp"
  "${CMAKE_CURRENT_LIST_DIR}/data_hdf5.cpp"
  "${CMAKE_CURRENT_LIST_DIR}/data_index.cpp"
  "${CMAKE_CURRENT_LIST_DIR}/data_stats.cpp"
  "${CMAKE_CURRENT_LIST_DIR}/left_out.cpp")
slipway_compile(slipway_data_commands LIGHT)
target_link_libraries(slipway_data_commands
  PUBLIC slipway_settings slipway_core
  PRIVATE slipway_warnings slipway_data slipway_make)
