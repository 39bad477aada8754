#include "launcher/run/workflow/run_looks.h"

#include <algorithm>

#include "core/error.h"
#include "launcher/run/workflow/step_journal.h"
#include "launcher/run/workflow/step_observation.h"
#include "launcher/run_folder/pause_note.h"

namespace slipway::launcher {
namespace {

namespace fs = std::filesystem;

bool HasOpenStepJobs(const RunFolder& folder, const RunState& state) {
  return !HasEnded(state.phase) && HasStepJobs(folder);
}

void LookAtSteps(RunRow& row) try {
  if (row.state && HasOpenStepJobs(row.folder, *row.state)) row.state = ObserveWorkflow(row.folder);
} catch (const Error& error) {
  row.trouble = error;
  row.state.reset();
}

}  // namespace

std::vector<RunRow> ObserveAllRows(const std::vector<RunFolder>& folders) {
  auto rows = ObserveRows(folders);
  for (auto& row : rows) LookAtSteps(row);
  return rows;
}

bool IsCarriedOutBySlurm(const RunFolder& folder, const RunState& state) {
  return IsInBatchSystem(folder, state) || HasOpenStepJobs(folder, state);
}

std::vector<fs::path> FilesOfWorkflowRun(const RunFolder& folder) {
  const auto& run = folder.path();
  std::vector<fs::path> files{run / "state.json", PauseNoteOf(run), JournalOfRun(run), run / "workflow.json"};
  if (!HasStepJobs(folder)) return files;
  std::error_code error;
  fs::directory_iterator entry(run / "steps", error);
  for (const fs::directory_iterator end; !error && entry != end; entry.increment(error)) {
    files.push_back(JournalOfStep(run, entry->path().filename().string()));
  }
  std::ranges::sort(files);
  return files;
}

}  // namespace slipway::launcher
