/// One attempt of one run or trial: its folder, its ranks, what they print and report, and how it is stopped.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/event_loop.h"
#include "core/json.h"
#include "core/metrics_line.h"
#include "core/process.h"
#include "core/units.h"
#include "ensemble/model/trial_runner.h"
#include "launcher/attempt/attempt_stage.h"
#include "launcher/plan/plan.h"
#include "launcher/ranks/local/ranks.h"
#include "launcher/ranks/monitor/directory_watch.h"
#include "launcher/ranks/monitor/watch_report.h"

namespace slipway::launcher {

class StallWatch;
class Nodes;

/// How an attempt ended, and the cause if it lay outside the program.
struct AttemptEnd {
  GroupOutcome outcome;
  ensemble::OutsideCause cause = ensemble::OutsideCause::kNone;  ///< a lost node, memory, or the ranks never ran
  std::string unmatched = {};  ///< after success: what is wrong with the pattern of train.metrics
};

/// Is notified of what happens in an attempt. Called from the event loop.
class AttemptObserver {
 public:
  virtual ~AttemptObserver() = default;
  virtual void OnLine(int rank, std::string_view line) = 0;
  virtual void OnMetrics(const MetricsLine& line) = 0;
  /// Why the runtime's watch ended the job; at most once.
  virtual void OnWatch(const WatchFinding& finding) = 0;
  /// One of several ranks failed on its own, and the stall watch reported nothing. The other ranks are being ended.
  virtual void OnFailure(std::string_view what) = 0;
  /// Something differs from the spec; the attempt continues.
  virtual void OnWarning(std::string_view what) = 0;
  /// The pattern of train.metrics matches no line of rank 0, or a group holds no number. `what` has the details. Called
  /// at most once, while the ranks run, once it looks like a mistake.
  virtual void OnUnmatched(std::string_view what) = 0;
  /// The last call; all lines and metrics came before it.
  virtual void OnEnd(const AttemptEnd& end) = 0;
};

/// Whether the observer gets the lines of the ranks' logs while they run.
enum class LogLines { kFollow, kLeave };

/// What only the trials of an ensemble have.
struct TrialShare {
  TrialTerms terms = {};
  bool is_part = false;              ///< the trial has a part of its job, named here; else all that its job has
  std::vector<int> cores = {};       ///< it may run on these; empty: all
  NodeDevices devices = {};          ///< GPUs it sees: on this machine, or of a single rank; none: all
  Supervisor* supervisor = nullptr;  ///< starts it, when it is a single rank; must outlive the job
};

/// Which nodes of an allocation the ranks of an attempt use.
struct NodesOfAttempt {
  Nodes* nodes = nullptr;  ///< null: on this machine; else it must outlive the job
  std::vector<int> on = {};
  /// The cores of a trial on each node; empty when trials are not bound.
  std::vector<std::vector<int>> cores = {};
  /// The GPUs of a trial on each node; empty when it sees all.
  std::vector<NodeDevices> devices = {};
};

struct AttemptRequest {
  const Plan& plan;
  AttemptPlace place;
  StagedDirectories data;
  const Json& parameters;  ///< read by the constructor only
  LogLines lines = LogLines::kFollow;
  TrialShare share = {};
  NodesOfAttempt where = {};
};

/// The longest time from Stop until SIGKILL: the time to save, if the program gets any, plus the grace time.
Seconds LongestStop(const Spec& spec);

class Attempt {
 public:
  /// Creates the attempt's folder and starts the ranks, held at their gate.
  Attempt(EventLoop& loop, DirectoryWatcher& files, AttemptRequest request, AttemptObserver& observer);
  ~Attempt();

  ProcessIdentity identity() const;
  const AttemptPlace& place() const { return place_; }
  /// Opens the gate: the program starts.
  void Release();
  /// Publishes the stop file with `reason` and sends the signal of checkpoint.signal. A program may save first where
  /// Spec::gets_time_to_save() says so. Then the ranks are ended by signals. Later calls change nothing. `least`:
  /// minimum time to save, if above the default.
  void Stop(std::string_view reason, Seconds least = {});
  /// Sends SIGKILL to all ranks that still run. After Stop.
  void Kill();
  /// The reason given to Stop, or empty.
  const std::string& stop_reason() const { return stop_reason_; }

 private:
  class Watch;

  RankLaunch MakeLaunch(const AttemptRequest& request);
  void Bind(const AttemptRequest& request, RankLaunch& launch);
  void GiveDevices(const AttemptRequest& request, RankLaunch& launch);
  void WatchNodes(const AttemptRequest& request, RankLaunch& launch);
  void LookForWatchReport();
  void End(const GroupOutcome& outcome);
  ensemble::OutsideCause CauseOf(const GroupOutcome& outcome) const;
  void Explain(GroupOutcome& outcome) const;
  void Take(AttemptEvent event) { stage_ = Next(stage_, event); }

  EventLoop& loop_;
  AttemptObserver& observer_;
  AttemptPlace place_;
  AttemptStage stage_ = AttemptStage::kHeld;
  std::uint64_t kills_before_;  ///< OOM kills of the kernel before this attempt
  bool gets_time_to_save_;
  StopSignal signal_;
  std::string stop_reason_;
  std::optional<WatchFinding> watch_report_;
  std::optional<EventLoop::TimerId> stop_timer_;
  std::unique_ptr<StallWatch> nodes_watch_;  ///< null on this machine, where ranks see each other
  std::unique_ptr<Watch> watch_;
  std::unique_ptr<Ranks> ranks_;
};

}  // namespace slipway::launcher
