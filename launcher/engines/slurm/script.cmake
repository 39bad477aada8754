# The batch script: needs no Slurm.
add_library(slipway_batch_script STATIC
  "${CMAKE_CURRENT_LIST_DIR}/batch_script.cpp"
  "${CMAKE_CURRENT_LIST_DIR}/burst_buffer.cpp"
  "${CMAKE_CURRENT_LIST_DIR}/directive_text.cpp"
  "${CMAKE_CURRENT_LIST_DIR}/partition_limits.cpp")
target_link_libraries(slipway_batch_script PUBLIC slipway_settings slipway_core PRIVATE slipway_warnings)
