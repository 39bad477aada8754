/// Carries out steps of a workflow as processes of this machine: decides, starts, tries again, publishes, records.
#pragma once

#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/event_loop.h"
#include "core/interrupt.h"
#include "core/output.h"
#include "launcher/run/workflow/local_step_runner.h"
#include "launcher/run/workflow/result_store.h"
#include "launcher/run/workflow/step_journal.h"
#include "launcher/run/workflow/step_launch.h"
#include "launcher/run/workflow/step_reuse.h"
#include "launcher/workflow/step_board.h"

namespace slipway::launcher {

class PauseNote;

/// Between two tries to write.
inline constexpr auto kPauseWhileFull = std::chrono::milliseconds(500);

/// All must outlive the execution.
struct ExecutionOrder {
  const RunFolder& folder;
  const Workflow& workflow;
  const std::vector<std::string>& forced;           ///< steps that run although they have a result
  const std::map<std::string, StepRecord>& before;  ///< what the run has done before
  JobIdentity job = {};  ///< the Slurm job that carries out one step, with all it has; no job: steps share this machine
  std::optional<int> cpus = {};  ///< that they share; left out: all
  bool in_job = false;           ///< of Slurm, which may end it as a whole
  PauseNote* pause = nullptr;    ///< of the run; null: several processes carry it out
};

class StepExecution {
 public:
  /// `note` gets each new state of a step, before anything else follows from it.
  using Note = std::function<void(const Step& step, const StepRecord& record)>;

  StepExecution(const ExecutionOrder& order, EventLoop& loop, Interrupt& interrupt, Output& output, Note note);

  /// Before anything else: experiments that go on under their own managers are waited for. Runs that no step would
  /// begin as they are end. `before`: what the killed manager had recorded.
  void TakeUp(const std::map<std::string, StepRecord>& before);
  /// Decides on all steps that have become ready, and starts what fits.
  void Advance();
  /// A step that another process carries out has ended so.
  void Know(StepIndex step, StepState state, const std::string& result);
  /// Decides on one step that is ready.
  void Consider(StepIndex index);
  /// Starts what was decided on and fits.
  void StartWhatFits();
  /// Every program is asked to end; the second request ends it at once.
  void StopAll();
  /// Passes a signal on to the programs of all steps.
  void SignalAll(int signal) { runner_.SignalAll(signal); }

  /// Once, until something is done again. The note of the run says it, too.
  void SayFull(const Error& error);

  const StepBoard& board() const { return board_; }
  /// The steps that run, for people.
  std::string RunningNames() const;
  const std::string& first_failure() const { return first_failure_; }

 private:
  /// A step between its start and its published result. Several processes may wait for its run, one after the other.
  struct ActiveStep {
    PreparedStep prepared;
    SteadyTime began;
    WallTime started;
    SteadyTime process_began;
    int killed_waits = 0;    ///< in a row, each soon after its start
    bool is_paused = false;  ///< its own run stands still, as was said
  };

  /// Why a step has no result.
  struct NotKept {
    std::string why;               ///< empty: it has one
    std::string changed_before{};  ///< the input that had changed before its program started; empty: none
  };

  /// A step whose run goes on without a process that waits for it.
  struct KilledWait {
    ActiveStep active;  ///< as it was
    StepEnd end;        ///< of the process that waited
  };

  /// What other runs leave at one look, as the last step has found that got too few.
  struct GpusLeft {
    int count = std::numeric_limits<int>::max();
    std::string others = {};
    std::map<std::string, std::vector<StepIndex>> began_to_wait = {};  ///< at this look, by `others`
  };

  bool IsOwn(const StepDecision& decision);
  std::string WhySkipped(const Step& step);
  /// Nothing at its first time: there is nothing to tell.
  std::string WhyAgain(StepIndex index) const;
  const Json& ResultOf(StepIndex step) { return store_.ValuesOf(reuse_.of(step).id); }
  StepResources NeedsHere(const Step& step) const;
  bool HasTurn(const Step& step) const;
  void ConsiderReady();
  void TakeUp(StepIndex index, const StepRecord& before);
  bool SignalRun(const std::filesystem::path& run_folder, int signal);
  void NoteWait(StepIndex index, const std::string& why, GpusLeft& left);
  void AnnounceWaits(const GpusLeft& left);
  bool GoesOn(StepIndex index);
  bool HasResultByNow(StepIndex index);
  void SettleWithResult(StepIndex index);
  void WaitForWhatGoesOn();
  std::optional<GpuHold> HoldGpus(StepIndex index, const StepResources& needs, GpusLeft& left);
  void Start(StepIndex index, GpuHold gpus);
  ActiveStep Begin(StepIndex index);
  void RequireInputs(StepIndex index);
  void AwaitSpace(StepIndex index, const Error& error);
  void GoOn();
  void RenewLater();
  void LookAtPausesLater();
  void LookAtPause(StepIndex index, ActiveStep& active);
  void OnEnd(const StepEnd& end);
  bool IsCutShort(const StepEnd& end) const;
  void Judge(const StepEnd& end);
  bool MayWaitAgain(const StepEnd& end);
  void WaitAgain(const StepEnd& end);
  void EndKilledWait(StepIndex index);
  void StopRunOf(StepIndex index);
  void AwaitEndOfRun(StepIndex index);
  NotKept WhyNotKept(const StepEnd& end) const;
  void ReadAnew(StepIndex index, const std::string& input);
  void StartAgain(StepIndex index);
  StepResult ResultToPublish(StepIndex index) const;
  void Publish(StepIndex index);
  void Finish(StepIndex index, StepState state, const std::string& reason);
  void Settle(StepIndex index, StepState state, const std::string& reason);
  void NoteState(StepIndex index, StepState state, const std::string& reason);
  void Announce(StepIndex index);

  const RunFolder& folder_;
  const Workflow& workflow_;
  JobIdentity job_;
  bool in_job_;
  PauseNote* pause_;
  EventLoop& loop_;
  Interrupt& interrupt_;
  Output& output_;
  Note note_;
  ResultStore store_;
  const std::map<std::string, StepRecord>& before_;
  std::map<std::string, StepRecord> records_;
  std::map<std::string, std::string> made_;
  StepReuse reuse_;
  StepBoard board_;
  NodeSize node_;  ///< this one
  LocalStepRunner runner_;
  std::set<StepIndex> waiting_;  ///< ready, until something is free for them
  std::map<StepIndex, ActiveStep> active_;
  std::map<StepIndex, KilledWait> to_wait_again_;
  std::set<StepIndex> counted_;    ///< their attempt is counted, and its program not started yet
  std::set<StepIndex> read_anew_;  ///< have started again because an input had changed before their start
  std::string first_failure_;
  bool said_full_ = false;
};

}  // namespace slipway::launcher
