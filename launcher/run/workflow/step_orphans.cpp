#include "launcher/run/workflow/step_orphans.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <vector>

#include "core/process_identity.h"
#include "core/process_ids.h"
#include "launcher/run/workflow/step_runner.h"
#include "launcher/run_folder/orphan.h"

namespace slipway::launcher {
namespace {

namespace fs = std::filesystem;

using Marks = std::vector<std::string>;

/// Whether the process was started for one of the steps.
bool BelongsToStep(pid_t process, const Marks& marks) {
  std::ifstream file(fmt::format("/proc/{}/environ", process), std::ios::binary);
  const std::string environment{std::istreambuf_iterator<char>(file), {}};
  return std::ranges::any_of(marks, [&](const auto& mark) { return environment.find(mark) != std::string::npos; });
}

std::vector<ProcessIdentity> ProcessesWith(const Marks& marks) {
  std::vector<ProcessIdentity> found;
  for (const auto pid : ProcessIds()) {
    if (pid != ::getpid() && BelongsToStep(pid, marks)) found.push_back(IdentityOf(pid));
  }
  return found;
}

}  // namespace

namespace {

void EndThoseWith(const Marks& marks) {
  for (const auto& process : ProcessesWith(marks)) {
    if (IsAlive(process)) ::kill(static_cast<pid_t>(process.pid), SIGKILL);
  }
}

void EndNamed(const StepRecord& record) {
  if (record.state == StepState::kRunning && record.process.pid != 0) EndOrphan(record.process);
}

constexpr const char* kMark = "SLIPWAY_STEP_DIR=";

}  // namespace

void EndOrphansOf(const std::map<fs::path, StepRecord>& steps) {
  Marks marks;
  for (const auto& [folder, record] : steps) {
    EndNamed(record);
    marks.push_back(kMark + folder.string() + '\0');
  }
  if (!marks.empty()) EndThoseWith(marks);
}

bool StillRuns(const RunFolder& run) {
  return !HasEnded(run.ReadState().phase) && !FileLock::TryLook(run.path() / kManagerLock);
}

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
  EndThoseWith({kMark + (run.path() / "steps").string() + "/"});
}

}  // namespace slipway::launcher
