#include "launcher/run/trials/batch_trial_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/text.h"
#include "launcher/cluster/poll_interval.h"
#include "launcher/run/results/adopt_checkpoint.h"

namespace slipway::launcher {

using ensemble::StopAsked;
using ensemble::StopReason;
using ensemble::TrialEnded;
using ensemble::TrialEvent;
using ensemble::TrialNumber;

namespace {

using std::chrono::milliseconds;

/// Between two looks at the folders of the trials, on a file system that many share.
constexpr milliseconds kLookPause{1000};
constexpr milliseconds kLookPauseOfTrial{20};

constexpr milliseconds kSoon{500};

milliseconds Between(SteadyTime begin, SteadyTime end) { return std::chrono::duration_cast<milliseconds>(end - begin); }

bool Waits(const ObservedRun& run) { return run.state.phase == Phase::kQueued; }

/// "2 jobs run, 1 job in the queue (job 17 waits: ...)".
std::string Summary(const std::vector<ObservedRun>& jobs, std::size_t unsubmitted) {
  const auto waiting = static_cast<std::size_t>(std::ranges::count_if(jobs, Waits));
  auto text = Counted(jobs.size() - waiting, "job") + " running";
  if (waiting > 0) {
    const auto first = std::ranges::find_if(jobs, Waits);
    text += fmt::format(", {} in the queue ({})", Counted(waiting, "job"), Shown(*first).reason);
  }
  if (unsubmitted > 0) text += fmt::format(", {} not taken by Slurm yet", Counted(unsubmitted, "job"));
  return text;
}

}  // namespace

bool MayBeTakenLater(SlurmTrouble trouble) { return MayPass(trouble) || MayHaveRoomLater(trouble); }

BatchTrialRunner::BatchTrialRunner(RunContext& context) : context_(context) {
  context_.interrupt.OnAsk([this] { OnInterrupt(); });
  if (context_.interrupt.asked()) events_.push_back(StopAsked{});
}

void BatchTrialRunner::OnInterrupt() {
  const auto& interrupt = context_.interrupt;
  if (interrupt.count() == 1) {
    context_.output.Say("cancelling: Slurm is asked to end the trials' jobs; Ctrl-C again kills them at once");
  }
  events_.push_back(StopAsked{});
  if (!interrupt.forced()) return;
  context_.output.Say("killing the trials' jobs");
  for (auto& [number, job] : jobs_) {
    if (job.trial->is_submitted()) job.stop = WordOf(StopReason::kCancelled);
  }
  next_look_ = {};
}

BatchTrialRunner::~BatchTrialRunner() { context_.interrupt.OnAsk(nullptr); }

ProcessIdentity BatchTrialRunner::Prepare(const ensemble::TrialStart& start) {
  return WithContext(fmt::format("while preparing the job of trial {}", start.trial), [&] {
    auto trial = std::make_unique<BatchTrial>(context_.folder, context_.plan, start);
    if (trial->lacks_weights() && !std::exchange(has_warned_of_no_weights_, true)) {
      context_.output.Warn(NothingAdopted(start.trial, *start.parent));
    }
    jobs_[start.trial] = {std::move(trial), start.attempt};
    return ProcessIdentity{};
  });
}

void BatchTrialRunner::Release(TrialNumber) { SubmitWhatWaits(); }

void BatchTrialRunner::SubmitWhatWaits() {
  for (auto& [number, job] : jobs_) {
    if (job.trial->is_submitted()) continue;
    if (SystemClock().Steady() < next_submission_) return;
    try {
      SayDoubts(job.trial->Submit());
      submissions_refused_ = 0;
      Changed();
    } catch (const SlurmError& error) {
      if (!MayBeTakenLater(error.trouble())) throw;
      if (submissions_refused_++ == 0) {
        context_.output.Warn(
            fmt::format("the job of trial {} is not taken now, and tried again: {}", number, error.message()));
        context_.Note("submission_waits", Json{{"trial", number}, {"reason", error.message()}});
      }
      next_submission_ = SystemClock().Steady() + NextTryAfter(submissions_refused_);
    }
  }
}

/// The jobs of all trials ask for the same.
void BatchTrialRunner::SayDoubts(const std::vector<std::string>& doubts) {
  if (doubts == said_) return;
  for (const auto& doubt : doubts) context_.output.Warn(doubt);
  said_ = doubts;
}

void BatchTrialRunner::Stop(TrialNumber trial, StopReason reason) {
  const auto found = jobs_.find(trial);
  if (found == jobs_.end()) return;
  auto& job = found->second;
  if (!job.trial->is_submitted()) {
    events_.push_back(TrialEnded{trial, job.attempt, {1, 0}, "it was not submitted"});
    jobs_.erase(found);
    return;
  }
  const bool timed_out = reason == StopReason::kTrialTimeLimit;
  job.stop = WordOf(timed_out ? StopReason::kTimeLimit : reason);
  StopWhatIsAsked();
}

void BatchTrialRunner::StopWhatIsAsked() {
  for (auto& [number, job] : jobs_) {
    if (job.stop.empty()) continue;
    try {
      job.trial->Stop(job.stop, context_.interrupt.forced() ? JobEnd::kKill : JobEnd::kAsk);
      job.stop.clear();
      Changed();
    } catch (const SlurmError& error) {
      context_.output.Warn(fmt::format("the job of trial {} is asked to end again: {}", number, error.message()));
      return;  // at the next look
    }
  }
}

void BatchTrialRunner::EndOrphan(const ProcessIdentity&) {}

std::vector<TrialEvent> BatchTrialRunner::Recover(TrialNumber number, int attempt) {
  std::vector<TrialEvent> events;
  auto trial = BatchTrial::Find(context_.folder, number, attempt);
  if (!trial) return events;
  trial->TakeMetrics(events);
  trial->Take(ObserveRuns({trial->folder()}).front(), events);
  if (!trial->has_ended()) jobs_[number] = {std::move(trial), attempt};
  return events;
}

bool BatchTrialRunner::GoesOn(TrialNumber trial, int attempt) {
  const auto found = jobs_.find(trial);
  return found != jobs_.end() && found->second.attempt == attempt;
}

std::vector<TrialEvent> BatchTrialRunner::Wait(std::chrono::nanoseconds limit) {
  const auto pause = std::max<milliseconds>(kLookPause, kLookPauseOfTrial * static_cast<int>(jobs_.size()));
  if (events_.empty()) context_.loop.RunOnce(std::min<std::chrono::nanoseconds>(limit, pause));
  if (SystemClock().Steady() >= next_look_) {
    Look();
    next_look_ = SystemClock().Steady() + pause / 2;
  }
  return std::exchange(events_, {});
}

void BatchTrialRunner::Look() {
  SubmitWhatWaits();
  StopWhatIsAsked();
  for (auto& [number, job] : jobs_) job.trial->TakeMetrics(events_);
  const bool all = SystemClock().Steady() >= next_poll_;
  Observe(ToObserve(all), all);
  std::erase_if(jobs_, [](const auto& entry) { return entry.second.trial->has_ended(); });
}

BatchTrialRunner::Jobs BatchTrialRunner::ToObserve(bool all) const {
  Jobs jobs;
  for (const auto& [number, job] : jobs_) {
    if (!job.trial->is_submitted()) continue;
    if (all || HasEnded(job.trial->folder().ReadState().phase)) jobs.push_back(job.trial.get());
  }
  return jobs;
}

void BatchTrialRunner::Observe(const Jobs& jobs, bool all) {
  if (jobs.empty()) return;
  std::vector<RunFolder> folders;
  for (const auto* job : jobs) folders.push_back(job->folder());
  const auto asked = SystemClock().Steady();
  const auto observed = ObserveRuns(folders);
  const auto before = events_.size();
  for (std::size_t i = 0; i < jobs.size(); ++i) jobs[i]->Take(observed[i], events_);
  if (events_.size() > before) Changed();
  if (!all) return;
  PlanNextPoll(observed, asked);
  Tell(observed);
}

void BatchTrialRunner::Changed() {
  last_change_ = SystemClock().Steady();
  next_poll_ = std::min(next_poll_, last_change_ + kSoon);
}

/// The controller is asked about all jobs in one question, and the less often the longer nothing happens.
void BatchTrialRunner::PlanNextPoll(const std::vector<ObservedRun>& observed, SteadyTime asked) {
  const bool failed = std::ranges::any_of(observed, [](const auto& run) { return !run.trouble.empty(); });
  polls_failed_ = failed ? polls_failed_ + 1 : 0;
  const auto now = SystemClock().Steady();
  PollRound round;
  round.phase = std::ranges::all_of(observed, Waits) ? JobPhase::kWaiting : JobPhase::kRunning;
  round.in_phase = Between(std::min(last_change_, now), now);
  round.answer_took = Between(asked, now);
  round.failures = polls_failed_;
  next_poll_ = now + NextPollAfter(round);
}

/// `status` of the run says what its jobs do.
void BatchTrialRunner::Tell(const std::vector<ObservedRun>& observed) {
  std::vector<ObservedRun> alive;
  std::ranges::copy_if(observed, std::back_inserter(alive), [](const auto& run) { return !HasEnded(run.state.phase); });
  const auto unsubmitted =
      std::ranges::count_if(jobs_, [](const auto& entry) { return !entry.second.trial->is_submitted(); });
  auto text = Summary(alive, static_cast<std::size_t>(unsubmitted));
  if (text == context_.state.reason) return;
  context_.state.reason = std::move(text);
  context_.folder.WriteState(context_.state);
}

}  // namespace slipway::launcher
