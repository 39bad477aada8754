#include "launcher/run/workflow/run_looks.h"

#include "core/documents.h"
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
  for (const auto& step : EntriesOf(run / "steps")) files.push_back(JournalOfStep(run, step.filename().string()));
  return files;
}

}  // namespace slipway::launcher
