#include "launcher/run/single_run.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "core/clock.h"
#include "launcher/attempt/allocation.h"
#include "launcher/attempt/attempt.h"
#include "launcher/attempt/nodes_in_use.h"
#include "launcher/attempt/out_of_memory.h"
#include "launcher/run/context/instance_log.h"
#include "launcher/run/ending/save_time.h"
#include "launcher/run/ending/watch_end_of_job.h"
#include "launcher/run/results/stage_out_queue.h"
#include "launcher/run/trials/trial_order.h"

namespace slipway::launcher {
namespace {

class SingleRun final : public AttemptObserver {
 public:
  explicit SingleRun(RunContext& context) : context_(context), nodes_(context.plan, context.allocation) {}

  RunResult CarryOut() {
    int restarts_left = context_.plan.spec().resilience.max_restarts;
    auto newest = Newest();
    steps_at_first_ = StepsTo(newest);
    end_of_job_ = WatchEndOfJob(context_, [this] { return SlowestCheckpoint(Place()); });
    while (true) {
      RunAttempt(newest);
      if (IsOver()) return MakeResult();
      const auto reached = Newest();
      if (!ShouldRestart(StepsTo(reached) > StepsTo(newest), restarts_left)) return MakeResult();
      newest = reached;
      context_.state.reason = outcome_->detail;
      context_.commit("restarting");
      context_.output.Warn(
          fmt::format("attempt {} ended: {}; starting again", context_.state.attempt, outcome_->detail));
    }
  }

  void OnLine(int rank, std::string_view line) override {
    if (context_.output.mode() != OutputMode::kHuman) return;
    context_.output.Stream(Json{{"rank", rank}, {"line", line}}, ShownLine(rank, line, context_.prefix));
  }

  void OnMetrics(const MetricsLine& line) override {
    reported_ = true;
    steps_ = std::max(steps_, line.step + 1);
    for (const auto& [name, value] : line.values) metrics_[name] = value;
    context_.output.Progress(MetricsText(line));
  }

  void OnWatch(const WatchFinding& finding) override {
    context_.RecordWatch(finding, Json{{"attempt", context_.state.attempt}});
    start_hung_ = finding.report && finding.report->kind == "start";
    if (finding.report) context_.output.Warn(finding.report->message);
  }

  void OnFailure(std::string_view what) override {
    context_.output.Warn(fmt::format("{}; the other ranks are being ended", what));
  }

  void OnWarning(std::string_view what) override {
    if (!warnings_.emplace(what).second) return;  // of an earlier attempt
    context_.output.Warn(std::string(what));
    context_.folder.AppendEvent("warning", Json{{"attempt", context_.state.attempt}, {"reason", what}});
  }

  void OnUnmatched(std::string_view what, AttemptStage stage) override {
    if (stage == AttemptStage::kEnded) unmatched_ = what;
    OnWarning(what);
  }

  void OnEnd(const GroupOutcome& outcome) override { outcome_ = outcome; }

 private:
  /// Nothing before the first.
  using Checkpoint = std::optional<CheckpointInfo>;

  static std::uint64_t StepsTo(const Checkpoint& checkpoint) { return checkpoint ? checkpoint->step + 1 : 0; }

  AttemptPlace Place() const {
    AttemptPlace place;
    place.run = context_.folder.path();
    PlaceCheckpoints(place, context_.stage_out_queue);
    return place;
  }

  Checkpoint Newest() const { return NewestCheckpointOf(Place()); }

  AttemptPlace NextPlace(const Checkpoint& newest) {
    auto place = Place();
    place.attempt = ++context_.state.attempt;
    place.directory = context_.folder.attempt(place.attempt);
    if (newest) place.resume_from = newest->directory;
    return place;
  }

  /// Steps that are lost with a damaged checkpoint are not lost in silence.
  void SayWhereItBegins(const AttemptPlace& place, const Checkpoint& newest) {
    const auto step = newest ? std::optional(newest->step) : std::nullopt;
    const auto from = newest ? fmt::format("step {}", newest->step) : std::string("the beginning");
    for (const auto& damage : DamagedCheckpoints(place, step)) OnWarning(damage + "; going on from " + from);
    if (newest) context_.output.Say("continuing from " + place.resume_from.string());
  }

  void RunAttempt(const Checkpoint& newest) {
    outcome_.reset();
    unmatched_.clear();
    node_trouble_.clear();
    reported_ = false;
    start_hung_ = false;
    time_limit_hit_ = false;
    const auto place = NextPlace(newest);
    SayWhereItBegins(place, newest);
    AttemptRequest request{nodes_.plan(), place, context_.data, Json::object()};
    request.where = nodes_.where();
    if (context_.trial != nullptr) request.share.terms = context_.trial->terms;
    kills_before_ = OutOfMemoryKills();
    Attempt job(context_.loop, context_.files, std::move(request), *this);
    context_.state.phase = Phase::kRunning;
    context_.state.job = job.identity();
    context_.commit("running");
    const Callbacks callbacks(context_, StartTimeLimit(job));
    context_.interrupt.OnAsk([&] { OnInterrupt(job); });
    if (context_.interrupt.asked()) OnInterrupt(job);
    if (context_.log != nullptr) context_.log->StartRun(context_.state.attempt);
    job.Release();
    while (!outcome_) context_.loop.RunOnce();
    LookForLostNode();
  }

  /// A rank that another node has lost may fail before that node is known to be lost.
  void LookForLostNode() {
    if (outcome_->status.Success() || outcome_->stopped) return;
    const auto until = SystemClock().Steady() + kNewsPatience;
    while ((node_trouble_ = nodes_.Trouble()).empty() && nodes_.where().nodes != nullptr &&
           SystemClock().Steady() < until) {
      context_.loop.RunOnce(std::chrono::milliseconds(50));
    }
    if (node_trouble_.empty()) return;
    context_.folder.AppendEvent("node_lost", Json{{"attempt", context_.state.attempt}, {"reason", node_trouble_}});
    if (!outcome_->detail.starts_with(node_trouble_)) outcome_->detail = node_trouble_ + "\n" + outcome_->detail;
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

  std::optional<EventLoop::TimerId> StartTimeLimit(Attempt& job) {
    const auto limit = context_.plan.spec().launch.time_limit;
    if (!limit || context_.state.batch_job != 0) return {};  // a batch system holds to it, and says so in advance
    return context_.loop.After(std::chrono::duration_cast<std::chrono::nanoseconds>(*limit), [this, &job] {
      time_limit_hit_ = true;
      job.Stop("time_limit", TimeAtLimit(context_.plan, Place()));
    });
  }

  void OnInterrupt(Attempt& job) {
    const bool by_user = context_.interrupt.cause() == InterruptCause::kUser;
    const auto wish = context_.trial != nullptr ? ReadStopWish(context_.folder) : "";
    context_.SayWhatStops("the ranks");
    if (by_user) {
      job.Stop(wish.empty() ? "cancelled" : wish);
    } else if (job.stop_reason().empty()) {
      job.Stop("time_limit", TimeAtLimit(context_.plan, Place(), TimeLeftInJob(context_)));
    }
    if (context_.interrupt.forced()) job.Kill();
  }

  /// The time limit, or a wish of the program, cuts a run that goes on. At a limit that ends the run a program that
  /// saves and asks for another turn does not get one.
  bool AsksToGoOn() const {
    const bool requeue = context_.plan.spec().checkpoint.on_time_limit == OnTimeLimit::kRequeue;
    return time_limit_hit_ ? requeue : outcome_->requeue;
  }

  /// A program that keeps what it has saved to itself is believed for some turns.
  bool GetsAnotherTurn(bool progressed) {
    if (progressed || std::exchange(steps_seen_, steps_) < steps_) {
      unseen_turns_ = 0;
      return true;
    }
    return outcome_->requeue && ++unseen_turns_ <= kMostUnseenTurns;
  }

  /// Whatever it has reached.
  bool IsOver() const {
    return context_.interrupt.asked() || (!AsksToGoOn() && (outcome_->status.Success() || time_limit_hit_));
  }

  /// Not all ranks came, or not all to MPI_Init; or one of them was killed by a fault of memory while MPI found the
  /// others through srun, as happens in a few of a hundred starts with some versions of Slurm and PMIx.
  bool StartHasFailed() const {
    if (start_hung_) return true;
    if (nodes_.plan().engine != "slurm" || nodes_.plan().spec().launch.ranks() == 1) return false;
    const bool crashed = nodes_.plan().mpi.BySrun() && outcome_->status.signal == SIGSEGV && !reported_;
    return !outcome_->started || crashed;
  }

  bool ShouldRestart(bool progressed, int& restarts_left) {
    if (!node_trouble_.empty()) return nodes_.LeaveOutLost();  // costs none: there are fewer each time
    if (StartHasFailed() && !std::exchange(start_retried_, true)) return true;
    if (context_.trial != nullptr) return false;  // its ensemble decides
    if (AsksToGoOn() && GetsAnotherTurn(progressed)) return true;
    if (outcome_->status.Success() || time_limit_hit_) return false;
    return restarts_left-- > 0;
  }

  ensemble::OutsideCause Cause() const {
    if (outcome_->lost_node) return ensemble::OutsideCause::kNodeLost;
    const bool out_of_memory = outcome_->status.signal == SIGKILL && OutOfMemoryKills() > kills_before_;
    return out_of_memory ? ensemble::OutsideCause::kOutOfMemory : ensemble::OutsideCause::kNone;
  }

  RunResult MakeResult() const {
    RunResult result;
    result.status = outcome_->status;
    result.progressed = StepsTo(Newest()) > steps_at_first_;
    result.cause = Cause();
    if (context_.interrupt.asked()) {
      result.phase = Phase::kCancelled;
      result.reason = "cancelled by the user";
    } else if (time_limit_hit_) {
      result.reason = fmt::format("time limit of {} reached", FormatDuration(*context_.plan.spec().launch.time_limit));
    } else if (outcome_->status.Success()) {
      result.phase = Phase::kSucceeded;
      result.detail = unmatched_;
    } else {
      const auto end_of_line = outcome_->detail.find('\n');
      result.reason = outcome_->detail.substr(0, end_of_line);
      if (unseen_turns_ > kMostUnseenTurns) {
        result.reason += fmt::format(
            "; {} times in a row it asked to be started again and showed no progress: neither a checkpoint in "
            "SLIPWAY_CHECKPOINT_DIR nor a further step of its metrics",
            unseen_turns_);
      }
      if (end_of_line != std::string::npos) result.detail = outcome_->detail.substr(end_of_line + 1);
    }
    if (!node_trouble_.empty() && !context_.interrupt.asked() && MayGetOtherNodes(context_.plan, context_.state)) {
      result.phase = Phase::kQueued;
      result.reason += "; the job is queued again, and goes on from its newest checkpoint";
    }
    result.metrics = metrics_;
    result.summary = Json{{"metrics", Json::object()}};
    for (const auto& [name, value] : metrics_) {
      result.summary["metrics"][name] = value;
      result.summary_text += fmt::format("{}  {:<24} {:.6g}", result.summary_text.empty() ? "" : "\n", name, value);
    }
    return result;
  }

  static std::string MetricsText(const MetricsLine& line) {
    auto text = fmt::format("step {}", line.step);
    if (line.epoch) text += fmt::format("  epoch {:.4g}", *line.epoch);
    for (const auto& [name, value] : line.values) text += fmt::format("  {} {:.4g}", name, value);
    return text;
  }

  static constexpr int kMostUnseenTurns = 20;
  static constexpr auto kNewsPatience = std::chrono::milliseconds(500);

  RunContext& context_;
  NodesInUse nodes_;
  std::string node_trouble_;
  bool reported_ = false;    ///< by the ranks of this attempt
  bool start_hung_ = false;  ///< of this attempt
  bool start_retried_ = false;
  std::set<std::string> warnings_;
  std::string unmatched_;  ///< what is wrong with the pattern of the metrics; empty: nothing
  std::map<std::string, double> metrics_;
  std::int64_t steps_ = 0;       ///< reported in all attempts
  std::int64_t steps_seen_ = 0;  ///< when a turn was last asked for
  int unseen_turns_ = 0;         ///< asked for in a row, without a sign of progress
  std::optional<GroupOutcome> outcome_;
  std::uint64_t kills_before_ = 0;
  bool time_limit_hit_ = false;
  std::uint64_t steps_at_first_ = 0;
  std::unique_ptr<TimeLimitWatch> end_of_job_;
};

}  // namespace

RunResult CarryOutSingleRun(RunContext& context) { return SingleRun(context).CarryOut(); }

}  // namespace slipway::launcher
