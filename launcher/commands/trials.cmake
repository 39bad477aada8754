add_library(slipway_trials_commands STATIC "${CMAKE_CURRENT_LIST_DIR}/trials.cpp"
                                           "${CMAKE_CURRENT_LIST_DIR}/trials_documents.cpp"
                                           "${CMAKE_CURRENT_LIST_DIR}/trials_export.cpp"
                                           "${CMAKE_CURRENT_LIST_DIR}/trials_view.cpp")
target_link_libraries(slipway_trials_commands
  PUBLIC slipway_settings slipway_core
  PRIVATE slipway_warnings slipway_ensemble)
