/// What has happened to the steps of a workflow: `workflow.jsonl` in its run folder.
///
/// One line for each event, appended with one write: it survives kill -9 at any instant. A line that was cut is
/// skipped. The results themselves are in the store (result_store.h); without the journal they would be found again.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "core/json.h"
#include "core/process_identity.h"
#include "core/unique_handle.h"
#include "launcher/workflow/step_board.h"

namespace slipway::launcher {

/// The last that is known of a step.
struct StepRecord {
  StepState state = StepState::kWaiting;
  int attempt = 0;
  std::string result;  ///< id in the store
  std::string reason;  ///< why it failed, was skipped or is blocked; why it was not reused
  std::string time;    ///< of the last event; UTC, ISO 8601
  double seconds = 0;  ///< that it took, once it has ended
  ProcessIdentity process;
  bool operator==(const StepRecord&) const = default;
};

class StepJournal {
 public:
  explicit StepJournal(const std::filesystem::path& run_folder);

  /// Another manager begins: what was not done is open again.
  void Begin();
  /// The step is in this state now. While the disk is full, lines are kept and written later.
  /// Errors: SystemError for other reasons.
  void Write(const std::string& step, const StepRecord& record);
  /// Writes what is kept. False while the disk is full.
  bool Flush();

 private:
  std::filesystem::path file_;
  UniqueFd fd_;
  std::string kept_;
};

/// By the name of the step. Empty without a journal.
std::map<std::string, StepRecord> ReadStepJournal(const std::filesystem::path& run_folder);

/// The newest result that each step has had in this run, whatever came after: step -> id in the store.
std::map<std::string, std::string> LastResultsIn(const std::filesystem::path& run_folder);

}  // namespace slipway::launcher
