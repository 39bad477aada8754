/// An end of each kind, with values in all of its fields that are not the default ones.
#pragma once

#include <signal.h>

#include <cerrno>
#include <vector>

#include "launcher/run_folder/end_cause.h"

namespace slipway::test {

inline std::vector<launcher::EndCause> EveryCause() {
  using launcher::CancelledWhile;
  using launcher::JobState;
  namespace cause = launcher::cause;
  return {cause::Completed{},
          cause::Cancelled{CancelledWhile::kSubmitting},
          cause::RankFailed{1, "n2", {3, 0}},
          cause::RankLeft{9, "n9"},
          cause::RankNotStarted{2, "n3", "train", ENOENT, "/no/such/python"},
          cause::RankLost{3, "n4"},
          cause::OutOfMemory{4, "n5"},
          cause::Watched{"stalled", "rank 2 on host n17 is stopped", 5},
          cause::NoProgress{6, "n6", {0, SIGTERM}, 21},
          cause::StartFailed{"only 1 of 2 ranks started"},
          cause::NodeLost{"node n2 is lost", 7, true, 5},
          cause::NodesMissing{"node n3 did not come", true, 5},
          cause::TimeLimit{90.5},
          cause::JobTimeLimit{true, true, true},
          cause::JobEnded{12, JobState::kOutOfMemory, {1, 0}},
          cause::JobWithoutOutput{13, "n7", "/runs/a/manager.log"},
          cause::JobRemoved{14},
          cause::JobRequeued{15},
          cause::JobPreempted{16, true},
          cause::JobForgotten{17},
          cause::RequeueRefused{18, "access denied"},
          cause::SubmissionRefused{"no partition can take it"},
          cause::NotSubmitted{"Slurm fell silent"},
          cause::ManagerLost{4711, "n8"},
          cause::ManagerElsewhere{4712, "/runs/small 1"},
          cause::DiskFull{"cannot write '/runs/a': No space left on device"},
          cause::StagingFailed{"cannot read '/data/a'"},
          cause::ManagerFailed{"the book is damaged"},
          cause::TooManyFailures{8},
          cause::NoTrialCompleted{2, 1, 3, 4},
          cause::SameFailure{"3 trials in a row failed alike: no licence"},
          cause::OutOfTime{true, true},
          cause::OutOfNodes{2, 8, 1, 3, 4, 5, true, 5},
          cause::ServingEnded{true},
          cause::StepsFailed{2, "train"}};
}

}  // namespace slipway::test
