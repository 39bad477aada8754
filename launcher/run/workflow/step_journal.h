/// What has happened to the steps of a workflow: `workflow.jsonl` in its run folder. Steps that are Slurm jobs run on
/// several nodes: each has a journal of its own, `steps/NAME/journal.jsonl`. Who holds the lock of the step writes it.
///
/// One line for each event, appended with one write: it survives kill -9 at any instant. A line that was cut is
/// skipped. The results themselves are in the store (result_store.h); without the journal they would be found again.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/files.h"
#include "core/json.h"
#include "core/process_identity.h"
#include "core/unique_handle.h"
#include "launcher/workflow/step_board.h"

namespace slipway::launcher {

/// In the run folder, when its steps are Slurm jobs: the workflow as it was submitted (workflow_document.h).
inline constexpr const char* kSubmittedSteps = "submitted.json";

/// The last that is known of a step.
struct StepRecord {
  StepState state = StepState::kWaiting;
  int attempt = 0;
  std::string result = {};  ///< id in the store
  std::string reason = {};  ///< why it failed, was skipped or is blocked; why it was not reused
  std::string time = {};    ///< of the last event; UTC, ISO 8601
  double seconds = 0;       ///< that it took, once it has ended
  ProcessIdentity process = {};
  std::uint32_t job = 0;                   ///< the Slurm job that carries it out; 0: none
  std::optional<std::uint32_t> task = {};  ///< of that job array
  std::string host = {};                   ///< of that job
  bool operator==(const StepRecord&) const = default;
};

class StepJournal {
 public:
  explicit StepJournal(std::filesystem::path file);

  /// Another manager begins: what was not done is open again.
  void Begin();
  /// The step is in this state now. While the disk is full, lines are kept and written later.
  /// Errors: SystemError for other reasons.
  void Write(const std::string& step, const StepRecord& record);
  /// Writes what is kept. False while the disk is full.
  bool Flush();
  /// The same, and closes the file: from then on other hosts see on NFS what was written. Write opens it again.
  bool Close();

 private:
  void Open();

  std::filesystem::path file_;
  UniqueFd fd_;
  std::string kept_;
};

/// A step that this run has carried out already. `before` is what it has recorded of it. `seconds`, which its result
/// says, count where a process was killed before it could record the end.
StepRecord DoneBefore(const StepRecord& before, const std::string& result, double seconds);

/// The results that a run has made, by step.
std::map<std::string, std::string> ResultsMade(const std::map<std::string, StepRecord>& records);

std::filesystem::path JournalOfRun(const std::filesystem::path& run_folder);
std::filesystem::path JournalOfStep(const std::filesystem::path& run_folder, const std::string& step);

/// The right to carry the step out, and to write its journal. Nothing when another process has it.
std::optional<FileLock> LockStep(const std::filesystem::path& run_folder, const std::string& step);

/// By the name of the step, from all journals of the run. Empty without a journal.
/// Cost: of a run with Slurm jobs, a file for each step.
std::map<std::string, StepRecord> ReadStepJournal(const std::filesystem::path& run_folder);
/// The same from the journal of the run and those of these steps: a file for each of them.
std::map<std::string, StepRecord> ReadRecordsOf(const std::filesystem::path& run_folder,
                                                const std::set<std::string>& steps);

/// How long a step took, once.
struct StepTime {
  std::string step;
  double seconds = 0;
  bool lost = false;  ///< it has made no result
};
/// All ends of all steps, over all managers of the run, from all its journals. An attempt that was tried again by the
/// same manager is not in them. Cost: as ReadStepJournal.
std::vector<StepTime> TimesOfSteps(const std::filesystem::path& run_folder);

/// As the step's own journal has it; the state is `waiting` without one.
StepRecord ReadRecordOfStep(const std::filesystem::path& run_folder, const std::string& step);

/// The newest result that each step has had in this run, whatever came after: step -> id in the store.
std::map<std::string, std::string> LastResultsIn(const std::filesystem::path& run_folder);

}  // namespace slipway::launcher
