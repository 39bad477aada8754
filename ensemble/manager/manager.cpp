#include "ensemble/manager/manager.h"

#include <algorithm>
#include <utility>

#include "ensemble/manager/answer_requests.h"
#include "ensemble/manager/crash_point.h"
#include "ensemble/manager/disk_space_watch.h"
#include "ensemble/manager/early_end.h"
#include "ensemble/manager/judge_reports.h"
#include "ensemble/manager/leader_time.h"
#include "ensemble/manager/next_trial.h"
#include "ensemble/manager/record_end.h"
#include "ensemble/manager/round_commit.h"
#include "ensemble/manager/running_attempts.h"
#include "ensemble/manager/same_failure.h"
#include "ensemble/manager/starter.h"
#include "ensemble/manager/verdict.h"
#include "ensemble/model/study_clock.h"
#include "ensemble/store/book_error.h"
#include "ensemble/study/open_study.h"

namespace slipway::ensemble {
namespace {

// How long the manager sleeps at most while requests from outside may come.
constexpr auto kLookForRequests = std::chrono::seconds(1);
constexpr auto kLongest = std::chrono::hours(1);
// While the book is locked or the disk is full: how long one try may take, and the pause before the next.
constexpr auto kPatienceOfATry = std::chrono::milliseconds(200);
constexpr auto kPauseBetweenTries = std::chrono::milliseconds(300);
// How long to wait for a book that cannot be written when the ensemble is to end.
constexpr auto kPatienceAtTheEnd = std::chrono::seconds(5);

std::chrono::nanoseconds Until(double seconds) {
  const double bounded = std::clamp(seconds, 0.0, std::chrono::duration<double>(kLongest).count());
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(bounded)) +
         std::chrono::milliseconds(1);
}

class Manager {
 public:
  Manager(TrialBook& book, const EnsembleOptions& options, TrialRunner& runner, EnsembleObserver& observer,
          Clock& clock)
      : book_(book),
        options_(options),
        runner_(runner),
        observer_(observer),
        clock_(clock, book.LastReading()),
        study_(book, options, Now()),
        judge_(options),
        running_(options, book.Used(), clock_),
        leader_time_(judge_.scheduler()),
        early_end_(options, study_.trials().CountOwnFailures()),
        disk_space_(runner, observer, clock_),
        same_failure_(options.stop_on_same_failure, AnyHasWorked()),
        starter_(options, book, runner, study_, judge_, running_),
        commit_(options, book, study_, observer) {
    book_.SetPatience(kPatienceOfATry);
  }

  EnsembleSummary Run() {
    WaitForBook([&] { book_.BeginSession(clock_.Reading(), host_); });
    judge_.Restore(book_, study_.trials());
    observer_.Opened(study_.trials());
    TakeOver();
    Round({});
    while (!running_.empty() || WaitsForSpace()) Round(NextEvents());
    book_.Settle();
    return Summarise();
  }

 private:
  double Now() { return UnixSeconds(clock_.Now()); }

  Changes NewChanges() {
    Changes changes;
    changes.time = Now();
    changes.host = host_;
    return changes;
  }

  bool AnyHasWorked() const {
    const auto& trials = study_.trials();
    return trials.Count(TrialState::kComplete) + trials.Count(TrialState::kPruned) + trials.Count(TrialState::kPaused) >
           0;
  }

  /// Attempts that ended because the disk was full are queued.
  bool WaitsForSpace() const { return disk_space_.IsMissing() && !early_end_.reason() && !study_.queued().empty(); }

  // --- what the runner says ---

  std::vector<TrialEvent> Receive(std::chrono::nanoseconds limit) {
    auto events = runner_.Wait(limit);
    for (auto& event : events) TakeOverTimes(event);
    return events;
  }

  /// Converts the times of an event from the wall clock to the study clock.
  void TakeOverTimes(TrialEvent& event) {
    auto* metric = std::get_if<MetricRecord>(&event);
    auto* ended = std::get_if<TrialEnded>(&event);
    auto* began = std::get_if<TrialBegan>(&event);
    if (metric != nullptr && metric->time) metric->time = clock_.OfDay(*metric->time);
    if (ended != nullptr && ended->time) ended->time = clock_.OfDay(*ended->time);
    if (began != nullptr) began->time = clock_.OfDay(began->time);
  }

  std::vector<TrialEvent> NextEvents() { return held_.empty() ? Receive(LongestWait()) : std::exchange(held_, {}); }

  /// Keeps events for a round that will come late. Ends without a time get the present time.
  void Hold(std::vector<TrialEvent> events) {
    for (auto& event : events) {
      auto* ended = std::get_if<TrialEnded>(&event);
      if (ended != nullptr && !ended->time) ended->time = Now();
      held_.push_back(std::move(event));
    }
  }

  // --- the book ---

  /// Tries until the write succeeds: a lock of another process and a full disk pass. Events of the runner are received
  /// meanwhile. If the ensemble is to end, the wait is at most kPatienceAtTheEnd.
  template <class Write>
  void WaitForBook(const Write& write) {
    std::optional<SteadyTime> since;
    while (!TryToWrite(write, since)) Hold(Receive(kPauseBetweenTries));
    if (since) observer_.GoesOn();
  }

  /// False when it is worth another try.
  template <class Write>
  bool TryToWrite(const Write& write, std::optional<SteadyTime>& since) try {
    write();
    return true;
  } catch (const BookError& error) {
    const auto now = clock_.Steady();
    if (!error.MayPass() || (since && IsToEnd() && now - *since >= kPatienceAtTheEnd)) throw;
    if (!since) {
      observer_.Paused({error.pause_cause(), error.message() + ": nothing is written down until that has passed"});
    }
    since = since.value_or(now);
    return false;
  }

  bool IsToEnd() const {
    const auto asks = [](const TrialEvent& event) { return std::holds_alternative<StopAsked>(event); };
    return early_end_.reason() || running_.SecondsLeft() <= 0 || std::ranges::any_of(held_, asks);
  }

  void Commit(const Changes& changes, const std::function<void()>& meanwhile = {}) {
    WaitForBook([&] { commit_(changes, meanwhile); });
  }

  // --- what an earlier manager left ---

  /// Ends the attempts that still run, and records what the earlier manager did not write before it died. As in its
  /// rounds, attempts that were asked to stop come last.
  void TakeOver() {
    Changes changes = NewChanges();
    changes.remark = study_.trials().size() == 0 ? "started" : "resumed";
    auto left = book_.OpenAttempts();
    std::ranges::stable_partition(left, [](const AttemptRecord& attempt) { return !attempt.stop; });
    for (const auto& attempt : left) {
      if (study_.trials().Has(attempt.trial)) TakeOver(attempt, changes);
    }
    Commit(changes);
    running_.CountAnew(book_.Used().node_seconds);
  }

  void TakeOver(const AttemptRecord& left, Changes& changes) {
    if (left.process) runner_.EndOrphan(*left.process);
    running_.Add(left.trial, LiveAttempt(book_, left.trial, left.number, options_.objectives));
    if (left.process) {
      for (auto& event : runner_.Recover(left.trial, left.number)) {
        TakeOverTimes(event);
        Take(event, changes);
      }
    }
    LiveAttempt* attempt = running_.Present(left.trial, left.number);
    if (attempt == nullptr) return;
    if (left.process && runner_.GoesOn(left.trial, left.number)) return FollowOn(left.trial, *attempt);
    ApplyStopRequest(left.trial, *attempt);
    End(left.trial, attempt->stop ? Judge(FactsOf(left.trial, std::nullopt)) : JudgeLost(),
        {{}, book_.LastSignOfManagerAt(left.claimed)}, changes);
  }

  /// Follows an attempt that runs, or waits in its queue, on from the earlier manager. Repeats its stop request: the
  /// attempt may not have received it.
  void FollowOn(TrialNumber trial, const LiveAttempt& attempt) {
    if (!attempt.started()) observer_.AttemptWaits(study_.at(trial));
    if (attempt.stop) runner_.Stop(trial, *attempt.stop);
  }

  // --- rounds ---

  std::chrono::nanoseconds LongestWait() const {
    if (starter_.HasUnstarted()) return std::chrono::nanoseconds(0);
    const bool looks_around = !options_.requests_in.empty() || disk_space_.IsMissing();
    std::chrono::nanoseconds wait =
        looks_around ? std::chrono::nanoseconds(kLookForRequests) : std::chrono::nanoseconds(kLongest);
    if (!early_end_.reason()) wait = std::min(wait, Until(running_.SecondsLeft()));
    return std::min(wait, Until(running_.SecondsToTrialLimit()));
  }

  void Round(const std::vector<TrialEvent>& events) {
    Changes changes = NewChanges();
    disk_space_.BeginRound();
    TakeAll(events, changes);
    for (const auto& failed : starter_.TakeUnstarted()) EndUnstarted(failed, changes);
    if (!options_.requests_in.empty()) AnswerRequests(changes);
    early_end_.Watch(running_.SecondsLeft());
    AskToStop(changes);
    Claim(changes);
    Prepared prepared;
    const bool at_once = HangOnSupervisors(changes);
    if (at_once) {
      Commit(changes, [&] { prepared = starter_.Prepare(changes); });
    } else {
      Commit(changes);
    }
    Stop(changes);
    if (!at_once) prepared = starter_.Prepare(changes);
    Launch(prepared);
    book_.ShareSnapshot(clock_.Steady());
  }

  void AnswerRequests(Changes& changes) {
    ensemble::AnswerRequests(options_, book_, study_, judge_, changes);
    if (!changes.requeued.empty()) early_end_.CountFailures(study_.trials().CountOwnFailures());
  }

  void Stop(const Changes& changes) {
    for (const auto& stop : changes.stops) runner_.Stop(stop.trial, stop.reason);
    if (!changes.stops.empty()) CrashPoint("after_stop");
  }

  void Launch(const Prepared& prepared) {
    Changes changes = NewChanges();
    const double now = changes.time;
    WaitForBook([&] { starter_.WriteDown(prepared, changes); });
    for (const auto number : prepared.trials) {
      const TrialRecord& trial = starter_.Release(number, now);
      runner_.Queues() ? observer_.AttemptWaits(trial) : observer_.AttemptStarted(trial);
    }
  }

  // --- what happened ---

  /// Takes the ends of trials that were asked to stop last: their verdicts may depend on the other events.
  void TakeAll(const std::vector<TrialEvent>& events, Changes& changes) {
    std::vector<const TrialEvent*> told;
    for (const auto& event : events) {
      if (IsEndOfTold(event)) {
        told.push_back(&event);
      } else {
        Take(event, changes);
      }
    }
    for (const auto* event : told) Take(*event, changes);
  }

  bool IsEndOfTold(const TrialEvent& event) {
    const auto* ended = std::get_if<TrialEnded>(&event);
    const auto* attempt = ended != nullptr ? running_.Present(ended->trial, ended->attempt) : nullptr;
    return attempt != nullptr && attempt->stop;
  }

  void Take(const TrialEvent& event, Changes& changes) {
    if (const auto* metric = std::get_if<MetricRecord>(&event)) {
      TakeMetric(*metric, changes);
    } else if (const auto* ended = std::get_if<TrialEnded>(&event)) {
      TakeEnd(*ended, changes);
    } else if (const auto* began = std::get_if<TrialBegan>(&event)) {
      TakeBegin(*began, changes);
    } else if (const auto* lost = std::get_if<NodeLost>(&event)) {
      running_.LoseNode(lost->node);
    } else {
      early_end_.TakeInterrupt();
    }
  }

  void TakeMetric(const MetricRecord& metric, Changes& changes) {
    LiveAttempt* attempt = running_.Present(metric.trial, metric.attempt);
    if (attempt == nullptr) return;
    changes.metrics.push_back(metric);
    attempt->Take(changes.metrics.back(), changes.time);
    judge_.Take(changes.metrics.back(), *attempt, changes.rungs);
  }

  void TakeBegin(const TrialBegan& began, Changes& changes) {
    LiveAttempt* attempt = running_.Present(began.trial, began.attempt);
    if (attempt == nullptr || attempt->started()) return;
    running_.Begin(*attempt, began.time);
    TrialRecord& trial = study_.Edit(began.trial);
    BecomeRunning(trial, began.time);
    study_.Changed(began.trial);
    changes.begins.push_back({began.trial, began.attempt, began.time});
  }

  void TakeEnd(const TrialEnded& ended, Changes& changes) {
    LiveAttempt* attempt = running_.Present(ended.trial, ended.attempt);
    if (attempt == nullptr) return;
    if (AsksToGoOn(ended.status)) ApplyLateStopRequest(ended.trial, *attempt);
    const auto cause =
        CauseOf(ended.cause, *attempt, ended.status.Success() ? DiskSpaceCheck::kGlance : DiskSpaceCheck::kTry);
    const bool has_run = cause != OutsideCause::kDiskFull || ended.cause != OutsideCause::kNotStarted;
    AttemptFacts facts = FactsOf(ended.trial, has_run ? std::optional(ended.status) : std::nullopt);
    facts.cause = cause;
    facts.detail = ended.detail;
    facts.last_line = ended.last_line;
    Conclude(ended.trial, facts, {facts.status, ended.time, ended.rank}, changes);
  }

  /// The cause of an end. What looks like a fault of the program may come from a full disk.
  OutsideCause CauseOf(OutsideCause told, const LiveAttempt& attempt, DiskSpaceCheck check) {
    const bool may_be_disk = told == OutsideCause::kNone || told == OutsideCause::kNotStarted;
    return may_be_disk && disk_space_.WasMissingDuring(attempt, check) ? OutsideCause::kDiskFull : told;
  }

  void Conclude(TrialNumber trial, const AttemptFacts& facts, const KnownEnd& end, Changes& changes) {
    const auto verdict = Judge(facts);
    const bool was_held = !same_failure_.what().empty();
    same_failure_.Take(trial, facts, verdict);
    const bool is_held = !same_failure_.what().empty();
    if (is_held && !was_held) observer_.Warned(same_failure_.what() + "; no further trial begins");
    if (was_held && !is_held) observer_.GoesOn();
    End(trial, verdict, end, changes);
  }

  /// Applies the scheduler's request to an attempt that ended before it received it. A pause makes sense only if the
  /// trial may be promoted later.
  void ApplyLateStopRequest(TrialNumber trial, LiveAttempt& attempt) {
    const auto request = judge_.StopRequestFor(trial);
    if (request && (request->stop == StopReason::kPruned || judge_.scheduler().MayWait(trial)))
      ApplyStopRequest(trial, attempt);
  }

  void EndUnstarted(const Unstarted& failed, Changes& changes) {
    AttemptFacts facts = FactsOf(failed.trial, std::nullopt);
    facts.cause = CauseOf(OutsideCause::kNotStarted, running_.at(failed.trial), DiskSpaceCheck::kTry);
    facts.detail = failed.why;
    Conclude(failed.trial, facts, {}, changes);
  }

  AttemptFacts FactsOf(TrialNumber trial, std::optional<ExitStatus> status) {
    AttemptFacts facts = running_.at(trial).Facts(status, options_.steps);
    facts.failures = study_.at(trial).failures;
    facts.retries = options_.retries;
    facts.is_whole = judge_.IsWhole(trial);
    facts.may_wait = judge_.scheduler().MayWait(trial);
    facts.may_end = judge_.scheduler().MayEnd(trial);
    return facts;
  }

  void End(TrialNumber number, const Verdict& verdict, const KnownEnd& end, Changes& changes) {
    if (verdict.attempt == TrialState::kComplete) WarnOfSilence(running_.at(number));
    const auto attempt = running_.Remove(number);
    leader_time_.End(number, attempt.SecondsUp(clock_.Steady()));
    RecordEnd(number, attempt, verdict, end, study_, judge_, changes);
    if (verdict.trial == TrialState::kFailed) early_end_.TakeFailure();
  }

  /// Warns once if the scheduler never receives its resource: then every trial trains to its end.
  void WarnOfSilence(const LiveAttempt& attempt) {
    const auto silence = judge_.WhySilent(attempt);
    if (silence && !std::exchange(has_warned_, true)) observer_.Warned(*silence);
  }

  // --- what to do ---

  void AskToStop(Changes& changes) {
    for (auto& [trial, attempt] : running_) {
      if (attempt.stop) continue;
      ApplyStopRequest(trial, attempt);
      attempt.HeedTimeLimit(options_.trial_time_limit, clock_.Steady());
      if (!attempt.stop) attempt.stop = early_end_.reason();
      if (attempt.stop) changes.stops.push_back({trial, attempt.number(), *attempt.stop, attempt.stop_detail});
    }
    judge_.ForgetStopRequests();
  }

  void ApplyStopRequest(TrialNumber trial, LiveAttempt& attempt) {
    const auto request = judge_.StopRequestFor(trial);
    if (!request || attempt.stop) return;
    attempt.stop = request->stop;
    attempt.stop_detail = request->why;
  }

  bool MayBegin() const { return !early_end_.reason() && !disk_space_.IsMissing() && same_failure_.what().empty(); }

  void Claim(Changes& changes) {
    while (MayBegin() && running_.size() < options_.parallel) {
      auto place = running_.TakePlace();
      if (!place) return;
      const auto trial = Next(changes);
      if (!trial) {
        running_.GiveBack(*place);
        return;
      }
      Claim(*trial, std::move(*place), changes);
    }
  }

  /// The next trial. The leader takes precedence when it must go on to reach its end in time.
  std::optional<TrialNumber> Next(Changes& changes) {
    if (const auto leader = leader_time_.GoOn(running_.SecondsLeft())) return leader;
    return NextTrial(options_, study_, judge_.scheduler(), changes);
  }

  void Claim(TrialNumber number, std::vector<AllocatedNode> place, Changes& changes) {
    leader_time_.Begin(number);
    const int attempt = study_.Claim(number);
    changes.claims.push_back({number, attempt, place, options_.need.nodes});
    if (const auto supervisor = runner_.SupervisorIdentity(place))
      changes.starts.push_back({number, attempt, supervisor});
    LiveAttempt live(options_.objectives, attempt);
    live.place = std::move(place);
    running_.Add(number, std::move(live));
  }

  /// Whether another trial would begin or go on if it had a place. It changes the study, so call it last.
  bool HasMoreToDo() {
    Changes unwritten = NewChanges();
    return NextTrial(options_, study_, judge_.scheduler(), unwritten).has_value();
  }

  EnsembleSummary Summarise() {
    const auto& trials = study_.trials();
    EnsembleSummary summary;
    summary.complete = trials.Count(TrialState::kComplete);
    summary.failed = trials.Count(TrialState::kFailed);
    summary.pruned = trials.Count(TrialState::kPruned);
    summary.paused = trials.Count(TrialState::kPaused);
    summary.cancelled = trials.Count(TrialState::kCancelled);
    summary.waiting = trials.Count(TrialState::kQueued);
    summary.best = study_.Best();
    summary.exhausted = study_.exhausted();
    summary.not_begun = std::max<std::int64_t>(study_.Budget() - study_.NextConfiguration(), 0);
    summary.begun = options_.trials - study_.Budget() + study_.NextConfiguration();
    early_end_.Tell(summary);
    if (summary.out_of_time) summary.leader = leader_time_.Paused();
    const bool may_go_on = !early_end_.reason() && (running_.OutOfNodes() || !same_failure_.what().empty());
    if (!may_go_on || !HasMoreToDo()) return summary;
    summary.out_of_nodes = running_.OutOfNodes();
    summary.same_failure = same_failure_.what();
    return summary;
  }

  TrialBook& book_;
  const EnsembleOptions& options_;
  TrialRunner& runner_;
  EnsembleObserver& observer_;
  StudyClock clock_;
  const std::string host_ = HostName();

  OpenStudy study_;
  ReportJudge judge_;
  RunningAttempts running_;
  LeaderTime leader_time_;
  EarlyEnd early_end_;
  DiskSpaceWatch disk_space_;
  SameFailure same_failure_;
  Starter starter_;
  RoundCommit commit_;
  std::vector<TrialEvent> held_;  // heard while the book could not be written
  bool has_warned_ = false;
};

}  // namespace

EnsembleSummary RunEnsemble(TrialBook& book, const EnsembleOptions& options, TrialRunner& runner,
                            EnsembleObserver& observer, Clock& clock) {
  return Manager(book, options, runner, observer, clock).Run();
}

}  // namespace slipway::ensemble
