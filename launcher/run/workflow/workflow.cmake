# Runs of workflows, and their commands.
set(workflow_run_sources
  "${PROJECT_SOURCE_DIR}/launcher/cli/commands/find_run.cpp"
  "${PROJECT_SOURCE_DIR}/launcher/cli/commands/workflow.cpp"
  "${PROJECT_SOURCE_DIR}/launcher/cli/commands/workflow_gc.cpp"
  "${PROJECT_SOURCE_DIR}/launcher/cli/commands/workflow_jobs.cpp"
  "${PROJECT_SOURCE_DIR}/launcher/cli/workflow_arguments.cpp")
foreach(source code_states.cpp ended_steps.cpp job_facts.cpp job_room.cpp live_step_jobs.cpp local_step_runner.cpp
               result_gc.cpp result_lease.cpp result_store.cpp run_looks.cpp step_batch.cpp step_end.cpp
               step_estimate.cpp step_execution.cpp step_execution_end.cpp step_job.cpp step_journal.cpp step_launch.cpp
               step_news.cpp step_observation.cpp step_orphans.cpp step_reuse.cpp step_submission.cpp step_values.cpp
               workflow_folder.cpp workflow_run.cpp workflow_status.cpp)
  list(APPEND workflow_run_sources "${CMAKE_CURRENT_LIST_DIR}/${source}")
endforeach()
add_library(slipway_workflow_run STATIC ${workflow_run_sources})
slipway_compile(slipway_workflow_run LIGHT)
target_link_libraries(slipway_workflow_run
  PUBLIC slipway_settings slipway_core slipway_selection slipway_stage_out
  PRIVATE slipway_warnings CLI11::CLI11 slipway_launcher slipway_workflow slipway_spec slipway_ranks slipway_ensemble)
