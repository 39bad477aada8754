/// All metrics of a run with what they belong to: what every export is made of.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/json.h"
#include "ensemble/model/records.h"
#include "launcher/ranks/monitor/line_follower.h"
#include "launcher/run_folder/run_folder.h"
#include "launcher/run_folder/run_tags.h"

namespace slipway::launcher {

/// One reported value; not finite values are kept.
struct RunValue {
  std::optional<ensemble::TrialNumber> trial;  ///< nothing: a single run
  int attempt = 1;
  std::string name;
  std::int64_t step = 0;
  std::optional<double> epoch;
  double value = 0;
  double time = 0;  ///< seconds since 1970; 0: unknown
};

/// A trial of an ensemble, or an attempt of a single run.
struct RunSession {
  std::optional<ensemble::TrialNumber> trial;
  int attempt = 1;         ///< of a trial: how many
  Json parameters = {};    ///< an object of scalars
  std::string group = {};  ///< equal for sessions of equal parameters
  std::string state = {};  ///< of the trial; of an attempt that of the run
  std::optional<double> started = {};
  std::optional<double> ended = {};
};

/// "trial-00007", "attempt-2": the name of a session's folder.
std::string SessionFolder(const RunSession& session);

/// What an export says of a run beside its metrics.
struct ExportedRun {
  RunState state;
  RunTags tags;
  Json spec;                         ///< as it was resolved, secrets masked; null
  std::vector<RunSession> sessions;  ///< by number
  std::vector<ensemble::Objective> objectives;
  BytesRead on_read = {};  ///< hears of each piece of metrics files that is read
};

/// Errors: those of RunFolder::ReadState, and of the trial book.
ExportedRun ReadExportedRun(const RunFolder& folder);

/// Values by session; of a single run in the order of reporting, of a trial by name, step and attempt.
/// Cost: one pass; 1,000,000 values in some seconds. Memory does not depend on their number.
void ForEachValue(const RunFolder& folder, const ExportedRun& run, const std::function<void(const RunValue&)>& take);

}  // namespace slipway::launcher
