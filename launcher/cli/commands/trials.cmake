# The commands of `slipway trials` that look into a book, apart from the rest of the program so that their tests build
# without it.
set(trials_commands_sources)
foreach(source trials.cpp trials_export.cpp trials_importance.cpp trials_leaderboard.cpp trials_pareto.cpp
               trials_request.cpp trials_select.cpp trials_throughput.cpp)
  list(APPEND trials_commands_sources "${CMAKE_CURRENT_LIST_DIR}/${source}")
endforeach()
add_library(slipway_trials_commands STATIC ${trials_commands_sources})
slipway_compile(slipway_trials_commands LIGHT)
target_link_libraries(slipway_trials_commands
  PUBLIC slipway_settings slipway_core slipway_trials
  PRIVATE slipway_warnings slipway_ensemble)
