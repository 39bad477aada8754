#include "launcher/run/manager.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "core/clock.h"
#include "core/error.h"
#include "core/log.h"
#include "core/text.h"
#include "core/write_probe.h"
#include "ensemble/store/trial_book.h"
#include "launcher/attempt/allocation.h"
#include "launcher/attempt/check_pairing.h"
#include "launcher/cluster/slurm_trouble.h"
#include "launcher/exports/live_tensorboard.h"
#include "launcher/notify/notifier.h"
#include "launcher/plan/workdir.h"
#include "launcher/run/batch/batch_run.h"
#include "launcher/run/batch/job_of_run.h"
#include "launcher/run/context/device_recorder.h"
#include "launcher/run/context/gpus_of_run.h"
#include "launcher/run/context/instance_log.h"
#include "launcher/run/data/staging_session.h"
#include "launcher/run/ending/job_end_reason.h"
#include "launcher/run/ending/node_requeues.h"
#include "launcher/run/results/stage_out_queue.h"
#include "launcher/run/single_run.h"
#include "launcher/run/trials/ensemble_run.h"
#include "launcher/run/trials/trial_order.h"
#include "launcher/run_folder/end_reason.h"
#include "launcher/run_folder/final_state_reserve.h"
#include "launcher/run_folder/orphan.h"
#include "launcher/run_folder/pause_note.h"
#include "launcher/run_folder/record_provenance.h"
#include "launcher/spec/spec.h"

namespace slipway::launcher {
namespace {

/// While the disk of the run folder is full.
constexpr auto kPauseBetweenTries = std::chrono::milliseconds(500);

bool MayRunAgain(const RunFolder& folder) {
  auto book = ensemble::TrialBook::OpenForReading(folder.path());
  const auto study = book.Study();
  const auto trials = book.TrialStates();
  const auto is_complete = [](const auto& trial) { return trial.state == ensemble::TrialState::kComplete; };
  return !study || std::cmp_less(trials.size(), study->trials * study->repeats) ||
         !std::ranges::all_of(trials, is_complete);
}

/// Removes the folder `.call-NAME-*` beside a run that has succeeded and was launched from Python: only starts of the
/// job read it. While trials are left that may run again, it stays. Changes nothing for other runs.
void RemoveCallFolder(const RunFolder& folder, const Plan& plan) try {
  const auto& place = plan.document.directory;
  const bool is_beside = place.parent_path() == folder.path().parent_path();
  if (!is_beside || !place.filename().native().starts_with(".call-")) return;
  if (plan.spec().ensemble && MayRunAgain(folder)) return;
  std::error_code error;
  std::filesystem::remove_all(place, error);
  if (error) log::Info("'{}' stays: {}", place.native(), error.message());
} catch (const std::exception& error) {  // it can be removed by hand
  log::Info("the folder of the call stays: {}", error.what());
}

class Manager {
 public:
  Manager(const RunFolder& folder, FileLock lock, const Plan& plan, Output& output, LinePrefix prefix, GpuLocks gpus)
      : folder_(folder),
        plan_(plan),
        output_(output),
        prefix_(prefix),
        lock_(std::move(lock)),
        state_(folder.ReadState()),
        trial_(ReadTrialOrder(folder)),
        trials_are_jobs_(TrialsAreJobs(plan.spec())),
        interrupt_(loop_),
        started_(SystemClock().Steady()),
        given_gpus_(std::move(gpus)) {}

  int CarryOut() {
    EndOrphanedRanks(state_.job, output_);
    BecomeManager();
    const auto result = AtTimeLimit(AsSlurmSays(Perform()));
    EmptyOutbox();
    data_.Release();
    WriteDown(result);
    if (result.phase == Phase::kSucceeded) RemoveCallFolder(folder_, plan_);
    Announce(result);
    if (result.phase == Phase::kQueued && !put_back_) QueueAgain();
    return OutcomeExitCode(result.phase);
  }

 private:
  NotifyOrder OrderOfNotices() const { return {plan_.spec().name, plan_.document.directory, plan_.spec().notify}; }

  void BecomeManager() {
    // Submitted runs are queued when their job begins; one that lost its node is found as its manager left it.
    if (state_.phase == Phase::kQueued || state_.batch_job != 0) NoteOwnJob();
    if (state_.batch_job != 0) interrupt_.ListenForTimeLimit();
    state_.host = HostName();
    state_.manager = IdentityOf(::getpid());
    state_.started = FormatUtc(SystemClock().Now());
    ForgetEnd(state_);
    state_.metrics.clear();
    if (!trial_) RecordMachine(folder_, plan_, state_.batch_job != 0);
    if (!plan_.spec().notify.empty()) notifier_.emplace(folder_, OrderOfNotices(), loop_, output_);
    if (plan_.spec().train.metrics.tensorboard) {
      tensorboard_.emplace(trial_ ? folder_.path().parent_path().parent_path() : folder_.path(), loop_, output_);
      if (!trial_) tensorboard_->CatchUp();
    }
    if (plan_.spec().mllog && !trials_are_jobs_) log_.emplace(folder_.path(), plan_, LoggedInstance(), output_);
    if (!plan_.data.empty() && !trials_are_jobs_) Enter(Phase::kStaging);
  }

  void NoteOwnJob() {
    const auto own = OwnBatchJob();
    state_.batch_job = own.id;
    state_.batch_task = own.task;
    if (!own.cluster.empty()) state_.batch_cluster = own.cluster;
  }

  /// The run's job; none for a run that was not submitted.
  JobIdentity OwnJob() const { return state_.batch_job != 0 ? JobOf(folder_, state_) : JobIdentity{}; }

  /// The run; of an ensemble what its trials share.
  Instance LoggedInstance() const {
    const auto& spec = plan_.spec();
    Instance instance;
    instance.nodes = spec.launch.nodes;
    instance.ranks = spec.launch.nodes * spec.launch.ranks_per_node;
    instance.is_common = spec.ensemble && !trial_;
    if (instance.is_common) return instance;
    if (trial_) instance.number = std::stoll(folder_.id());
    const int repeat = trial_ ? trial_->terms.repeat : 0;
    instance.parameters = EffectiveParameters(spec.train, WithSeedOfRepeat(spec.train, Json::object(), repeat));
    return instance;
  }

  void Enter(Phase phase, const Json& more = Json::object()) {
    state_.phase = phase;
    Commit(PhaseName(phase), more);
  }

  void Commit(std::string_view event, const Json& more = Json::object()) {
    Json members{{"attempt", state_.attempt}, {"reason", state_.reason}};
    members.update(more);
    log::Info("run {}: {}", state_.run, event);
    if (event == "restarting" && notifier_ && !trial_) notifier_->AttemptFailed(state_);
    AwaitSpace([&] {
      folder_.WriteState(state_);
      folder_.AppendEvent(event, members);
    });
  }

  /// Waits while the disk is full, until the user ends the run. The ranks stand at their gate, or have ended.
  template <class Write>
  void AwaitSpace(const Write& write) {
    bool waits = false;
    while (!TryToWrite(write, waits)) loop_.RunOnce(kPauseBetweenTries);
    if (!waits) return;
    output_.Say("the run goes on");
    pause_.Clear();
  }

  /// False when it is worth another try.
  template <class Write>
  bool TryToWrite(const Write& write, bool& waits) try {
    write();
    return true;
  } catch (const SystemError& error) {
    if (!MeansDiskFull(error.code()) || interrupt_.asked()) throw;
    if (!std::exchange(waits, true)) {
      pause_.Set({ensemble::PauseCause::kDiskFull, error.message()});
      output_.Warn(fmt::format("paused: {}: the run waits for free space there; Ctrl-C ends it", error.message()));
    }
    return false;
  }

  /// GPUs, nodes, data, and the way back for checkpoints and results.
  void PreparePlaces() {
    // First: it sets variables.
    if (plan_.engine == "local") gpus_ = HoldGpusFor(plan_.spec(), state_.run, std::move(given_gpus_));
    stage_out_queue_ =
        StageOutQueue::Open(folder_, plan_, loop_, output_);  // first: what an earlier manager left gets safe meanwhile
    if (plan_.spec().launch.nodes > 1) {
      allocation_.emplace(folder_, plan_, loop_, interrupt_, output_,
                          [this](const std::string& reason) { WarnOf(reason); });
    }
    if (plan_.spec().launch.ranks() > 1) TryStart();
    if (log_) log_->StartStaging();
    is_staging_ = true;
    data_.Begin(allocation_ ? &allocation_->nodes() : nullptr);
    is_staging_ = false;
    if (log_) log_->StopStaging();
    state_.detail = data_.remarks();
  }

  void CloseLog(const RunResult& result) {
    if (log_) log_->StopRun(result.phase == Phase::kSucceeded, ReasonFor(result.cause, state_.run));
  }

  /// What the run or the ensemble works with, once the places are prepared.
  RunContext MakeContext() {
    return {.plan = plan_,
            .folder = folder_,
            .data = data_.directories(),
            .state = state_,
            .batch_job = OwnJob(),
            .loop = loop_,
            .files = files_,
            .interrupt = interrupt_,
            .output = output_,
            .prefix = prefix_,
            .stage_out_queue = stage_out_queue_.get(),
            .allocation = allocation_ ? &*allocation_ : nullptr,
            .log = log_ ? &*log_ : nullptr,
            .tensorboard = tensorboard_ ? &*tensorboard_ : nullptr,
            .notifier = notifier_ ? &*notifier_ : nullptr,
            .pause = &pause_,
            .trial = trial_ ? &*trial_ : nullptr,
            .commit = [this](std::string_view event) { Commit(event); }};
  }

  /// Records an error before it is reported anywhere else.
  RunResult Perform() try {
    if (!trials_are_jobs_) PreparePlaces();
    if (interrupt_.asked()) return Cancelled();
    auto context = MakeContext();
    const bool is_ensemble = plan_.spec().ensemble && !trial_;
    std::optional<DeviceRecorder> devices;
    if (!trials_are_jobs_) {
      devices.emplace(loop_, DeviceFiles{folder_.energy_file(), folder_.gpus_file()}, WhatToMeasure(),
                      [this](const std::string& reason) { WarnOf(reason); });
    }
    has_begun_ = true;
    auto result = is_ensemble ? CarryOutEnsemble(context) : CarryOutSingleRun(context);
    CloseLog(result);
    data_.End();
    return result;
  } catch (const NodesMissing& error) {
    RunResult result;
    const auto again = MayGetMissingNodes(folder_, plan_, state_);
    result.phase = again.allowed ? Phase::kQueued : Phase::kFailed;
    result.cause = cause::NodesMissing{std::string(FirstLine(error.message())), again.allowed, again.spent};
    result.detail = error.what();
    return result;
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kInterrupted) return Cancelled(error.what());
    if (auto known = RecordFailure(CauseOf(error), error.what())) return *std::move(known);
    throw;
  } catch (const std::exception& error) {  // without this record the run would read as lost
    if (auto known = RecordFailure(cause::ManagerFailed{error.what()}, error.what())) return *std::move(known);
    throw;
  }

  /// The result, where Slurm has ended the job. Else nothing: the failure is written down.
  std::optional<RunResult> RecordFailure(EndCause ended, std::string detail) {
    RunResult failed;
    failed.cause = std::move(ended);
    failed.detail = std::move(detail);
    if (auto known = AsSlurmSays(failed); fate_ != JobEndReason::kStays) return known;
    data_.Release();
    EmptyOutbox();
    WriteDown(failed);
    return {};
  }

  EndCause CauseOf(const Error& error) const {
    const auto* system = dynamic_cast<const SystemError*>(&error);
    if (system != nullptr && MeansDiskFull(system->code())) return cause::DiskFull{error.message()};
    if (is_staging_) return cause::StagingFailed{error.message()};
    return cause::ManagerFailed{error.message()};
  }

  void TryStart() {
    const auto warning = CheckPairing(plan_.mpi);
    if (!warning.empty()) WarnOf(warning);
  }

  void WarnOf(const std::string& reason) {
    output_.Warn(reason);
    NoteEvent(folder_, output_, "warning", Json{{"reason", reason}});
  }

  /// Agents measure the GPUs of their nodes, also of the manager's.
  DevicesToMeasure WhatToMeasure() {
    const RunOnGpus run{plan_.spec(), folder_.path()};
    if (!allocation_) return {.gpus = GpusOfRun(run)};
    return {.nodes = MeasureGpusOfNodes(run, allocation_->nodes()), .processors = allocation_->HasThisNode()};
  }

  /// Whether the time limit ended the run: Slurm warned before it, or has reached it and ends everything.
  bool IsCutByTimeLimit(const RunResult& result) const {
    if (fate_ == JobEndReason::kTimedOut) return result.phase != Phase::kSucceeded;
    const bool warned = interrupt_.cause() == InterruptCause::kTimeLimit;
    return warned && result.phase == Phase::kCancelled && fate_ == JobEndReason::kStays;
  }

  /// A run that its job's time limit has cut goes back into the queue, or has failed.
  RunResult AtTimeLimit(RunResult result) const {
    if (!IsCutByTimeLimit(result)) return result;
    const bool wanted = plan_.spec().checkpoint.on_time_limit == OnTimeLimit::kRequeue;
    const bool requeued = wanted && (result.progressed || (!has_begun_ && MayStageAgain(folder_, state_.batch_job)));
    result.phase = requeued ? Phase::kQueued : Phase::kFailed;
    result.cause = cause::JobTimeLimit{requeued, wanted && !requeued, !has_begun_};
    return result;
  }

  /// Adjusts the result to what Slurm does with the job. Slurm signals this manager, before a time limit or otherwise.
  /// Or it signals only the job's steps: then nodes seem to be lost and ranks fail. Ranks that scancel signals may end
  /// with status 0 before this manager sees a signal. Of success only scancel makes anything else.
  RunResult AsSlurmSays(RunResult result) {
    if (state_.batch_job == 0) return result;
    const auto [fate, job_state] = EndReasonOfJob(OwnJob());
    fate_ = fate;
    if (result.phase == Phase::kSucceeded && fate_ != JobEndReason::kRemoved) return result;
    switch (fate_) {
      case JobEndReason::kStays:
      case JobEndReason::kTimedOut: break;
      case JobEndReason::kEnded:
        result.phase = Phase::kFailed;
        result.cause = cause::JobEnded{state_.batch_job, job_state};
        break;
      case JobEndReason::kRemoved:
        result.phase = Phase::kCancelled;
        result.cause = cause::JobRemoved{state_.batch_job};
        break;
      case JobEndReason::kPutBack:
        put_back_ = true;
        result.phase = Phase::kQueued;
        result.cause = cause::JobRequeued{state_.batch_job};
        break;
      case JobEndReason::kPreempted:
        result.phase = plan_.spec().launch.slurm.requeue ? Phase::kQueued : Phase::kFailed;
        result.cause = cause::JobPreempted{state_.batch_job, result.phase == Phase::kQueued};
    }
    return result;
  }

  /// `detail` says what is kept for the next run.
  static RunResult Cancelled(std::string detail = {}) {
    RunResult result;
    result.phase = Phase::kCancelled;
    result.cause = cause::Cancelled{CancelledWhile::kStaging};
    result.detail = std::move(detail);
    return result;
  }

  /// Nothing stays behind in a tier, however the run has ended. What cannot be copied out is worth a warning, not the
  /// run: it is not lost.
  void EmptyOutbox() try {
    if (!stage_out_queue_) return;
    const auto left = stage_out_queue_->Finish(interrupt_);
    stage_out_queue_.reset();
    if (left.empty()) return;
    output_.Warn(left);
    folder_.AppendEvent("stage_out_incomplete", Json{{"reason", left}});
  } catch (const std::exception& error) {
    output_.Warn(fmt::format("checkpoints or results may be left in the tier: {}; 'slipway stage out {}' finishes",
                             error.what(), folder_.selector()));
  }

  /// For the ensemble of a trial, which looks at it when the state below says that there is an end.
  void WriteEnding(const RunResult& result) const {
    const auto reason = ReasonFor(result.cause, state_.run);
    const auto detail = result.detail.empty() ? reason : reason + "\n" + result.detail;
    WriteTrialEnding(folder_, {.attempt = trial_->attempt,
                               .status = result.status,
                               .detail = detail,
                               .cause = OutsideCauseOf(result.cause),
                               .rank = RankOf(result.cause),
                               .last_line = result.last_line});
  }

  /// A job that stays out of the queue ends with this manager, and the run with it.
  void QueueAgain() try { RequeueBatchJob(folder_, state_, output_); } catch (const SlurmError& error) {
    RunResult failed;
    failed.cause = cause::RequeueRefused{state_.batch_job, error.message()};
    WriteDown(failed);
    throw;
  }

  void WriteDown(const RunResult& result) {
    reserve_.GiveUp();
    CloseLog(result);
    if (trial_) AwaitSpace([&] { WriteEnding(result); });
    EndAs(state_, result.phase, result.cause);
    state_.detail = data_.remarks();
    if (!state_.detail.empty() && !result.detail.empty()) state_.detail += "\n\n";
    state_.detail += result.detail;
    state_.ended = FormatUtc(SystemClock().Now());
    state_.metrics = result.metrics;
    state_.job = {};
    try {
      Enter(result.phase, result.phase == Phase::kQueued
                              ? MembersOfRequeue(state_.batch_job, result.cause, result.progressed)
                              : Json::object());
    } catch (const SystemError& error) {
      if (!MeansDiskFull(error.code())) throw;
      output_.Warn(
          fmt::format("how the run ended is not written down: {}; free space there: it reads as lost until "
                      "then, and 'slipway resume {}' carries it out again",
                      error.message(), folder_.selector()));
    }
    Notify();
  }

  /// Of a trial with its own manager its ensemble tells. A run that is queued again has not ended.
  void Notify() {
    if (!notifier_) return;
    if (!trial_ && HasEnded(state_.phase)) notifier_->RunEnded(state_);
    notifier_->Finish(interrupt_);
  }

  /// Where the files are that the program has written into its working directory, if any.
  std::string FilesText() const {
    const auto workdir = WorkdirOf(plan_, PlaceOfAttempt(folder_.path(), 1), {});
    std::error_code error;
    const bool any = plan_.spec().launch.workdir.kind == WorkdirKind::kOwn &&
                     std::filesystem::directory_iterator(workdir, error) != std::filesystem::directory_iterator();
    return any ? fmt::format("\n  files   {}", workdir.string()) : std::string();
  }

  void Announce(const RunResult& result) {
    auto state = state_;
    folder_.NameInReason(state);
    auto document = ToJson(state);
    document["schema"] = "slipway.run/1";
    document["folder"] = folder_.path().string();
    if (result.summary.is_object()) document.update(result.summary);
    const Seconds elapsed = SystemClock().Steady() - started_;
    auto text = fmt::format("{}  {} in {}", folder_.id(), PhaseName(result.phase), FormatDuration(elapsed));
    if (!state.reason.empty()) text += "\n  " + state.reason;
    if (!result.summary_text.empty()) text += "\n" + result.summary_text;
    text += fmt::format("\n  folder  {}", folder_.path().string());
    text += FilesText();
    if (result.phase == Phase::kFailed) text += fmt::format("\n  why     slipway explain {}", folder_.selector());
    if (!result.detail.empty()) text += "\n\n" + result.detail;
    output_.Print({document, text, folder_.id()});
  }

  const RunFolder& folder_;
  const Plan& plan_;
  Output& output_;
  LinePrefix prefix_;
  FileLock lock_;
  RunState state_;
  std::optional<TrialOrder> trial_;  ///< nothing: this is a run that a user has started
  bool trials_are_jobs_;
  EventLoop loop_;
  DirectoryWatcher files_{loop_};
  Interrupt interrupt_;
  SteadyTime started_;
  GpuLocks given_gpus_;
  GpuHold gpus_;
  std::optional<Allocation> allocation_;
  StagingSession data_{folder_, plan_, output_, loop_, interrupt_};
  std::unique_ptr<StageOutQueue> stage_out_queue_;
  std::optional<InstanceLog> log_;
  std::optional<LiveTensorboard> tensorboard_;
  std::optional<Notifier> notifier_;
  FinalStateReserve reserve_{folder_.path()};
  PauseNote pause_{folder_.path()};
  JobEndReason fate_ = JobEndReason::kStays;  ///< as Slurm reported it at the end
  bool is_staging_ = false;
  bool has_begun_ = false;  ///< ranks or trials may have started
  bool put_back_ = false;   ///< Slurm has queued the job again by itself
};

}  // namespace

int ManageRun(const RunFolder& folder, FileLock lock, const Plan& plan, Output& output, LinePrefix prefix,
              GpuLocks gpus) {
  return Manager(folder, std::move(lock), plan, output, prefix, std::move(gpus)).CarryOut();
}

}  // namespace slipway::launcher
