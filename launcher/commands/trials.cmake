set(trials_sources)
foreach(source model_ensemble.cpp trials.cpp trials_documents.cpp trials_export.cpp trials_importance.cpp
               trials_leaderboard.cpp trials_library.cpp trials_pareto.cpp trials_request.cpp trials_select.cpp trials_view.cpp)
  list(APPEND trials_sources "${CMAKE_CURRENT_LIST_DIR}/${source}")
endforeach()
add_library(slipway_trials_commands STATIC ${trials_sources})
target_link_libraries(slipway_trials_commands
  PUBLIC slipway_settings slipway_core
  PRIVATE slipway_warnings slipway_ensemble)
