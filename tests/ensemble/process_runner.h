/// A TrialRunner with real processes: each attempt is this program again, as a trial. It appends to `log` in the folder
/// "start T A" when it runs and, as its last act and exit record, "done T A VALUE".
#pragma once

#include <filesystem>
#include <map>
#include <optional>

#include "core/process.h"
#include "ensemble/trial_runner.h"

namespace slipway::ensemble {

class ProcessRunner : public TrialRunner {
 public:
  explicit ProcessRunner(std::filesystem::path folder) : folder_(std::move(folder)) {}
  ProcessIdentity Prepare(const TrialStart& start) override;
  void Release(TrialNumber trial) override;
  void Stop(TrialNumber trial, StopReason reason) override;
  void EndOrphan(const ProcessIdentity& identity) override;
  std::vector<TrialEvent> Recover(TrialNumber trial, int attempt) override;
  std::vector<TrialEvent> Wait(std::chrono::nanoseconds limit) override;

 private:
  struct Running {
    int attempt;
    ChildProcess process;
    UniqueFd gate;
  };
  std::filesystem::path folder_;
  std::map<TrialNumber, Running> running_;
};

/// The other end: waits at the gate (descriptor 3), works for a few milliseconds, and (but for stubborn trials)
/// leaves at once when the gate's other side is gone. Returns the exit status.
int RunTrial(const std::filesystem::path& folder, TrialNumber trial, int attempt, const std::string& value);

}  // namespace slipway::ensemble
