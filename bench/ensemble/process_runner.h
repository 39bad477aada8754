/// A TrialRunner with real processes: each attempt runs this program again, as a trial with several steps.
///
/// A trial leaves two files in the folder, also without a manager:
/// - `log`: "start T A" first, or "overlap T A" when another attempt of the trial is active. The last line, "done T A",
///   is its exit record.
/// - `T.steps`: a line "A STEP VALUE" for each step. The next attempt goes on from there.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/json.h"
#include "core/process.h"
#include "ensemble/model/trial_runner.h"

namespace slipway::ensemble {

/// How trials behave.
struct TrialManner {
  int steps = 1;  ///< of a whole trial; it reports "accuracy" after each
  /// Every third trial continues without its manager, so that only EndOrphan ends it. The others end at once.
  bool stubborn = true;
};

/// What a trial with these parameters reports after a step.
double AccuracyOf(const Json& parameters, int step);

class ProcessRunner : public TrialRunner {
 public:
  ProcessRunner(std::filesystem::path folder, TrialManner manner) : folder_(std::move(folder)), manner_(manner) {}
  ProcessIdentity Prepare(const TrialStart& start) override;
  void Release(TrialNumber trial) override;
  void Stop(TrialNumber trial, StopReason reason) override;
  void EndOrphan(const ProcessIdentity& identity) override;
  std::vector<TrialEvent> Recover(TrialNumber trial, int attempt) override;
  std::vector<TrialEvent> Wait(std::chrono::nanoseconds limit) override;

 private:
  /// A trial waits after each step until its report was read and no stop was requested. So it does the same however
  /// slow the manager is.
  struct Running {
    int attempt;
    ChildProcess process;
    UniqueFd channel;
    bool waits = false;  ///< its report has been handed out
  };

  void LetGoOn();
  std::vector<TrialEvent> Heard(TrialNumber trial, Running& running);

  std::filesystem::path folder_;
  TrialManner manner_;
  std::map<TrialNumber, Running> running_;
};

/// The other end: `trial FOLDER T ATTEMPT STEPS STUBBORN PARAMETERS`, its channel in descriptor 3. Returns the exit
/// status.
int RunTrial(const std::vector<std::string>& words);

}  // namespace slipway::ensemble
