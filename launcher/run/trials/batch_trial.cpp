#include "launcher/run/trials/batch_trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/files.h"
#include "core/parse_utc.h"
#include "launcher/cluster/slurm_client.h"
#include "launcher/plan/batch_plan.h"
#include "launcher/plan/trial_document.h"
#include "launcher/run/batch/batch_record.h"
#include "launcher/run/batch/batch_submission.h"
#include "launcher/run/batch/job_of_run.h"
#include "launcher/run/results/adopt_checkpoint.h"
#include "launcher/run/results/stage_out_queue.h"
#include "launcher/run_folder/prepare.h"
#include "launcher/spec/secrets.h"

namespace slipway::launcher {
namespace fs = std::filesystem;
using ensemble::OutsideCause;
using ensemble::TrialEnded;
using ensemble::TrialNumber;
using ensemble::TrialStart;

namespace {

fs::path FolderOf(const RunFolder& run, TrialNumber trial) { return run.trials() / fmt::format("{:05}", trial); }

/// From now on nothing in the folder tells of the job of an earlier attempt.
RunFolder BeginAttempt(const RunFolder& run, TrialNumber trial) {
  auto folder = RunFolder::BeginTrial(FolderOf(run, trial), run);
  RemoveBatchRecord(folder.path());
  RemoveStopRequest(folder);
  return folder;
}

TrialOrder OrderFor(const RunFolder& folder, const TrialStart& start) {
  return {start.attempt, folder.ReadState().attempt, {start.trial, start.repeat, start.limit}};
}

/// False when it was to begin with a checkpoint of its parent, and there is none.
bool AdoptFromParent(const RunFolder& run, const TrialStart& start) {
  if (!start.parent) return true;
  const auto place_of = [&](TrialNumber trial) { return PlaceOfAttempt(FolderOf(run, trial), 1, nullptr); };
  const auto own = place_of(start.trial);
  return NewestCheckpointOf(own) || !AdoptNewestCheckpoint(place_of(*start.parent), own.checkpoints).empty();
}

void NoteJob(const RunFolder& folder, const JobIdentity& job) {
  const auto buffer = MakeBatchJob(ReplanRun(folder), folder.path()).burst_buffer;
  WriteBatchRecord(folder.path(), {job, !buffer.out.empty(), {}, {}});
}

/// When its manager in the job began; nothing: it waits in the queue, or never left it.
std::optional<WallTime> BeginOf(const RunState& state) { return ParseUtc(state.started); }

/// The allocation may be some time older than its manager.
std::optional<WallTime> BeginOf(const ObservedRun& observed) {
  const auto begin = BeginOf(observed.state);
  const auto& job = observed.job;
  if (!begin || !job || !job->start || job->phase() == JobPhase::kWaiting) return begin;
  return std::min<WallTime>(*begin, *job->start);
}

/// As Slurm tells it: the manager in the job had no last word.
TrialEnded EndingBySlurm(const ObservedRun& observed) {
  TrialEnded ending;
  ending.status = {1, 0};
  if (!observed.job) {
    const bool cancelled = observed.state.phase == Phase::kCancelled;
    ending.cause = cancelled ? OutsideCause::kCancelled : OutsideCause::kNodeLost;
    ending.detail = observed.state.reason;
    return ending;
  }
  const auto& job = *observed.job;
  if (!job.status().Success()) ending.status = job.status();
  ending.cause = OutsideCauseOf(job.state);
  ending.detail = fmt::format("job {} {}", job.id, InWords(job.state, job.flags));
  return ending;
}

/// Who ends a job signals its ranks and their manager at once: that one may see a rank die before it hears the reason.
OutsideCause CauseBySlurm(const RunFolder& folder) try {
  const auto job = SlurmClient().Job(JobOf(folder, folder.ReadState()));
  return job ? OutsideCauseOf(job->state) : OutsideCause::kNone;
} catch (const SlurmError&) {
  return OutsideCause::kNone;
}

}  // namespace

BatchTrial::BatchTrial(RunFolder folder, TrialNumber trial, TrialOrder order)
    : folder_(std::move(folder)), trial_(trial), order_(order) {}

BatchTrial::BatchTrial(const RunFolder& run, const Plan& plan, const TrialStart& start)
    : BatchTrial(BeginAttempt(run, start.trial), start.trial, {}) {
  order_ = OrderFor(folder_, start);
  lacks_weights_ = !AdoptFromParent(run, start);
  plan_ = MakePlan(DocumentOfTrial(plan.document, start.trial, start.parameters), run.trials());
  auto document = ToJson(*plan_);
  document["trial"] = start.trial;
  document["parameters"] = start.parameters;
  WriteFile(folder_.spec_file(), plan.document.source, HoldsSecrets(*plan.document.resolved) ? kPlanMode : kFileMode);
  WriteFile(folder_.plan_file(), document.dump(2) + "\n", kPlanMode);
  WriteTrialOrder(folder_, order_);
}

std::unique_ptr<BatchTrial> BatchTrial::Find(const RunFolder& run, TrialNumber trial, int attempt) {
  const auto path = FolderOf(run, trial);
  if (!fs::exists(path / "state.json")) return {};
  auto folder = RunFolder::Open(path);
  const auto order = ReadTrialOrder(folder);
  if (!order || order->attempt != attempt) return {};
  std::unique_ptr<BatchTrial> found(new BatchTrial(std::move(folder), trial, *order));
  return found->HasJob() ? std::move(found) : nullptr;
}

bool BatchTrial::HasJob() {
  if (JobOf(folder_, folder_.ReadState()).id != 0) return true;
  const auto job = FindSubmitted(SlurmClient(), folder_);
  if (job) NoteJob(folder_, *job);
  return job.has_value();
}

std::vector<std::string> BatchTrial::Submit() {
  auto submitted = SubmitBatchRun(folder_, *plan_);
  plan_.reset();
  return std::move(submitted.doubts);
}

void BatchTrial::Stop(std::string_view reason, JobEnd how) {
  WriteStopRequest(folder_, reason);
  CancelBatchRun(folder_, folder_.ReadState(), how);
}

void BatchTrial::Keep(const MetricsLine& line) {
  for (const auto& [name, value] : line.values) {
    metrics_.push_back(ensemble::MetricRecord{trial_, order_.attempt, name, line.step, line.epoch, value, line.time});
  }
}

void BatchTrial::TakeMetrics(Events& events) {
  for (int number = order_.attempts_past + 1; fs::exists(folder_.attempt(number)); ++number) {
    auto take = [this, reader = MetricsReader()](std::string_view text) mutable {
      if (const auto line = reader.Read(text)) Keep(*line);
    };
    const auto file = folder_.attempt(number) / "metrics.jsonl";
    const auto [report, is_new] = reports_.try_emplace(number, file, std::move(take));
    report->second.Poll();
  }
  if (!metrics_.empty()) NoteBegin(BeginOf(folder_.ReadState()), events);
  events.insert(events.end(), metrics_.begin(), metrics_.end());
  metrics_.clear();
}

void BatchTrial::Take(const ObservedRun& observed, Events& events) {
  NoteBegin(BeginOf(observed), events);
  if (has_ended_ || !HasEnded(observed.state.phase)) return;
  has_ended_ = true;
  TakeMetrics(events);
  events.push_back(EndOf(observed));
}

void BatchTrial::NoteBegin(std::optional<WallTime> begin, Events& events) {
  if (!begin || std::exchange(has_begun_, true)) return;
  events.push_back(ensemble::TrialBegan{trial_, order_.attempt, UnixSeconds(*begin)});
}

TrialEnded BatchTrial::EndOf(const ObservedRun& observed) const {
  auto ending = ReadTrialEnding(folder_);
  if (!ending || ending->attempt != order_.attempt) ending = EndingBySlurm(observed);
  if (ending->status.signal != 0 && ending->cause == OutsideCause::kNone) ending->cause = CauseBySlurm(folder_);
  if (!has_begun_ && ending->cause == OutsideCause::kNone) ending->cause = OutsideCause::kNotStarted;
  ending->trial = trial_;
  ending->attempt = order_.attempt;
  ending->time = UnixSecondsIn(observed.state.ended);
  return *ending;
}

int EndJobsOfTrials(const RunFolder& run) {
  int ended = 0;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(run.trials(), none)) {
    if (!fs::exists(entry.path() / "state.json")) continue;
    const auto trial = RunFolder::Open(entry.path());
    const auto state = ObserveRun(trial);
    if (HasEnded(state.phase) || !IsInBatchSystem(trial, state)) continue;
    CancelBatchRun(trial, state);
    ++ended;
  }
  return ended;
}

}  // namespace slipway::launcher
