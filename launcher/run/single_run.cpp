#include "launcher/run/single_run.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "core/clock.h"
#include "core/files.h"
#include "core/text.h"
#include "launcher/attempt/allocation.h"
#include "launcher/attempt/attempt.h"
#include "launcher/attempt/nodes_in_use.h"
#include "launcher/attempt/restart_policy.h"
#include "launcher/exports/live_tensorboard.h"
#include "launcher/run/context/instance_log.h"
#include "launcher/run/ending/node_requeues.h"
#include "launcher/run/ending/save_time.h"
#include "launcher/run/ending/time_limit_watch.h"
#include "launcher/run/results/stage_out_queue.h"
#include "launcher/run/trials/trial_order.h"
#include "launcher/run_folder/end_reason.h"

namespace slipway::launcher {
namespace {

class SingleRun final : public AttemptObserver {
 public:
  explicit SingleRun(RunContext& context)
      : context_(context),
        nodes_(context.plan, context.allocation),
        newest_(Newest()),
        steps_at_first_(StepsTo(newest_)),
        restarts_(SettingsOf(context), steps_at_first_) {}

  RunResult CarryOut() {
    end_of_job_ = WatchEndOfJob(context_, [this] { return SlowestCheckpoint(Place()); });
    while (true) {
      RunAttempt();
      newest_ = Newest();
      if (!StartsAgain()) return MakeResult();
      context_.state.reason = IsCutByTimeLimit() ? ReasonFor(AtTimeLimit(), {}) : last_.outcome->detail;
      context_.commit("restarting");
      context_.state.reason = fmt::format("attempt {} ended: {}", context_.state.attempt, context_.state.reason);
      context_.output.Warn(context_.state.reason + "; starting again");
    }
  }

  void OnLine(int rank, std::string_view line) override {
    if (context_.output.mode() != OutputMode::kHuman) return;
    context_.output.Stream(Json{{"rank", rank}, {"line", line}}, ShownLine(rank, line, context_.prefix));
  }

  void OnMetrics(const MetricsLine& line) override {
    last_.reported = true;
    if (line.has_step) steps_ = std::max(steps_, line.step + 1);
    for (const auto& [name, value] : line.values) metrics_[name] = value;
    context_.output.Progress(MetricsText(line));
  }

  void OnWatch(const WatchFinding& finding) override {
    context_.RecordWatch(finding, Json{{"attempt", context_.state.attempt}});
    last_.watched = finding.report;
    if (finding.report) context_.output.Warn(finding.report->message);
  }

  void OnFailure(std::string_view what) override {
    context_.output.Warn(fmt::format("{}; the other ranks are being ended", what));
  }

  void OnWarning(std::string_view what) override {
    if (!warnings_.emplace(what).second) return;  // of an earlier attempt
    context_.output.Warn(std::string(what));
    context_.Note("warning", Json{{"attempt", context_.state.attempt}, {"reason", what}});
  }

  void OnUnmatched(std::string_view what) override { OnWarning(what); }

  void OnEnd(const AttemptEnd& end) override {
    last_.outcome = end.outcome;
    last_.cause = end.cause;
    last_.unmatched = end.unmatched;
    if (!last_.unmatched.empty()) OnWarning(last_.unmatched);
  }

 private:
  /// Nothing before the first.
  using Checkpoint = std::optional<CheckpointInfo>;

  static RestartSettings SettingsOf(const RunContext& context) {
    const auto& spec = context.plan.spec();
    return {.max_restarts = spec.resilience.max_restarts,
            .goes_on_at_time_limit = spec.checkpoint.on_time_limit == OnTimeLimit::kRequeue,
            .is_trial = context.trial != nullptr};
  }

  static std::uint64_t StepsTo(const Checkpoint& checkpoint) { return checkpoint ? checkpoint->step + 1 : 0; }

  AttemptPlace Place() const {
    return PlaceOfAttempt(context_.folder.path(), context_.state.attempt, context_.stage_out_queue);
  }

  bool Progressed() const { return StepsTo(newest_) > steps_at_first_; }

  Checkpoint Newest() const { return NewestCheckpointOf(Place()); }

  AttemptPlace NextPlace() {
    ++context_.state.attempt;
    auto place = Place();
    if (newest_) place.resume_from = newest_->directory;
    return place;
  }

  /// Steps that are lost with a damaged checkpoint are not lost in silence.
  void SayWhereItBegins(const AttemptPlace& place) {
    RequireOwnVersions(place, newest_);
    const auto step = newest_ ? std::optional(newest_->step) : std::nullopt;
    const auto from = newest_ ? fmt::format("step {}", newest_->step) : std::string("the beginning");
    for (const auto& damage : DamagedCheckpoints(place, step)) OnWarning(damage + "; going on from " + from);
    if (newest_) context_.output.Say("continuing from " + place.resume_from.string());
  }

  void RunAttempt() {
    last_ = {};
    const auto place = NextPlace();
    SayWhereItBegins(place);
    AttemptRequest request{nodes_.plan(), place, context_.data, Json::object()};
    request.where = nodes_.where();
    if (context_.trial != nullptr) request.share.terms = context_.trial->terms;
    Attempt attempt(context_.loop, context_.files, std::move(request), *this);
    context_.state.phase = Phase::kRunning;
    context_.state.job = attempt.identity();
    context_.commit("running");
    const Callbacks callbacks(context_, StartTimeLimit(attempt));
    context_.interrupt.OnAsk([&] { OnInterrupt(attempt); });
    if (context_.interrupt.asked()) OnInterrupt(attempt);
    if (context_.log != nullptr) context_.log->StartRun(context_.state.attempt);
    FollowMetrics(place);
    attempt.Release();
    while (!last_.outcome) context_.loop.RunOnce();
    LookForLostNode();
    LeaveMetrics();
  }

  /// Of a trial with its own manager its ensemble's folder has the event files.
  std::optional<ensemble::TrialNumber> Trial() const {
    return context_.trial != nullptr ? std::optional(std::stoll(context_.folder.id())) : std::nullopt;
  }

  void FollowMetrics(const AttemptPlace& place) const {
    if (context_.tensorboard == nullptr) return;
    const auto parameters = EffectiveParameters(context_.plan.spec().train, Json::object());
    const auto group = context_.trial != nullptr ? ensemble::ConfigurationHash(parameters) : context_.folder.id();
    context_.tensorboard->Begin(Trial(), context_.state.attempt, place.directory, parameters, group);
  }

  void LeaveMetrics() const {
    if (context_.tensorboard == nullptr) return;
    const bool success = last_.outcome->status.Success();
    context_.tensorboard->End(Trial(), context_.state.attempt,
                              success                      ? "succeeded"
                              : context_.interrupt.asked() ? "cancelled"
                                                           : "failed");
  }

  /// A rank that another node has lost may fail before that node is known to be lost.
  void LookForLostNode() {
    if (last_.outcome->status.Success() || last_.outcome->stopped) return;
    const auto until = SystemClock().Steady() + kNewsPatience;
    while ((last_.node_trouble = nodes_.Trouble()).empty() && nodes_.where().nodes != nullptr &&
           SystemClock().Steady() < until) {
      context_.loop.RunOnce(std::chrono::milliseconds(50));
    }
    if (last_.node_trouble.empty()) return;
    context_.Note("node_lost", Json{{"attempt", context_.state.attempt}, {"reason", last_.node_trouble}});
    if (!last_.outcome->lost_node) last_.outcome->detail = last_.node_trouble + "\n" + last_.outcome->detail;
  }

  /// Takes back what calls into the attempt, also when an error ends it: the loop goes on to run.
  class Callbacks {
   public:
    Callbacks(RunContext& context, std::optional<EventLoop::TimerId> timer) : context_(context), timer_(timer) {}
    Callbacks(const Callbacks&) = delete;
    Callbacks& operator=(const Callbacks&) = delete;
    ~Callbacks() {
      context_.interrupt.OnAsk(nullptr);
      if (timer_) context_.loop.Cancel(*timer_);
    }

   private:
    RunContext& context_;
    std::optional<EventLoop::TimerId> timer_;
  };

  std::optional<EventLoop::TimerId> StartTimeLimit(Attempt& attempt) {
    const auto limit = context_.plan.spec().launch.time_limit;
    if (!limit || context_.state.batch_job != 0) return {};  // a batch system holds to it, and says so in advance
    return context_.loop.After(std::chrono::duration_cast<std::chrono::nanoseconds>(*limit), [this, &attempt] {
      last_.time_limit_hit = true;
      attempt.Stop("time_limit", TimeAtLimit(context_.plan, Place()));
    });
  }

  void OnInterrupt(Attempt& attempt) {
    const bool by_user = context_.interrupt.cause() == InterruptCause::kUser;
    const auto request = context_.trial != nullptr ? ReadStopRequest(context_.folder) : "";
    context_.SayWhatStops("the ranks");
    if (by_user) {
      attempt.Stop(request.empty() ? "cancelled" : request);
    } else if (attempt.stop_reason().empty()) {
      attempt.Stop("time_limit", TimeAtLimit(context_.plan, Place(), TimeLeftInJob(context_)));
    }
    if (context_.interrupt.forced()) attempt.Kill();
  }

  /// Whether the start failed: some ranks did not come, or did not reach MPI_Init. Or a rank was killed by a memory
  /// fault while MPI found the others through srun. Some versions of Slurm and PMIx do that in a few of a hundred
  /// starts.
  bool StartHasFailed() const {
    if (last_.watched && last_.watched->kind == WatchKind::kStart) return true;
    if (nodes_.plan().engine != "slurm" || nodes_.plan().spec().launch.ranks() == 1) return false;
    const bool crashed = nodes_.plan().mpi.BySrun() && last_.outcome->status.signal == SIGSEGV && !last_.reported;
    return !last_.outcome->started || crashed;
  }

  /// A program that ends with success in the time that it has to save was done, unless it has learned that it is to
  /// stop.
  bool IsCutByTimeLimit() const {
    if (!last_.time_limit_hit || last_.outcome->stopped || !last_.outcome->status.Success())
      return last_.time_limit_hit;
    return Exists(Place().stop_seen_file());
  }

  cause::TimeLimit AtTimeLimit() const { return {context_.plan.spec().launch.time_limit->count()}; }

  EndedAttempt Ended() const {
    return {.interrupted = context_.interrupt.asked(),
            .success = last_.outcome->status.Success(),
            .node_lost = !last_.node_trouble.empty(),
            .start_failed = StartHasFailed(),
            .at_time_limit = IsCutByTimeLimit(),
            .asks_for_turn = last_.outcome->requeue,
            .saved = StepsTo(newest_),
            .reported = steps_};
  }

  bool StartsAgain() {
    const auto again = restarts_.After(Ended());
    return again == Again::kYes || (again == Again::kWithoutLostNodes && nodes_.LeaveOutLost());
  }

  EndCause CauseOfFailure() const {
    const auto& outcome = *last_.outcome;
    const auto* first = CulpritOf(outcome);
    if (!last_.node_trouble.empty()) {
      const auto with_it = outcome.lost_node ? outcome.culprit : std::nullopt;
      const auto again = MayGetOtherNodes(context_.folder, context_.plan, context_.state, Progressed());
      return cause::NodeLost{last_.node_trouble, with_it, again.allowed, again.spent};
    }
    if (last_.watched)
      return cause::Watched{std::string(WordOf(last_.watched->kind)), last_.watched->message, outcome.culprit};
    if (first == nullptr) return cause::StartFailed{std::string(FirstLine(outcome.detail))};
    if (restarts_.unseen_turns() > RestartPolicy::kMostUnseenTurns) {
      return cause::NoProgress{first->rank, first->host, outcome.status, restarts_.unseen_turns()};
    }
    return CauseOf(*first);
  }

  EndCause CauseOf(const RankOutcome& first) const {
    const auto& outcome = *last_.outcome;
    if (!first.node_trouble.empty()) return cause::NodeLost{first.node_trouble, first.rank};
    if (first.start_error != 0) {
      return cause::RankNotStarted{first.rank, first.host, outcome.program, first.start_error, first.interpreter};
    }
    if (first.status && first.status->Success()) return cause::RankLeft{first.rank, first.host};
    if (last_.cause == ensemble::OutsideCause::kOutOfMemory) return cause::OutOfMemory{first.rank, first.host};
    if (!first.status) return cause::RankLost{first.rank, first.host};
    return cause::RankFailed{first.rank, first.host, *first.status};
  }

  void ConcludeFailure(RunResult& result) const {
    result.cause = CauseOfFailure();
    const auto* lost = std::get_if<cause::NodeLost>(&result.cause);
    if (lost != nullptr && lost->requeued) result.phase = Phase::kQueued;
    const auto& detail = last_.outcome->detail;
    const auto first_line = FirstLine(detail).size();
    if (first_line < detail.size()) result.detail = detail.substr(first_line + 1);
  }

  /// Whatever a rank said of its end, a full disk is the likely cause.
  void BlameDisk(RunResult& result) const {
    const auto disk_full = context_.WhyNoDiskSpace(ensemble::DiskSpaceCheck::kTry);
    if (disk_full.empty()) return;
    result.cause = cause::DiskFull{fmt::format("{}; {}", FirstLine(last_.outcome->detail), disk_full)};
  }

  RunResult MakeResult() const {
    RunResult result;
    result.status = last_.outcome->status;
    result.last_line = last_.outcome->last_line;
    result.progressed = Progressed();
    if (context_.interrupt.asked()) {
      result.phase = Phase::kCancelled;
      result.cause = cause::Cancelled{};
    } else if (IsCutByTimeLimit()) {
      result.cause = AtTimeLimit();
    } else if (last_.outcome->status.Success()) {
      result.phase = Phase::kSucceeded;
      result.detail = last_.unmatched;
    } else {
      ConcludeFailure(result);
      if (result.phase != Phase::kQueued) BlameDisk(result);
    }
    result.metrics = metrics_;
    result.summary = Json{{"metrics", Json::object()}};
    for (const auto& [name, value] : metrics_) {
      result.summary["metrics"][name] = value;
      result.summary_text +=
          fmt::format("{}  {:<24} {:.6g}", result.summary_text.empty() ? "" : "\n", OnOneLine(name), value);
    }
    return result;
  }

  static std::string MetricsText(const MetricsLine& line) {
    auto text = fmt::format("step {}", line.step);
    if (line.epoch) text += fmt::format("  epoch {:.4g}", *line.epoch);
    for (const auto& [name, value] : line.values) text += fmt::format("  {} {:.4g}", OnOneLine(name), value);
    return text;
  }

  static constexpr auto kNewsPatience = std::chrono::milliseconds(500);

  /// What is known of the attempt that runs, or has ended.
  struct Last {
    std::optional<GroupOutcome> outcome;
    ensemble::OutsideCause cause = ensemble::OutsideCause::kNone;
    std::string unmatched;               ///< what is wrong with the pattern of the metrics
    std::string node_trouble;            ///< why a node of it is lost
    bool reported = false;               ///< its ranks have written metrics
    std::optional<WatchReport> watched;  ///< why the runtime's watch ended it
    bool time_limit_hit = false;
  };

  RunContext& context_;
  NodesInUse nodes_;
  Last last_;
  std::set<std::string> warnings_;
  std::map<std::string, double> metrics_;
  std::int64_t steps_ = 0;  ///< that the program named in all attempts
  Checkpoint newest_;       ///< before the first attempt, then after the last one
  std::uint64_t steps_at_first_;
  RestartPolicy restarts_;
  std::unique_ptr<TimeLimitWatch> end_of_job_;
};

}  // namespace

RunResult CarryOutSingleRun(RunContext& context) { return SingleRun(context).CarryOut(); }

}  // namespace slipway::launcher
