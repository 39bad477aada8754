# The trials of a run as people see them: what every command that looks at them has in common.
set(trials_sources)
foreach(source lost_trials.cpp model_ensemble.cpp select_models.cpp throughput.cpp trials_documents.cpp
               trials_glance.cpp trials_view.cpp unread_metrics.cpp)
  list(APPEND trials_sources "${CMAKE_CURRENT_LIST_DIR}/${source}")
endforeach()
add_library(slipway_trials STATIC ${trials_sources})
slipway_compile(slipway_trials LIGHT)
target_link_libraries(slipway_trials
  PUBLIC slipway_settings slipway_core
  PRIVATE slipway_warnings slipway_ensemble)
