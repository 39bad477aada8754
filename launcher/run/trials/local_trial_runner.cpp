#include "launcher/run/trials/local_trial_runner.h"

#include <fmt/format.h>
#include <signal.h>

#include <nlohmann/json.hpp>

#include "core/clock.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "launcher/attempt/allocation.h"
#include "launcher/plan/workdir.h"
#include "launcher/ranks/nodes/supervisor_on_node.h"
#include "launcher/run/ending/save_time.h"
#include "launcher/run/ending/time_limit_watch.h"
#include "launcher/run/results/adopt_checkpoint.h"
#include "launcher/run/results/stage_out_queue.h"
#include "launcher/run_folder/attempt_files.h"
#include "launcher/run_folder/orphan.h"

namespace slipway::launcher {

using ensemble::MetricRecord;
using ensemble::StopAsked;
using ensemble::TrialEnded;
using ensemble::TrialEvent;
using ensemble::TrialNumber;
using ensemble::TrialStart;

/// One running trial: its job, and the observer that turns what happens into events.
class LocalTrialRunner::Running final : public AttemptObserver {
 public:
  Running(LocalTrialRunner& runner, const TrialStart& start, AttemptPlace place)
      : runner_(runner),
        context_(runner.context_),
        events_(runner.events_),
        trial_(start.trial),
        attempt_(start.attempt),
        run_(context_.loop, context_.files,
             {context_.plan, std::move(place), context_.data, start.parameters, LogLines::kLeave, runner.ShareOf(start),
              runner.WhereIs(start.place)},
             *this) {}

  Attempt& attempt() { return run_; }
  bool ended() const { return ended_; }

  void OnLine(int, std::string_view) override {}

  void OnMetrics(const MetricsLine& line) override {
    for (const auto& [name, value] : line.values) {
      events_.push_back(MetricRecord{trial_, attempt_, name, line.step, line.epoch, value, line.time});
    }
  }

  void OnWatch(const WatchFinding& finding) override {
    context_.RecordWatch(finding, Json{{"trial", trial_}, {"attempt", attempt_}});
  }

  void OnFailure(std::string_view) override {}
  void OnWarning(std::string_view) override {}

  void OnUnmatched(std::string_view what) override { runner_.WarnOfPattern(trial_, what); }

  void OnEnd(const AttemptEnd& end) override {
    ended_ = true;
    const auto& outcome = end.outcome;
    const auto& detail = outcome.status.Success() ? end.unmatched : outcome.detail;
    events_.push_back(
        TrialEnded{trial_, attempt_, outcome.status, detail, end.cause, {}, outcome.culprit, outcome.last_line});
  }

 private:
  LocalTrialRunner& runner_;
  RunContext& context_;
  std::vector<TrialEvent>& events_;
  TrialNumber trial_;
  int attempt_;
  bool ended_ = false;
  Attempt run_;
};

namespace {

std::chrono::milliseconds StartPatienceOf(const Plan& plan) {
  return std::chrono::ceil<std::chrono::milliseconds>(plan.spec().site.patience.start);
}

TrialTerms TermsOf(const TrialStart& start) { return {start.trial, start.repeat, start.limit}; }

/// Why an attempt failed whose end no manager observed.
std::string DetailOf(const ExitStatus& end, const std::filesystem::path& attempt) {
  const auto watch = FindWatchReport(attempt);
  return watch && watch->report ? watch->report->message + "\n" + end.Describe() : end.Describe();
}

}  // namespace

LocalTrialRunner::LocalTrialRunner(RunContext& context, bool cores_are_shared, TrialLogs& logs)
    : context_(context), cores_are_shared_(cores_are_shared), logs_(logs) {
  if (context_.allocation == nullptr) {
    nodes_[""] = {std::make_unique<Supervisor>(context_.loop, SupervisorHere(), StartPatienceOf(context_.plan))};
    if (context_.plan.spec().launch.gpus_per_rank > 0) nodes_[""].devices = DevicesOfThisNode();
  } else {
    AddNodes(context_.allocation->nodes());
  }
  context_.interrupt.OnAsk([this] { OnInterrupt(); });
  if (context_.interrupt.asked()) OnInterrupt();
  end_of_job_ = WatchEndOfJob(context_, [this] { return LookForSlowestCheckpoint(); });
}

LocalTrialRunner::~LocalTrialRunner() { context_.interrupt.OnAsk(nullptr); }

void LocalTrialRunner::OnInterrupt() {
  context_.SayWhatStops(Counted(running_.size(), "trial"));
  events_.push_back(StopAsked{});
  const bool by_time_limit = context_.interrupt.cause() == InterruptCause::kTimeLimit;
  if (by_time_limit && !left_in_job_) left_in_job_ = TimeLeftInJob(context_);
  if (!context_.interrupt.forced()) return;
  for (const auto& [trial, running] : running_) {
    const bool is_told = !running->attempt().stop_reason().empty();  // those that are not will be, and killed then
    if (is_told) running->attempt().Kill();
  }
}

void LocalTrialRunner::AddNodes(Nodes& nodes) {
  for (int node = 0; node < nodes.count(); ++node) {
    const auto facts = nodes.FactsOf(node);
    auto supervisor =
        std::make_unique<Supervisor>(context_.loop, SupervisorOn(nodes, node), StartPatienceOf(context_.plan));
    nodes_[facts.name] = {std::move(supervisor), node, facts.own_cores, /*lost=*/false, facts.devices};
  }
}

const LocalTrialRunner::Node& LocalTrialRunner::NodeOf(const ensemble::AllocatedNode& share) const {
  return nodes_.at(context_.allocation == nullptr ? "" : share.node);
}

/// Empty for those that are not bound: they share, with each other or with jobs of others.
std::vector<int> LocalTrialRunner::CoresOf(const ensemble::AllocatedNode& share) const {
  return cores_are_shared_ || !NodeOf(share).own_cores ? std::vector<int>{} : share.cores;
}

/// Those that ask for none see all of their node.
NodeDevices LocalTrialRunner::DevicesOf(const ensemble::AllocatedNode& share) const {
  const auto& devices = NodeOf(share).devices;
  return context_.plan.spec().launch.gpus_per_rank > 0 ? devices.Called(share.gpus) : devices;
}

TrialShare LocalTrialRunner::ShareOf(const TrialStart& start) const {
  TrialShare share{TermsOf(start), true};
  share.supervisor = SupervisorFor(start.place);
  if (start.place.empty()) return share;
  share.cores = CoresOf(start.place.front());
  share.devices = DevicesOf(start.place.front());
  return share;
}

Supervisor* LocalTrialRunner::SupervisorFor(const std::vector<ensemble::AllocatedNode>& place) const {
  return NodeOf(place.empty() ? ensemble::AllocatedNode{} : place.front()).supervisor.get();
}

NodesOfAttempt LocalTrialRunner::WhereIs(const std::vector<ensemble::AllocatedNode>& place) const {
  if (context_.allocation == nullptr) return {};
  NodesOfAttempt where{&context_.allocation->nodes()};
  for (const auto& share : place) {
    where.on.push_back(nodes_.at(share.node).number);
    where.cores.push_back(CoresOf(share));
    where.devices.push_back(DevicesOf(share));
  }
  return where;
}

void LocalTrialRunner::LookForLostNodes() {
  if (context_.allocation == nullptr) return;
  for (auto& [name, node] : nodes_) {
    if (node.lost) continue;
    const auto trouble = context_.allocation->nodes().TroubleOf(node.number);
    if (trouble.empty()) continue;
    node.lost = true;
    context_.output.Warn(trouble + "; its trials run again elsewhere");
    context_.Note("node_lost", Json{{"reason", trouble}});
    events_.push_back(ensemble::NodeLost{name});
  }
}

std::optional<Seconds> LocalTrialRunner::LookForSlowestCheckpoint() {
  std::vector<TrialNumber> running;
  for (const auto& [trial, attempt] : running_) running.push_back(trial);
  return slowest_.Look(running, [this](TrialNumber trial) { return running_.at(trial)->attempt().place(); });
}

std::filesystem::path LocalTrialRunner::FolderOf(TrialNumber trial) const {
  return context_.folder.trials() / fmt::format("{:05}", trial);
}

/// The supervisor of its node, for a single rank.
std::optional<ProcessIdentity> LocalTrialRunner::SupervisorIdentity(
    const std::vector<ensemble::AllocatedNode>& place) try {
  if (context_.plan.spec().launch.ranks() != 1) return std::nullopt;
  return SupervisorFor(place)->SupervisorIdentity();
} catch (const Error&) {
  return std::nullopt;  // Prepare says why
}

ProcessIdentity LocalTrialRunner::Prepare(const TrialStart& start) {
  return WithContext(fmt::format("while starting trial {}", start.trial), [&] {
    MakeDirectories(FolderOf(start.trial));
    auto place = PlaceOfAttempt(FolderOf(start.trial), start.attempt, context_.stage_out_queue);
    const auto newest = start.attempt > 1 ? NewestCheckpointOf(place) : std::nullopt;
    RequireOwnVersions(place, newest);
    if (newest) {
      place.resume_from = newest->directory;
    } else if (start.parent) {
      const auto parent = PlaceOfAttempt(FolderOf(*start.parent), 1, context_.stage_out_queue);
      place.resume_from = AdoptNewestCheckpoint(parent, place.checkpoints);
      if (place.resume_from.empty()) WarnOfNoWeights(start.trial, *start.parent);
    }
    const Json plan{{"schema", "slipway.trial_plan/1"},
                    {"trial", start.trial},
                    {"parameters", start.parameters},
                    {"command", ProgramCommand(context_.plan, context_.data, place, start.parameters, TermsOf(start))}};
    WriteFile(place.run / "plan.json", plan.dump(2) + "\n");
    logs_.Prepare(start, place.run);
    auto running = std::make_unique<Running>(*this, start, std::move(place));
    const auto identity = running->attempt().identity();
    running_[start.trial] = std::move(running);
    return identity;
  });
}

void LocalTrialRunner::Release(TrialNumber trial) {
  logs_.Release(trial);
  running_.at(trial)->attempt().Release();
}

void LocalTrialRunner::Stop(TrialNumber trial, ensemble::StopReason reason) {
  if (const auto found = running_.find(trial); found != running_.end()) {
    using ensemble::StopReason;
    auto& running = found->second->attempt();
    const bool of_batch_job = reason == StopReason::kCancelled && context_.interrupt.asked() &&
                              context_.interrupt.cause() == InterruptCause::kTimeLimit;
    if (reason == StopReason::kTimeLimit || reason == StopReason::kTrialTimeLimit || of_batch_job) {
      const auto left = of_batch_job ? left_in_job_ : std::nullopt;
      running.Stop(WordOf(StopReason::kTimeLimit), TimeAtLimit(context_.plan, running.place(), left));
    } else {
      running.Stop(WordOf(reason));
    }
    if (context_.interrupt.forced()) running.Kill();
  }
}

void LocalTrialRunner::EndOrphan(const ProcessIdentity& identity) { EndOrphanedRanks(identity, context_.output); }

std::vector<TrialEvent> LocalTrialRunner::Recover(TrialNumber trial, int attempt) {
  const auto directory = PlaceOfAttempt(FolderOf(trial), attempt).directory;
  const auto& spec = context_.plan.spec();
  std::vector<TrialEvent> events;
  for (const auto& line : ReadMetrics(directory, spec.train.metrics)) {
    for (const auto& [name, value] : line.values) {
      events.push_back(MetricRecord{trial, attempt, name, line.step, line.epoch, value, line.time});
    }
  }
  if (const auto end = ReadEnd(directory, spec.launch.ranks())) {
    TrialEnded ended{trial, attempt, *end, end->Success() ? "" : DetailOf(*end, directory)};
    if (const auto time = TimeOfEnd(directory, spec.launch.ranks())) ended.time = UnixSeconds(*time);
    if (EndedOnFullDisk(directory, spec.launch.ranks())) ended.cause = ensemble::OutsideCause::kDiskFull;
    events.push_back(std::move(ended));
  }
  return events;
}

/// Trials differ in their parameters, seldom in what they print: one of them stands for all.
void LocalTrialRunner::WarnOfPattern(TrialNumber trial, std::string_view what) {
  if (!std::exchange(has_warned_of_pattern_, true)) context_.output.Warn(fmt::format("trial {}: {}", trial, what));
}

/// All trials run the same program: it writes checkpoints in each, or in none.
void LocalTrialRunner::WarnOfNoWeights(TrialNumber trial, TrialNumber parent) {
  if (!std::exchange(has_warned_of_no_weights_, true)) context_.output.Warn(NothingAdopted(trial, parent));
}

std::string LocalTrialRunner::WhyNoDiskSpace(ensemble::DiskSpaceCheck check) { return context_.WhyNoDiskSpace(check); }

std::vector<TrialEvent> LocalTrialRunner::Wait(std::chrono::nanoseconds limit) {
  if (events_.empty()) context_.loop.RunOnce(limit);
  LookForLostNodes();
  std::erase_if(running_, [this](const auto& entry) {
    if (entry.second->ended() && context_.stage_out_queue != nullptr)
      context_.stage_out_queue->Close(FolderOf(entry.first));
    return entry.second->ended();
  });
  return std::exchange(events_, {});
}

}  // namespace slipway::launcher
