# Runs of workflows, and their commands.
add_library(slipway_workflow_run STATIC
  cli/commands/find_run.cpp
  cli/commands/workflow.cpp
  cli/workflow_arguments.cpp
  run/workflow/local_step_runner.cpp
  run/workflow/result_store.cpp
  run/workflow/step_end.cpp
  run/workflow/step_journal.cpp
  run/workflow/step_launch.cpp
  run/workflow/step_orphans.cpp
  run/workflow/step_reuse.cpp
  run/workflow/step_values.cpp
  run/workflow/workflow_folder.cpp
  run/workflow/workflow_run.cpp
  run/workflow/workflow_status.cpp)
slipway_compile(slipway_workflow_run LIGHT)
target_link_libraries(slipway_workflow_run
  PUBLIC slipway_settings slipway_core slipway_selection slipway_stage_out
  PRIVATE slipway_warnings CLI11::CLI11 slipway_launcher slipway_workflow slipway_spec slipway_ranks slipway_ensemble)
