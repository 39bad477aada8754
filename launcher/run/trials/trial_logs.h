/// The MLPerf logs of an ensemble's trials: one for each, in its folder. Does nothing where the spec asks for none.
///
/// A paused or requeued trial continues its log. Logs without an end when the ensemble ends get the status aborted, at
/// the end of their last attempt.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "ensemble/model/records.h"
#include "ensemble/model/trial_runner.h"
#include "launcher/run/context/instance_log.h"
#include "launcher/run/context/run_context.h"

namespace slipway::launcher {

class TrialLogs {
 public:
  /// Trials that are jobs of their own write their logs themselves.
  explicit TrialLogs(const RunContext& context);
  TrialLogs(const TrialLogs&) = delete;
  TrialLogs& operator=(const TrialLogs&) = delete;
  ~TrialLogs();

  void Prepare(const ensemble::TrialStart& start, const std::filesystem::path& folder);
  /// Its program starts now.
  void Release(ensemble::TrialNumber trial);
  void AttemptEnded(const ensemble::TrialRecord& trial);

 private:
  struct Open {
    InstanceLog log;
    int attempt = 1;
    WallTime left = {};
    std::string reason = {};
  };

  const RunContext& context_;
  bool wanted_;
  std::map<ensemble::TrialNumber, Open> open_;
};

}  // namespace slipway::launcher
