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

/// How an attempt ended, and what outside of the program was the cause.
struct AttemptEnd {
  GroupOutcome outcome;
  ensemble::OutsideCause cause = ensemble::OutsideCause::kNone;  ///< a lost node, memory, or the ranks never ran
  std::string unmatched = {};  ///< after success: what is wrong with the pattern of train.metrics
};

/// Hears what happens in a job. Called from the event loop.
class AttemptObserver {
 public:
  virtual ~AttemptObserver() = default;
  virtual void OnLine(int rank, std::string_view line) = 0;
  virtual void OnMetrics(const MetricsLine& line) = 0;
  /// Why the runtime's watch ended the job; at most once.
  virtual void OnWatch(const WatchFinding& finding) = 0;
  /// One of several ranks failed, unasked, and the watch said nothing; the others are being ended.
  virtual void OnFailure(std::string_view what) = 0;
  /// Something is not as it was asked for; the job goes on.
  virtual void OnWarning(std::string_view what) = 0;
  /// The pattern of train.metrics finds nothing in what rank 0 prints, or no number where one should stand: `what` says
  /// more. At most once, while the ranks run, when that begins to look like a mistake.
  virtual void OnUnmatched(std::string_view what) = 0;
  /// The last call; all lines and metrics came before it.
  virtual void OnEnd(const AttemptEnd& end) = 0;
};

/// Whether the lines of the ranks' logs are wanted while the job runs.
enum class LogLines { kFollow, kLeave };

/// What a trial of an ensemble has that a single run has not.
struct TrialShare {
  TrialTerms terms = {};
  bool is_part = false;              ///< the trial has a part of its job, named here; else all that its job has
  std::vector<int> cores = {};       ///< that it may run on; empty: all
  NodeDevices devices = {};          ///< GPUs that it sees, on this machine or of a single rank; none: all
  Supervisor* supervisor = nullptr;  ///< starts it, when it is a single rank; must outlive the job
};

/// Where on an allocation the ranks of a job run.
struct NodesOfAttempt {
  Nodes* nodes = nullptr;  ///< null: on this machine; else it must outlive the job
  std::vector<int> on = {};
  /// Of a trial: its cores on each of them; none where trials are not bound.
  std::vector<std::vector<int>> cores = {};
  /// Likewise its GPUs; none where it sees all.
  std::vector<NodeDevices> devices = {};
};

struct AttemptRequest {
  const Plan& plan;
  AttemptPlace place;
  StagedDirectories data;
  const Json& parameters;  ///< used while the job is made, not kept
  LogLines lines = LogLines::kFollow;
  TrialShare share = {};
  NodesOfAttempt where = {};
};

/// How long ranks that are told to stop have, at most: to save, where they can be told so, and then between SIGTERM
/// and SIGKILL.
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
  /// Publishes the stop file with `reason`, sends the signal of checkpoint.signal, gives a program that can be told so
  /// time to end, then ends the ranks by signals. May be called again; the first reason counts. `least`: the
  /// time that such a program has, if it is more than usual.
  void Stop(std::string_view reason, Seconds least = {});
  /// SIGKILL to all ranks that are still there. After Stop.
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
  std::uint64_t kills_before_;  ///< by the kernel, for want of memory
  bool can_be_told_;            ///< to save and end: by the stop file, or by a signal
  StopSignal signal_;
  std::string stop_reason_;
  std::optional<WatchFinding> watch_report_;
  std::optional<EventLoop::TimerId> stop_timer_;
  std::unique_ptr<StallWatch> nodes_watch_;  ///< null on this machine, where ranks see each other
  std::unique_ptr<Watch> watch_;
  std::unique_ptr<Ranks> ranks_;
};

}  // namespace slipway::launcher
