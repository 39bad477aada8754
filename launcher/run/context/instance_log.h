/// The launcher's part of the MLPerf log of one instance: a run, or a trial of an ensemble.
///
///   submission_*, cache_clear, init_start, number_of_nodes ...   when it is made
///   staging_start, staging_stop
///   init_stop, run_start                                         before the program starts
///   what the program writes
///   run_stop                                                     when the last attempt has ended
///
/// With `mllog.staging: included` the run begins before staging. A log that cannot be written causes a warning; the run
/// continues.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "core/mllog.h"
#include "core/output.h"
#include "launcher/plan/plan.h"

namespace slipway::launcher {

struct Instance {
  std::int64_t number = 0;  ///< of the trial
  int nodes = 1;
  int ranks = 1;
  bool is_common = false;            ///< no instance: what all trials of an ensemble share (nodes, staging)
  Json parameters = Json::object();  ///< of the program; a `seed` among them is recorded
};

class InstanceLog {
 public:
  /// Opens the log in `folder`; renames the log of an earlier manager.
  InstanceLog(const std::filesystem::path& folder, const Plan& plan, const Instance& instance, Output& output);

  void StartStaging();
  void StopStaging();
  /// The first attempt begins the run; later ones are only counted.
  void StartRun(int attempt);
  /// Ends the run in the log. Only the first call counts, and only after StartRun. With a target, `success` also needs
  /// an evaluation that reached it.
  void StopRun(bool success, std::string_view reason, WallTime when = SystemClock().Now());

 private:
  void WriteHead(const Instance& instance);
  void BeginRun();
  bool TargetReached() const;
  void Fact(const std::string& key, const Json& value);
  void Write(MllogEvent event, const std::string& key, const Json& value, const Json& metadata, WallTime when);
  /// Warns once, and writes no more.
  void GiveUp(const std::exception& error);

  const MllogSpec& spec_;
  const Spec& experiment_;
  bool is_common_;
  std::filesystem::path folder_;
  Output& output_;
  std::optional<MllogFile> file_;  ///< nothing: it cannot be written
  std::string continues_;          ///< the name of the log that was renamed
  enum class Run { kAhead, kUnderWay, kOver } run_ = Run::kAhead;
};

}  // namespace slipway::launcher
