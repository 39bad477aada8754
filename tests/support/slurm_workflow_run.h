/// The run folder of a workflow whose steps are Slurm jobs, as their submission leaves it; and a Slurm out of reach.
#pragma once

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/files.h"
#include "core/json.h"
#include "launcher/run/batch/batch_record.h"
#include "launcher/run/workflow/step_journal.h"
#include "launcher/run/workflow/workflow_folder.h"

namespace slipway::test {

inline void WriteStepsOf(const launcher::RunFolder& run, const std::vector<std::string>& steps,
                         const std::string& kind = "command") {
  Json rows = Json::array();
  for (const auto& step : steps) {
    rows.push_back({{"name", step}, {"kind", kind}, {"needs", Json::array()}, {"description", ""}});
  }
  const Json order{{"file", "/flow.yaml"}, {"overrides", Json::array()}, {"forced", Json::array()}};
  const Json document{{"schema", "slipway.workflow.plan/1"}, {"order", order}, {"steps", rows}};
  WriteFile(run.path() / "workflow.json", document.dump());
}

inline void EnterStep(const launcher::RunFolder& run, const std::string& step, launcher::StepState state) {
  launcher::StepJournal(launcher::JournalOfStep(run.path(), step)).Write(step, {.state = state, .attempt = 1});
}

/// Each step has job 7, and waits.
inline launcher::RunFolder MakeSlurmWorkflowRun(const std::filesystem::path& runs,
                                                const std::vector<std::string>& steps) {
  auto run = launcher::RunFolder::Create(runs, "flow", false);
  WriteStepsOf(run, steps);
  WriteFile(run.path() / launcher::kSubmittedSteps, "{}");
  auto state = run.ReadState();
  state.phase = launcher::Phase::kRunning;
  state.host.clear();
  run.WriteState(state);
  launcher::BatchRecord record;
  record.job.id = 7;
  for (const auto& step : steps) {
    MakeDirectories(launcher::StepFolder(run, step));
    launcher::WriteBatchRecord(launcher::StepFolder(run, step), record);
    EnterStep(run, step, launcher::StepState::kWaiting);
  }
  return run;
}

/// Who asks Slurm learns that `conf`, its configuration, is not there: this tells who has asked anew.
class SlurmOutOfReach {
 public:
  explicit SlurmOutOfReach(const std::string& conf) { Name(conf); }
  SlurmOutOfReach(const SlurmOutOfReach&) = delete;
  SlurmOutOfReach& operator=(const SlurmOutOfReach&) = delete;
  ~SlurmOutOfReach() { ::unsetenv("SLURM_CONF"); }

  void Name(const std::string& conf) const { ::setenv("SLURM_CONF", conf.c_str(), 1); }
};

}  // namespace slipway::test
