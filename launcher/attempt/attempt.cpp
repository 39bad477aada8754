#include "launcher/attempt/attempt.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/clock.h"
#include "core/error.h"
#include "core/files.h"
#include "core/write_probe.h"
#include "launcher/attempt/allocation.h"
#include "launcher/attempt/device_sharing.h"
#include "launcher/attempt/out_of_memory.h"
#include "launcher/attempt/rank_binding.h"
#include "launcher/cluster/agent_step.h"
#include "launcher/plan/environment_table.h"
#include "launcher/plan/workdir.h"
#include "launcher/ranks/local/mpi_check.h"
#include "launcher/ranks/local/node_cores.h"
#include "launcher/ranks/monitor/directory_watch.h"
#include "launcher/ranks/monitor/line_follower.h"
#include "launcher/ranks/monitor/log_tail.h"
#include "launcher/ranks/monitor/pattern_metrics.h"
#include "launcher/ranks/monitor/rank_log.h"
#include "launcher/ranks/nodes/nodes.h"
#include "launcher/ranks/nodes/stall_watch.h"
#include "launcher/run_folder/attempt_files.h"
#include "runtime/watch/status_table_transfer.h"

namespace slipway::launcher {
namespace fs = std::filesystem;

namespace {

/// Of programs that get time to save, before SIGTERM.
constexpr auto kRanksStopPatience = std::chrono::seconds(10);
constexpr std::size_t kDetailLines = 20;

/// A TCP port that was free a moment ago, for programs that bring their own communication.
int FreePort() {
  const UniqueFd fd(CheckErrno(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "cannot create a socket"));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  CheckErrno(::bind(fd.get(), generic, size), "cannot bind a socket");
  CheckErrno(::getsockname(fd.get(), generic, &size), "cannot ask for a socket's address");
  return ntohs(address.sin_port);
}

int NumberOf(StopSignal signal) { return signal == StopSignal::kUsr1 ? SIGUSR1 : SIGTERM; }

/// Several ranks, each behind the agent of its node.
bool IsOnNodes(const AttemptRequest& request) {
  return request.where.nodes != nullptr && request.plan.spec().launch.ranks() > 1;
}

/// Trials that share a job have the cores that they were given, others all that their job has.
std::vector<RankHost> HostsOf(const AttemptRequest& request, const RankLaunch& launch) {
  if (request.where.nodes == nullptr) {
    if (request.share.is_part) return {{0, HostName(), request.share.cores, true, launch.ranks}};
    auto [cores, own] = CoresOfThisNode();
    return {{0, HostName(), std::move(cores), own, launch.ranks}};
  }
  std::vector<RankHost> hosts;
  for (std::size_t i = 0; i < launch.hosts.size(); ++i) {
    auto facts = request.where.nodes->FactsOf(launch.hosts[i].node);
    if (!request.where.cores.empty()) facts.cores = request.where.cores.at(i);
    hosts.push_back({launch.hosts[i].node, facts.name, facts.cores, facts.own_cores, launch.hosts[i].ranks});
  }
  return hosts;
}

/// The nodes whose devices the ranks see. Trials see the devices that they were given, other runs those of their job.
/// Empty when the ranks are given none.
std::vector<DeviceHost> DeviceHostsOf(const AttemptRequest& request, const RankLaunch& launch) {
  const bool is_part = request.share.is_part;
  if (!is_part && request.plan.spec().launch.gpus_per_rank == 0) return {};
  if (request.where.nodes == nullptr || launch.hosts.empty()) {
    return {{0, HostName(), is_part ? request.share.devices : DevicesOfThisNode(), launch.ranks}};
  }
  std::vector<DeviceHost> hosts;
  for (std::size_t i = 0; i < launch.hosts.size(); ++i) {
    const auto& [node, name, ranks] = launch.hosts[i];
    hosts.push_back(
        {node, name, is_part ? request.where.devices.at(i) : request.where.nodes->FactsOf(node).devices, ranks});
  }
  return hosts;
}

}  // namespace

/// Follows the files of an attempt's folder: the ranks' logs, and the metrics.
class Attempt::Watch {
 public:
  Watch(EventLoop& loop, DirectoryWatcher& files, const AttemptRequest& request, AttemptObserver& observer)
      : loop_(loop), files_(files), observer_(observer), place_(request.place), lines_(request.lines) {
    ranks_ = request.plan.spec().launch.ranks();
    polls_ = request.where.nodes != nullptr;
    const auto& metrics = request.plan.spec().train.metrics;
    if (metrics.from == MetricsSource::kStdout) pattern_.emplace(metrics.pattern, FirstCountedStep(place_.directory));
    if (lines_ == LogLines::kFollow) {
      Begin();
    } else {
      begin_ = loop_.After(kTrialWatchDelay, [this] {
        begin_.reset();
        Begin();
        LookAtAll();
      });
    }
  }

  ~Watch() {
    if (begin_) loop_.Cancel(*begin_);
    if (look_) loop_.Cancel(*look_);
  }

  /// Everything that is there now, also lines without an end.
  void Finish() {
    directory_.reset();
    LookAtAll();
    for (auto& [name, follower] : followers_) follower.Finish();
  }

  /// To be called after Finish. Empty: the pattern found its metrics, or there is none.
  std::string WhatIsUnmatched() const { return pattern_ ? WhatIsWrong(pattern_->tally()) : std::string(); }

 private:
  /// Trials by the thousand are over by then, and for them a watch would cost more than it tells.
  static constexpr auto kTrialWatchDelay = std::chrono::milliseconds(100);
  static constexpr auto kPollPause = std::chrono::milliseconds(500);
  /// A file system that many share is asked for about a hundred files a second.
  static constexpr auto kPollPauseOfRank = std::chrono::milliseconds(10);
  static constexpr std::int64_t kMatchesWithoutNumber = 3;
  static constexpr std::int64_t kManyLines = 100;
  static constexpr std::int64_t kFewLines = 5;
  static constexpr auto kWaitForMatch = std::chrono::minutes(1);

  void Begin() {
    directory_.emplace(files_, place_.directory, [this](const std::string& name) { Look(name); });
    if (polls_) LookAgainLater();
  }

  /// What other nodes write into a shared file system does not show as an event here.
  void LookAgainLater() {
    const auto pause = std::max<std::chrono::milliseconds>(kPollPause, ranks_ * kPollPauseOfRank);
    look_ = loop_.After(pause, [this] {
      LookAtAll();
      LookAgainLater();
    });
  }

  void LookAtAll() {
    Look("metrics.jsonl");
    for (int rank = 0; rank < ranks_; ++rank) Look(fmt::format("rank-{:05}.log", rank));
  }

  void Look(const std::string& name) {
    const auto found = followers_.find(name);
    if (found != followers_.end()) return Read(name, found->second);
    if (name == "metrics.jsonl" && !pattern_) {
      Follow(name, [this, reader = MetricsReader()](std::string_view line) mutable {
        if (const auto metrics = reader.Read(line)) observer_.OnMetrics(*metrics);
      });
    } else if (const auto rank = RankOfLog(name); rank && (lines_ == LogLines::kFollow || (pattern_ && *rank == 0))) {
      Follow(name, [this, rank = *rank](std::string_view line) { TakeLine(rank, line); });
    }
  }

  void Follow(const std::string& name, std::function<void(std::string_view)> callback) {
    const auto [at, is_new] = followers_.try_emplace(name, place_.directory / name, std::move(callback));
    Read(name, at->second);
  }

  void Read(const std::string& name, LineFollower& follower) {
    follower.Poll();
    if (!pattern_ || RankOfLog(name) != 0) return;
    const auto before = pattern_->tally().lines;
    auto found = pattern_->TakeUnfinished(follower.unfinished());
    if (pattern_->tally().lines > before) TakeMatches(std::move(found));
  }

  void TakeLine(int rank, std::string_view line) {
    if (lines_ == LogLines::kFollow) observer_.OnLine(rank, line);
    if (pattern_ && rank == 0) TakeMatches(pattern_->Take(line));
  }

  void TakeMatches(std::vector<MetricsLine> found) {
    for (auto& metrics : found) {
      metrics.time = UnixSeconds(SystemClock().Now());
      Keep(metrics);
      observer_.OnMetrics(metrics);
    }
    if (SeemsWrong() && !std::exchange(has_warned_, true)) {
      observer_.OnUnmatched(WhatIsWrong(pattern_->tally()));
    }
  }

  /// In metrics.jsonl too, so that the run folder tells all. On a full disk the log is all that there is.
  void Keep(const MetricsLine& metrics) const try {
    const auto file = OpenFile(place_.metrics(), O_WRONLY | O_APPEND | O_CREAT);
    WriteAll(file.get(), FormatMetricsLine(metrics, *metrics.time), place_.metrics());
  } catch (const SystemError& error) {
    if (!MeansDiskFull(error.code())) throw;
  }

  /// Programs say much before their first metric; a line that matches without a number is seldom one of these.
  bool SeemsWrong() {
    const auto& tally = pattern_->tally();
    const auto now = SystemClock().Steady();
    if (!first_line_) first_line_ = now;
    if (tally.matched > 0) return tally.read == 0 && tally.matched >= kMatchesWithoutNumber;
    const bool has_waited = now - *first_line_ >= kWaitForMatch && tally.lines >= kFewLines;
    return has_waited || tally.lines >= kManyLines;
  }

  EventLoop& loop_;
  DirectoryWatcher& files_;
  AttemptObserver& observer_;
  AttemptPlace place_;
  LogLines lines_;
  int ranks_ = 1;
  bool polls_ = false;
  std::optional<EventLoop::TimerId> begin_;
  std::optional<EventLoop::TimerId> look_;
  std::optional<PatternMetrics> pattern_;
  std::optional<SteadyTime> first_line_;
  bool has_warned_ = false;  // that the pattern finds nothing
  std::map<std::string, LineFollower> followers_;
  std::optional<DirectoryWatch> directory_;
};

Attempt::Attempt(EventLoop& loop, DirectoryWatcher& files, AttemptRequest request, AttemptObserver& observer)
    : loop_(loop), observer_(observer), place_(request.place), kills_before_(OutOfMemoryKillsLately()) {
  const auto& spec = request.plan.spec();
  signal_ = spec.checkpoint.signal;
  gets_time_to_save_ = spec.gets_time_to_save();
  MakeDirectories(place_.directory);
  MakeDirectories(place_.checkpoints);
  MakeDirectories(place_.outputs);
  MakeWorkdir(request.plan, place_, request.share.terms);
  watch_ = std::make_unique<Watch>(loop, files, request, observer);
  auto launch = MakeLaunch(request);
  launch.warned = [this](const std::string& what) { observer_.OnWarning(what); };
  if (IsOnNodes(request)) WatchNodes(request, launch);
  launch.failed = [this](const std::string& what) {
    LookForWatchReport();  // a rank that the watch has ended: its report is there before the rank's end
    if (!watch_report_ && stop_reason_.empty()) observer_.OnFailure(what);
  };
  ranks_ = StartRanks(loop, std::move(launch), [this](const GroupOutcome& outcome) { End(outcome); });
}

Attempt::~Attempt() {
  if (stop_timer_) loop_.Cancel(*stop_timer_);
}

RankLaunch Attempt::MakeLaunch(const AttemptRequest& request) {
  const auto& spec = request.plan.spec();
  RankLaunch launch;
  launch.ranks = spec.launch.ranks();
  const Json parameters = WithSeedOfRepeat(spec.train, request.parameters, request.share.terms.repeat);
  launch.command = RankCommand(request.plan, request.data, place_, parameters, request.share.terms);
  launch.mpi = request.plan.mpi;
  launch.environment = Environment::Inherited();
  LeaveOuterProgram(launch.environment);
  if (spec.launch.gpus_per_rank > 0) RequestGpusOfNodes(launch.environment);
  if (request.where.nodes != nullptr) LeaveThisNode(launch.mpi, launch.environment);
  launch.environment.Unset(runtime::kMonitorVariable);  // of a run that this one may be inside
  for (const auto& [name, value] : VariablesFor(request.plan, request.data, place_, parameters, request.share.terms)) {
    launch.environment.Set(name, value);
  }
  launch.environment.Set("MASTER_PORT", std::to_string(FreePort()));
  launch.working_directory = WorkdirOf(request.plan, place_, request.share.terms);
  launch.log_directory = place_.directory;
  launch.cores = request.share.cores;
  launch.supervisor = request.share.supervisor;
  if (IsOnNodes(request)) {
    PlaceOnNodes(*request.where.nodes, request.where.on, spec, launch);
    for (const auto& host : launch.hosts) launch.variables_on[host.node] = VariablesOfNode(request.data, host.node);
  }
  if (request.where.nodes == nullptr && launch.ranks > 1 && launch.mpi.BySrun()) PlaceOnThisNode(spec, launch);
  if (launch.ranks > 1) Bind(request, launch);
  // A container has another linker, and need not see where Slipway lies.
  if (launch.ranks > 1 && !request.plan.container) launch.variables_of_ranks = VariablesOfMpiCheck(launch.environment);
  GiveDevices(request, launch);
  return launch;
}

void Attempt::Bind(const AttemptRequest& request, RankLaunch& launch) {
  auto binding = BindRanks(request.plan.spec().launch.bind, request.plan.engine == "slurm", HostsOf(request, launch));
  launch.bind_to = std::move(binding.cores_of);
  if (!binding.why_not.empty() && !request.share.is_part) observer_.OnWarning(binding.why_not);
}

/// A lone rank has its own from the start; of several each shim hears of them.
void Attempt::GiveDevices(const AttemptRequest& request, RankLaunch& launch) {
  auto sharing = ShareDevices(request.plan.spec(), DeviceHostsOf(request, launch));
  if (!sharing.why_not.empty()) observer_.OnWarning(sharing.why_not);
  if (launch.ranks > 1) {
    launch.devices_of = std::move(sharing.devices_of);
    return;
  }
  for (const auto& [node, ranks] : sharing.devices_of) {
    for (const auto& [name, value] : ranks.front()) launch.environment.Set(name, value);
  }
}

/// Starts the stall watch over all nodes. It reports to the ranks, which then end by themselves. It reports here too,
/// in case they do not.
void Attempt::WatchNodes(const AttemptRequest& request, RankLaunch& launch) {
  auto& nodes = *request.where.nodes;
  const auto path = nodes.NewMonitorPath();
  launch.environment.Set(runtime::kMonitorVariable, path.native());
  std::vector<WatchedNode> watched;
  for (const auto& host : launch.hosts) {
    watched.push_back({nodes.OpenMonitor(host.node, path), host.name, host.ranks,
                       [&nodes, node = host.node] { nodes.GiveUpIfHeld(node); }});
  }
  nodes_watch_ = std::make_unique<StallWatch>(loop_, std::move(watched), [this](const Json& report) {
    PublishWatchReport(place_.directory, report);
    LookForWatchReport();
  });
}

void Attempt::LookForWatchReport() {
  if (watch_report_) return;
  watch_report_ = FindWatchReport(place_.directory);
  if (watch_report_) observer_.OnWatch(*watch_report_);
}

ProcessIdentity Attempt::identity() const { return ranks_->leader(); }

void Attempt::Release() {
  Take(AttemptEvent::kRelease);
  ranks_->Release();
}

Seconds LongestStop(const Spec& spec) {
  const Seconds to_save = spec.gets_time_to_save() ? Seconds(kRanksStopPatience) : Seconds(0);
  return to_save + Seconds(RankLaunch().grace);
}

void Attempt::Stop(std::string_view reason, Seconds least) {
  if (stage_ > AttemptStage::kRunning) return;
  Take(AttemptEvent::kStop);
  stop_reason_ = reason;
  const auto wanted = std::chrono::duration_cast<std::chrono::nanoseconds>(least);
  const auto patience =
      gets_time_to_save_ ? std::max<std::chrono::nanoseconds>(kRanksStopPatience, wanted) : std::chrono::nanoseconds(0);
  const auto deadline = SystemClock().Now() + std::chrono::duration_cast<WallTime::duration>(patience);
  const Json order{{"reason", reason}, {"deadline", FormatUtc(deadline)}};
  try {
    WriteFileAtomically(place_.stop_file(), order.dump() + "\n");
  } catch (const SystemError& error) {
    if (!MeansDiskFull(error.code())) throw;
    observer_.OnWarning(
        fmt::format("the stop file cannot be written, so signals alone end the ranks: {}", error.message()));
  }
  if (gets_time_to_save_) ranks_->ExpectEnd();
  if (signal_ != StopSignal::kNone) ranks_->Signal(NumberOf(signal_));
  stop_timer_ = loop_.After(patience, [this] {
    stop_timer_.reset();
    Take(AttemptEvent::kPatienceOver);
    ranks_->Stop();
  });
}

void Attempt::Kill() {
  if (stop_timer_) loop_.Cancel(*std::exchange(stop_timer_, std::nullopt));
  Take(AttemptEvent::kKill);
  ranks_->Stop();
  ranks_->Signal(SIGKILL);
}

void Attempt::End(const GroupOutcome& outcome) {
  Take(AttemptEvent::kEnded);
  watch_->Finish();
  LookForWatchReport();
  AttemptEnd end{outcome, CauseOf(outcome)};
  if (outcome.status.Success()) {
    end.unmatched = watch_->WhatIsUnmatched();
  } else {
    Explain(end.outcome);
  }
  observer_.OnEnd(end);
}

/// A rank that SIGKILL ended while the kernel counted a kill for want of memory was, most probably, that kill.
ensemble::OutsideCause Attempt::CauseOf(const GroupOutcome& outcome) const {
  using ensemble::OutsideCause;
  if (outcome.lost_node) return OutsideCause::kNodeLost;
  if (outcome.status.signal == SIGKILL && OutOfMemoryKills() > kills_before_) return OutsideCause::kOutOfMemory;
  return outcome.started ? OutsideCause::kNone : OutsideCause::kNotStarted;
}

/// Adds what the runtime's watch says, and the last lines of the log of the rank that failed first.
void Attempt::Explain(GroupOutcome& outcome) const {
  if (watch_report_ && watch_report_->report) {
    outcome.detail = watch_report_->report->message + "\n" + outcome.detail;
  }
  if (!outcome.culprit) return;
  const auto log = place_.directory / fmt::format("rank-{:05}.log", *outcome.culprit);
  const auto tail = ShownLastLines(log, kDetailLines);
  if (!tail.empty()) outcome.detail += fmt::format("\nlast lines of {}:\n{}", log.string(), tail);
  outcome.last_line = tail.substr(tail.rfind('\n') + 1);
}

}  // namespace slipway::launcher
