#include "launcher/run/workflow/step_orphans.h"

#include <signal.h>
#include <unistd.h>

#include <functional>
#include <vector>

#include "core/environment.h"
#include "core/process_identity.h"
#include "launcher/run/workflow/step_runner.h"
#include "launcher/run_folder/manager_elsewhere.h"
#include "launcher/run_folder/orphan.h"

namespace slipway::launcher {
namespace {

namespace fs = std::filesystem;

/// Ends the processes that were started for a step whose folder fits.
void EndThoseOf(const std::function<bool(const std::string& folder)>& fits) {
  for (const auto pid : ProcessIds()) {
    if (pid == ::getpid()) continue;
    const auto process = IdentityOf(pid);  // first: the number may be given to another one
    const auto folder = Environment::OfProcess(pid).Get("SLIPWAY_STEP_DIR");
    if (folder && fits(*folder) && IsAlive(process)) ::kill(pid, SIGKILL);
  }
}

void EndNamed(const StepRecord& record) {
  if (record.state == StepState::kRunning && record.process.pid != 0) EndOrphan(record.process);
}

}  // namespace

void EndOrphansOf(const std::map<fs::path, StepRecord>& steps) {
  for (const auto& [folder, record] : steps) EndNamed(record);
  if (!steps.empty()) EndThoseOf([&](const std::string& folder) { return steps.contains(folder); });
}

bool StillRuns(const RunFolder& run) { return !HasEnded(run.ReadState().phase) && IsManagerLockHeld(run.path()); }

std::vector<RunFolder> EndRunsOf(const fs::path& step_folder, const StepRecord& record) {
  std::vector<RunFolder> elsewhere;
  for (auto& run : ListRuns(step_folder)) {
    if (!StillRuns(run)) continue;
    const auto state = run.ReadState();
    state.host == HostName() ? EndOrphan(state.manager, kGraceOfRun) : elsewhere.push_back(std::move(run));
  }
  EndNamed(record);
  return elsewhere;
}

void EndStepOrphans(const RunFolder& run, const std::map<std::string, StepRecord>& records, const Workflow& workflow) {
  for (const auto& [step, record] : records) {
    const auto found = workflow.by_name.find(step);
    const bool is_run = found != workflow.by_name.end() && workflow.steps[found->second].is_run();
    if (!is_run && record.state == StepState::kRunning) EndRunsOf(run.path() / "steps" / step, record);  // it was one
  }
  const auto steps = (run.path() / "steps").string() + "/";
  EndThoseOf([&](const std::string& folder) { return folder.starts_with(steps); });
}

}  // namespace slipway::launcher
