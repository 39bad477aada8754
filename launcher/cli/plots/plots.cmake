# Charts as SVG documents.
add_library(slipway_plots STATIC
  "${CMAKE_CURRENT_LIST_DIR}/charts.cpp"
  "${CMAKE_CURRENT_LIST_DIR}/svg.cpp")
slipway_compile(slipway_plots LIGHT)
target_link_libraries(slipway_plots
  PUBLIC slipway_settings slipway_core slipway_ensemble
  PRIVATE slipway_warnings)
