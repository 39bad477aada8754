#include "launcher/run/batch/batch_observation.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>

#include "core/error.h"
#include "core/log.h"
#include "core/process.h"
#include "launcher/cluster/slurm_client.h"
#include "launcher/ranks/monitor/log_tail.h"
#include "launcher/run/batch/batch_record.h"
#include "launcher/run/batch/batch_state.h"
#include "launcher/run/batch/job_of_run.h"
#include "launcher/run_folder/folder_trouble.h"

namespace slipway::launcher {
namespace {

constexpr std::size_t kLinesOfScript = 10;

/// Its number was never written down, and no job is of this run.
RunState Unsubmitted(RunState state, const std::string& doubt) {
  const bool may_be_at_work = state.host != HostName() || IsAlive(state.manager);
  if (doubt.empty() && may_be_at_work) return state;
  EndAs(state, Phase::kLost, cause::NotSubmitted{doubt});
  return state;
}

/// Records how the stage-out ended. Slurm remembers that only as long as the job, so every reader records it.
BatchRecord NoteStageOut(const RunFolder& folder, BatchRecord record, const std::optional<SlurmJob>& job) {
  record.stages_out = false;
  record.lost = job ? job->reason_text : "Slurm no longer knows the job, and its end was not recorded before";
  try {
    WriteBatchRecord(folder.path(), record);
  } catch (const SystemError& error) {
    log::Info("{}", error.message());  // a reader who may not write: the next one asks again
  }
  return record;
}

/// Its manager has said how it ended; what directives copy out of the buffer comes after that.
RunState AfterItsEnd(const RunFolder& folder, RunState state, const std::optional<SlurmJob>& job) {
  auto record = ReadBatchRecord(folder.path());
  if (record.stages_out) {
    if (job && job->phase() != JobPhase::kOver) return WhileStagingOut(std::move(state), *job);
    record = NoteStageOut(folder, std::move(record), job);
  }
  return record.lost.empty() ? state : WithLostResults(std::move(state), record.job.id, record.lost);
}

/// What a job script said that ended before its manager, or that manager before its end: a module that is not there, a
/// fault.
std::string LastWordsOfScript(const RunFolder& folder) {
  const auto log = folder.path() / "manager.log";
  const auto lines = ShownLastLines(log, kLinesOfScript);
  return lines.empty() ? lines : fmt::format("last lines of {}:\n{}", log.string(), lines);
}

/// `ended`: its manager recorded no end.
RunState WithLastWordsOfScript(const RunFolder& folder, RunState ended) {
  if (const auto words = LastWordsOfScript(folder); !words.empty()) {
    ended.detail += (ended.detail.empty() ? "" : "\n\n") + words;
  }
  return ended;
}

/// The accounting has told of a job that the controller has forgotten, so this end does not change any more. Once it is
/// written down, no reader asks for it again.
void KeepEnd(const RunFolder& folder, const RunState& ended) try {
  const auto lock = folder.TakeManagerLock();
  const auto stored = folder.ReadState();
  if (!HasEnded(stored.phase) && stored.attempt == ended.attempt) folder.WriteState(ended);
} catch (const Error& error) {
  log::Info("{}", error.message());  // a reader who may not write, or a run that goes on: the next one asks again
}

std::optional<SlurmJob> MeantAmong(const std::vector<SlurmJob>& jobs, const JobIdentity& meant) {
  const auto found = std::ranges::find_if(jobs, [&](const auto& job) { return IsMeant(meant, job); });
  return found == jobs.end() ? std::nullopt : std::optional(*found);
}

/// Each once: the tasks of an array share theirs.
std::vector<JobId> NumbersOf(const std::vector<JobIdentity>& jobs) {
  std::set<JobId> numbers;
  for (const auto& job : jobs) numbers.insert(job.id);
  return {numbers.begin(), numbers.end()};
}

/// Runs whose jobs the controller is asked about together.
class Observation {
 public:
  /// `stored`: the states of `folders`, as just read.
  Observation(const std::vector<RunFolder>& folders, std::vector<RunState> stored)
      : folders_(folders), runs_(folders.size()) {
    for (std::size_t i = 0; i < folders.size(); ++i) {
      auto& state = runs_[i].state = std::move(stored[i]);
      if (IsInBatchSystem(folders[i], state)) {
        by_owner_[OwnerOfJobs(folders[i])].push_back(i);
      } else if (HasEnded(state.phase)) {
        state = AfterItsEnd(folders[i], std::move(state), {});
      }
    }
  }

  /// A controller that does not answer for one owner is not asked for the others.
  void AskSlurm() {
    std::string trouble;
    for (const auto& [owner, indices] : by_owner_) {
      if (trouble.empty()) trouble = Ask(owner, indices);
      if (!trouble.empty()) NoteTrouble(indices, trouble);
    }
  }

  std::vector<ObservedRun> TakeRuns() { return std::move(runs_); }

 private:
  /// Why there is no answer, or empty.
  std::string Ask(std::uint32_t owner, const std::vector<std::size_t>& indices) try {
    const SlurmClient slurm;
    std::vector<JobIdentity> meant;
    for (const auto i : indices) {
      if (auto job = JobOf(folders_[i], runs_[i].state); job.id != 0) meant.push_back(std::move(job));
    }
    const auto jobs = slurm.Jobs(NumbersOf(meant), owner, OwnerIs::kInDoubt);
    std::erase_if(meant, [&](const auto& job) {
      return MeantAmong(jobs, job).has_value() || !WhyElsewhere(job, slurm.ClusterName()).empty();
    });
    forgotten_ = NumbersOf(meant);
    past_.reset();
    for (const auto i : indices) CorrectIfHere(i, jobs, slurm);
    return {};
  } catch (const SlurmError& error) {
    return error.message();
  }

  /// What Slurm of another cluster says about a number is not about this run.
  void CorrectIfHere(std::size_t i, const std::vector<SlurmJob>& jobs, const SlurmClient& slurm) {
    auto meant = JobOf(folders_[i], runs_[i].state);
    if (const auto why = WhyElsewhere(meant, slurm.ClusterName()); !why.empty()) return NoteTrouble({i}, why);
    if (meant.id != 0) return Correct(i, meant, jobs, slurm);
    meant = FindSubmitted(slurm, folders_[i]).value_or(meant);
    Correct(i, meant, meant.id == 0 ? jobs : slurm.Jobs(std::span(&meant.id, 1)), slurm);
  }

  void Correct(std::size_t i, const JobIdentity& meant, const std::vector<SlurmJob>& jobs, const SlurmClient& slurm) {
    auto& run = runs_[i];
    if (meant.id == 0) {
      run.state = Unsubmitted(std::move(run.state), ReadBatchRecord(folders_[i].path()).doubt);
      folders_[i].NameInReason(run.state);
      return;
    }
    run.job = MeantAmong(jobs, meant);
    // A manager that has just written its last word is over, too: its word counts.
    run.state = folders_[i].ReadState();
    run.state.batch_job = meant.id;
    run.state.batch_task = meant.task;
    if (HasEnded(run.state.phase)) {
      run.state = AfterItsEnd(folders_[i], std::move(run.state), run.job);
      return;
    }
    const bool is_forgotten = !run.job;
    if (is_forgotten) run.job = AskAccounting(meant, slurm);
    run.state = WithJob(std::move(run.state), run.job, folders_[i].selector());
    if (HasEnded(run.state.phase)) TakeEnd(folders_[i], run.state, is_forgotten && run.job);
  }

  /// The manager recorded no end, perhaps because it could not. `is_final`: the end will not change any more.
  static void TakeEnd(const RunFolder& folder, RunState& ended, bool is_final) {
    ended = WithLastWordsOfScript(folder, std::move(ended));
    const auto trouble = TroubleOf(folder.path());
    if (is_final && trouble.empty() && !ReadBatchRecord(folder.path()).stages_out) KeepEnd(folder, ended);
    folder.NameInReason(ended);
    if (!trouble.empty()) ended.reason += "; " + trouble;
  }

  /// Asked once about all forgotten jobs of an owner. What it tells is good to know, no more: where it is silent for
  /// one owner it is not asked for the others. Without a record nothing shows that the job has ended: the controller
  /// may have lost its state, and a job that it learns of again still carries the run out. So such an end is not kept.
  std::optional<SlurmJob> AskAccounting(const JobIdentity& meant, const SlurmClient& slurm) try {
    if (!past_) past_ = accounting_is_silent_ ? std::vector<SlurmJob>() : slurm.PastJobs(forgotten_);
    return MeantAmong(*past_, meant);
  } catch (const SlurmError& error) {
    log::Info("{}", error.message());
    accounting_is_silent_ = true;
    past_.emplace();
    return {};
  }

  void NoteTrouble(const std::vector<std::size_t>& indices, const std::string& trouble) {
    for (const auto i : indices) {
      runs_[i].trouble = trouble;
      runs_[i].asked = JobOf(folders_[i], runs_[i].state).id;
    }
  }

  const std::vector<RunFolder>& folders_;
  std::vector<ObservedRun> runs_;
  std::map<std::uint32_t, std::vector<std::size_t>> by_owner_;  ///< of those in the batch system
  std::vector<JobId> forgotten_;               ///< of the owner in hand: the controller has no such job
  std::optional<std::vector<SlurmJob>> past_;  ///< what the accounting has of these; nothing: not asked
  bool accounting_is_silent_ = false;
};

}  // namespace

bool IsInBatchSystem(const RunFolder& folder, const RunState& state) {
  if (HasEnded(state.phase)) return ReadBatchRecord(folder.path()).stages_out;
  return state.phase == Phase::kQueued || JobOf(folder, state).id != 0;
}

namespace {

std::vector<ObservedRun> ObserveEach(const std::vector<RunFolder>& folders, std::vector<RunState> stored) {
  Observation observation(folders, std::move(stored));
  observation.AskSlurm();
  return observation.TakeRuns();
}

}  // namespace

std::vector<ObservedRun> ObserveRuns(const std::vector<RunFolder>& folders) {
  std::vector<RunState> stored;
  for (const auto& folder : folders) stored.push_back(folder.ReadState());
  return ObserveEach(folders, std::move(stored));
}

RunState Shown(ObservedRun observed) {
  if (!observed.trouble.empty()) {
    auto& reason = observed.state.reason;
    reason += fmt::format("{}what Slurm says about job {} is not known: {}", reason.empty() ? "" : "; ", observed.asked,
                          observed.trouble);
    if (const auto gone = AboutGoneManager(observed.state); !gone.empty()) reason += "; " + gone;
  }
  return std::move(observed.state);
}

RunState ObserveRun(const RunFolder& folder) { return Shown(std::move(ObserveRuns({folder}).front())); }

std::string_view PhaseWord(const RunRow& row) { return row.state ? PhaseName(row.state->phase) : kUnreadable; }

std::vector<RunRow> ObserveRows(const std::vector<RunFolder>& folders) {
  std::vector<RunRow> rows;
  std::vector<RunFolder> readable;
  std::vector<RunState> stored;
  for (const auto& folder : folders) {
    rows.push_back({folder, {}, {}});
    try {
      stored.push_back(folder.ReadState());
      readable.push_back(folder);
    } catch (const Error& error) {
      rows.back().trouble = error;
    }
  }
  auto observed = ObserveEach(readable, std::move(stored));
  auto next = observed.begin();
  for (auto& row : rows) {
    if (!row.trouble) row.state = Shown(std::move(*next++));
  }
  return rows;
}

}  // namespace slipway::launcher
