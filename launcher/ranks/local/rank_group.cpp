#include "launcher/ranks/local/rank_group.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "core/error.h"
#include "core/files.h"
#include "core/install.h"
#include "core/log.h"
#include "core/shell.h"
#include "launcher/ranks/local/bound_to_cores.h"
#include "launcher/ranks/local/core_shares.h"
#include "launcher/ranks/local/socket_pair.h"
#include "launcher/ranks/monitor/exit_record.h"
#include "launcher/ranks/monitor/log_tail.h"
#include "launcher/ranks/shim/protocol.h"

namespace slipway::launcher {
namespace {

constexpr int kChannelInChild = 3;
/// How often a start that has not come to its end is looked at.
constexpr auto kStartBeat = std::chrono::milliseconds(500);
/// Open MPI explains in 25 lines why it ended a job.
constexpr std::size_t kLauncherLines = 30;
/// How long the last words of shims on other nodes may take after mpirun has ended.
constexpr auto kLastWordsPatience = std::chrono::seconds(3);

std::vector<std::string> ShimCommand(const RankLaunch& launch, const std::string& channel) {
  std::vector<std::string> words{HelperProgram("slipway-rank"),
                                 "--log-dir",
                                 launch.log_directory,
                                 launch.ranks == 1 ? "--channel-fd" : "--channel-path",
                                 channel,
                                 "--grace-ms",
                                 std::to_string(launch.grace.count())};
  if (launch.mpi.BySrun()) words.insert(words.end(), {"--own-status", "1"});
  words.push_back("--");
  words.insert(words.end(), launch.command.begin(), launch.command.end());
  return words;
}

}  // namespace

std::vector<std::string> LocalCommandLine(const RankLaunch& launch, const std::string& channel) {
  std::vector<std::string> words;
  if (launch.ranks > 1) {
    const auto cores = launch.cores.empty() ? UsableCores().size() : launch.cores.size();
    words = StartWords(launch.mpi, {.ranks = launch.ranks,
                                    .cores = static_cast<int>(cores),
                                    .root = ::geteuid() == 0,
                                    .hosts = launch.hosts,
                                    .tasks_per_node = launch.environment.Get("SLURM_TASKS_PER_NODE").value_or("")});
  }
  const auto shim =
      ShimCommand(launch, launch.ranks == 1 && channel.front() != '<' ? std::to_string(kChannelInChild) : channel);
  words.insert(words.end(), shim.begin(), shim.end());
  return words;
}

/// The connection to one shim, and what it has said.
struct RankGroup::Channel {
  UniqueFd fd;
  LineBuffer unread;
  bool said_hello = false;
  RankOutcome outcome;
  pid_t group = 0;  ///< of the running program; 0 before and after

  bool Send(const std::string& words) const {
    const auto line = words + "\n";
    return ::send(fd.get(), line.data(), line.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(line.size());
  }
};

RankGroup::RankGroup(EventLoop& loop, RankLaunch launch, std::function<void(const GroupOutcome&)> ended)
    : loop_(loop), launch_(std::move(launch)), ended_(std::move(ended)), registration_(launch_.mpi, launch_.ranks) {
  LeaveMpiJob(launch_.environment);
  if (launch_.ranks == 1) {
    StartAlone();
  } else {
    StartWithMpirun();
  }
  leader_ = IdentityOf(child_->pid());
  loop_.OnReadable(child_->pidfd(), [this] { LeaderEnded(); });
}

RankGroup::~RankGroup() {
  if (kill_timer_) loop_.Cancel(*kill_timer_);
  if (start_timer_) loop_.Cancel(*start_timer_);
  if (last_words_) loop_.Cancel(*last_words_);
  if (child_) loop_.Forget(child_->pidfd());
  KillAll();
  for (auto& channel : channels_) {
    if (channel->fd) loop_.Forget(channel->fd.get());
  }
}

void RankGroup::StartAlone() {
  auto pair = MakeSocketPair();
  Spawn(std::to_string(kChannelInChild), {{pair.theirs.get(), kChannelInChild}});
  AddChannel(std::move(pair.ours), 0);
  Take(GroupEvent::kComplete);  // a lone shim is our own child and need not be waited for
}

void RankGroup::StartWithMpirun() {
  const auto open = launch_.shim_listener ? launch_.shim_listener : OpenLocalShimListener;
  shim_listener_ = open(loop_, [this](UniqueFd socket, int node) { AddChannel(std::move(socket), node); });
  Spawn(shim_listener_->path(), {});
  start_timer_ = loop_.After(kStartBeat, [this] { AwaitStart(); });
}

void RankGroup::Spawn(const std::string& channel, std::vector<std::pair<int, int>> inherited) {
  const auto log = OpenFile(LauncherLog(), O_WRONLY | O_CREAT | O_APPEND);
  SpawnOptions options;
  options.argv = LocalCommandLine(launch_, channel);
  options.environment = launch_.environment;
  options.working_directory = launch_.working_directory;
  options.stdout_fd = log.get();
  options.stderr_fd = log.get();
  options.inherited = std::move(inherited);
  const BoundToCores bound(launch_.cores);  // children inherit it, and mpirun's own children in turn
  child_ = std::make_unique<ChildProcess>(ChildProcess::Spawn(options));
}

/// Who comes when all are there is none of them.
void RankGroup::AddChannel(UniqueFd fd, int node) {
  if (registration_.Complete()) return;
  auto channel = std::make_unique<Channel>();
  channel->fd = std::move(fd);
  channel->outcome.node = node;
  auto* raw = channel.get();
  loop_.OnReadable(raw->fd.get(), [this, raw] { Receive(*raw); });
  channels_.push_back(std::move(channel));
}

void RankGroup::Receive(Channel& channel) {
  char buffer[512];
  const ssize_t count = ::recv(channel.fd.get(), buffer, sizeof buffer, MSG_DONTWAIT);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count <= 0) return ReceiveEnd(channel);
  channel.unread.Add({buffer, static_cast<std::size_t>(count)});
  for (std::string_view line; channel.unread.Next(line);) TakeLine(channel, line);
}

/// A shim's last line reports how its rank ended. Without it the shim was killed, or its node is lost. Then mpirun may
/// wait forever: it is ended once no shim is connected.
void RankGroup::ReceiveEnd(Channel& channel) {
  loop_.Forget(channel.fd.get());
  channel.fd.Reset();
  auto& rank = channel.outcome;
  if (state_.began && shim_listener_ && !rank.status && rank.start_error == 0) {
    rank.node_trouble = shim_listener_->TroubleOf(rank.node);
    NoteFailure(channel);
  }
  if (NodeIsLost() && Silent()) KillAll();
  if (last_words_) ConcludeIfSilent();
}

/// What is no word of the protocol changes nothing: a shim that says no more is taken for one that was killed.
void RankGroup::TakeLine(Channel& channel, std::string_view line) {
  log::Debug("shim of rank {} says: {}", channel.outcome.rank, line);
  LineWords words(line);
  const auto word = words.Word();
  if (word == shim::kHello) return TakeHello(channel, words);
  const auto first = words.Take<int>();
  const auto second = word == shim::kFailed || word == shim::kAsked ? 0 : words.Take<int>();
  if (!words.AtEnd()) return log::Warn("'{}' is no line of a shim", line);
  if (word == shim::kStarted) {
    channel.group = first;
    channel.outcome.pid = first;
    NoteUnbound(channel.outcome, second);
  } else if (word == shim::kFailed) {
    channel.outcome.start_error = first;
    if (first == ENOENT) channel.outcome.interpreter = MissingInterpreter(launch_.command, launch_.working_directory);
    NoteFailure(channel);
  } else if (word == shim::kAsked) {
    channel.outcome.asked = first;
  } else if (word == shim::kExited) {
    channel.group = 0;
    channel.outcome.status = ExitStatus{first, second};
    const bool as_asked = expects_end_ && *channel.outcome.status == ExitStatus{kRequeueStatus, 0};
    if (!channel.outcome.status->Success() && !as_asked) NoteFailure(channel);
  }
}

/// It runs all the same, wherever the system puts it. The first speaks for all.
void RankGroup::NoteUnbound(const RankOutcome& rank, int error) {
  if (error == 0 || !launch_.warned || std::exchange(warned_unbound_, true)) return;
  launch_.warned(
      fmt::format("rank {} on {} could not be bound to its cores: {}", rank.rank, rank.host, std::strerror(error)));
}

void RankGroup::TakeHello(Channel& channel, LineWords& words) {
  const auto rank = words.Take<int>();
  const auto size = words.Take<int>();
  words.Take<int>();  // its process
  const auto host = words.Word();
  if (!words.AtEnd() || channel.said_hello) return;
  channel.said_hello = true;
  channel.outcome.rank = rank;
  channel.outcome.host = host;
  if (auto trouble = registration_.Take(rank, size); !trouble.empty()) return GiveUpStart(std::move(trouble));
  if (registration_.Complete()) Take(GroupEvent::kComplete);
}

void RankGroup::AwaitStart() {
  start_timer_.reset();
  if (state_.stage != GroupStage::kGathering && state_.stage != GroupStage::kReleased) return;
  started_for_ += kStartBeat;
  if (auto trouble = TroubleOfHosts(); !trouble.empty()) return GiveUpStart(std::move(trouble));
  if (launch_.start_patience.count() > 0 && started_for_ >= launch_.start_patience) {
    return GiveUpStart(fmt::format("only {} of {} ranks came within {} s (site.patience.start) of the start by {}",
                                   registration_.present(), launch_.ranks, launch_.start_patience.count() / 1000,
                                   launch_.mpi.Way()));
  }
  start_timer_ = loop_.After(kStartBeat, [this] { AwaitStart(); });
}

std::string RankGroup::TroubleOfHosts() const {
  for (const auto& host : launch_.hosts) {
    if (auto trouble = shim_listener_->TroubleOf(host.node); !trouble.empty()) return trouble;
  }
  return {};
}

void RankGroup::GiveUpStart(std::string trouble) {
  if (trouble_.empty()) trouble_ = std::move(trouble);
  Take(GroupEvent::kCannotStart);
}

/// The first failure ends the others: they could only wait for the one that is gone.
void RankGroup::NoteFailure(Channel& channel) {
  if (state_.cause != GroupEndCause::kNone) return;
  channel.outcome.ended_first = true;
  Take(GroupEvent::kFail);
  if (launch_.ranks == 1 || !launch_.failed) return;
  std::vector<RankOutcome> ranks;
  for (const auto& each : channels_) ranks.push_back(each->outcome);
  const auto* left = LeftEarly(ranks, channel.outcome, ExitStatus());
  launch_.failed(left != nullptr ? DescribeLeft(left->rank, left->host)
                                 : Describe(channel.outcome, launch_.command.front()));
}

void RankGroup::Release() { Take(GroupEvent::kRelease); }

void RankGroup::Take(GroupEvent event) {
  const auto before = std::exchange(state_, Next(state_, event));
  if (state_.began && !before.began) OpenGate();
  if (state_.cause != GroupEndCause::kNone && before.cause == GroupEndCause::kNone) EndAll();
}

/// Several shims must all be there, so that none runs without the others.
void RankGroup::OpenGate() {
  std::vector<PlacedRank> ranks;
  for (const auto& channel : channels_) ranks.push_back({channel->outcome.rank, channel->outcome.node});
  const auto cores = CoreListsOf(ranks, launch_.bind_to);
  const auto places = PlacesOnNodes(ranks);
  for (std::size_t i = 0; i < channels_.size(); ++i) {
    TellVariables(*channels_[i], places[i].at);
    channels_[i]->Send(cores[i].empty() ? shim::kGo : fmt::format("{} {}", shim::kGo, cores[i]));
  }
}

void RankGroup::TellVariables(const Channel& channel, int place_on_node) const {
  const auto tell = [&](const auto& variables) {
    for (const auto& [name, value] : variables) channel.Send(fmt::format("{} {} {}", shim::kSet, name, value));
  };
  tell(launch_.variables_of_ranks);
  const auto of_node = launch_.variables_on.find(channel.outcome.node);
  if (of_node != launch_.variables_on.end()) tell(of_node->second);
  const auto devices = launch_.devices_of.find(channel.outcome.node);
  const auto at = static_cast<std::size_t>(place_on_node);
  if (devices != launch_.devices_of.end() && at < devices->second.size()) tell(devices->second[at]);
}

void RankGroup::Signal(int number) {
  if (!state_.began) return;
  for (const auto& channel : channels_) {
    if (channel->fd) channel->Send(fmt::format("{} {}", shim::kSignal, number));
  }
}

void RankGroup::Stop() { Take(GroupEvent::kStop); }

void RankGroup::EndAll() {
  for (const auto& channel : channels_) {
    if (channel->fd) channel->Send(shim::kStop);
  }
  if (!registration_.Complete()) child_->Signal(SIGTERM);  // some shims have no channel yet
  // The shims end their programs within the grace time; this is for shims that are stuck themselves.
  kill_timer_ = loop_.After(launch_.grace + std::chrono::seconds(1), [this] { KillAll(); });
}

void RankGroup::KillAll() {
  if (!child_ || child_->TryWait()) return;
  for (const auto& channel : channels_) KillGroupOf(*channel);
  child_->Signal(SIGKILL);
}

void RankGroup::KillGroupOf(const Channel& channel) const {
  if (channel.group <= 0) return;
  if (shim_listener_) return shim_listener_->KillGroup(channel.outcome.node, channel.group);
  ::kill(-channel.group, SIGKILL);
}

void RankGroup::LeaderEnded() {
  leader_status_ = child_->TryWait();
  if (!leader_status_) return;
  loop_.Forget(child_->pidfd());
  Take(GroupEvent::kLeaderEnded);
  if (kill_timer_) loop_.Cancel(*std::exchange(kill_timer_, {}));
  for (auto& channel : channels_) {  // the last words may still be unread
    for (int i = 0; i < 2 && channel->fd; ++i) Receive(*channel);
  }
  // Words of other nodes may still be on their way.
  if (!launch_.hosts.empty()) last_words_ = loop_.After(kLastWordsPatience, [this] { ConcludeGroup(); });
  ConcludeIfSilent();
}

bool RankGroup::NodeIsLost() const {
  return std::ranges::any_of(channels_, [](const auto& each) { return !each->outcome.node_trouble.empty(); });
}

bool RankGroup::Silent() const {
  return std::ranges::none_of(channels_, [](const auto& each) { return static_cast<bool>(each->fd); });
}

void RankGroup::ConcludeIfSilent() {
  if (state_.stage == GroupStage::kDraining && (Silent() || launch_.hosts.empty())) ConcludeGroup();
}

void RankGroup::ConcludeGroup() {
  Take(GroupEvent::kSilent);
  if (last_words_) loop_.Cancel(*std::exchange(last_words_, {}));
  for (const auto& channel : channels_) KillGroupOf(*channel);  // its shim was killed
  ended_(MakeOutcome(*leader_status_));
}

/// MPICH's mpirun may kill a shim between the end of its program and its last line.
void RankGroup::TakeRecord(RankOutcome& rank) const try {
  if (const auto record = ReadExitRecord(launch_.log_directory, rank.rank)) rank.status = record->status;
} catch (const Error& error) {
  log::Debug("rank {}: {}", rank.rank, error.message());
}

GroupOutcome RankGroup::MakeOutcome(const ExitStatus& launcher) const {
  GroupEnd end;
  for (const auto& channel : channels_) {
    if (!channel->said_hello || !state_.began) continue;
    auto& rank = end.ranks.emplace_back(channel->outcome);
    if (!rank.status && rank.start_error == 0) TakeRecord(rank);
  }
  std::sort(end.ranks.begin(), end.ranks.end(), [](const auto& a, const auto& b) { return a.rank < b.rank; });
  end.expected_ranks = launch_.ranks;
  end.stopped = state_.cause == GroupEndCause::kStop;
  end.started = state_.began;
  end.program = launch_.command.front();
  end.trouble = trouble_;
  end.launcher = launcher;
  auto outcome = Conclude(std::move(end));
  const auto* culprit = CulpritOf(outcome);
  const bool left_early = culprit != nullptr && culprit->status && culprit->status->Success();
  if (!outcome.status.Success() && (culprit == nullptr || left_early)) outcome.detail += LauncherSaid();
  return outcome;
}

/// A lone shim has nothing to say but when it cannot start: that may stand in the rank's own log.
std::filesystem::path RankGroup::LauncherLog() const {
  return launch_.log_directory / (launch_.ranks == 1 ? "rank-00000.log" : "launcher.log");
}

std::string RankGroup::LauncherSaid() const {
  const auto lines = ShownLastLines(LauncherLog(), kLauncherLines);
  return lines.empty() ? ""
                       : fmt::format("\n{} said:\n{}", launch_.ranks == 1 ? "the launcher" : launch_.mpi.Way(), lines);
}

}  // namespace slipway::launcher
