# The trials of a run as people see them: what every command that looks at them has in common, and the commands.
set(trials_sources)
foreach(source model_ensemble.cpp select_models.cpp trials_documents.cpp trials_library.cpp trials_view.cpp
               ../commands/trials.cpp ../commands/trials_export.cpp ../commands/trials_importance.cpp
               ../commands/trials_leaderboard.cpp ../commands/trials_pareto.cpp ../commands/trials_request.cpp
               ../commands/trials_select.cpp)
  list(APPEND trials_sources "${CMAKE_CURRENT_LIST_DIR}/${source}")
endforeach()
add_library(slipway_trials_commands STATIC ${trials_sources})
target_link_libraries(slipway_trials_commands
  PUBLIC slipway_settings slipway_core
  PRIVATE slipway_warnings slipway_ensemble)
