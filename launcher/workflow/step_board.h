/// The states of all steps of a workflow that runs: pure, it starts nothing.
///
///                     .--> reused
///   waiting --> ready +--> running --> done
///      |          |   |       |   '--> failed
///      |          |   '-> skipped '--> ready        (a retry)
///      |          |
///      +----------+---------> skipped               (what it needs was skipped)
///      +--------------------> blocked               (what it needs has failed)
///      '--- waiting, ready, running ---> cancelled
///
/// A step becomes ready when all steps that it needs are done or reused.
#pragma once

#include <string>
#include <vector>

#include "core/words.h"
#include "launcher/workflow/workflow.h"

namespace slipway::launcher {

/// Stored in the journal as words.
enum class StepState { kWaiting, kReady, kRunning, kDone, kReused, kSkipped, kFailed, kBlocked, kCancelled };
WordTable<StepState> WordsOf(StepState);

/// Whether nothing more happens to a step in this state.
bool IsFinal(StepState state);
/// Whether it has a result.
bool HasResult(StepState state);

class StepBoard {
 public:
  /// `workflow` must outlive it.
  explicit StepBoard(const Workflow& workflow);

  StepState at(StepIndex step) const { return states_[step]; }
  /// The steps that have become ready since the last call, in the order of the workflow.
  std::vector<StepIndex> TakeReady();

  /// From ready to running, and back. A step that goes back is not among those of TakeReady.
  void Start(StepIndex step);
  void Retry(StepIndex step);
  /// The step enters a final state. Returns the others that do because of it: blocked, or skipped.
  std::vector<StepIndex> Settle(StepIndex step, StepState state);
  /// All steps that are not final become cancelled, except those that run.
  void CancelTheRest();

  bool IsOver() const { return left_ == 0; }
  std::size_t left() const { return left_; }
  int CountOf(StepState state) const;

 private:
  void Enter(StepIndex step, StepState state);

  const Workflow& workflow_;
  std::vector<StepState> states_;
  std::vector<std::size_t> missing_;  ///< steps that it still waits for
  std::vector<StepIndex> ready_;
  std::size_t left_;  ///< steps that are not final
};

}  // namespace slipway::launcher
