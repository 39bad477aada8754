/// How the open steps of a workflow become Slurm jobs: one by one, as tasks of a job array, or several in one job.
/// Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/units.h"
#include "launcher/workflow/pack.h"
#include "launcher/workflow/workflow.h"

namespace slipway::launcher {

/// A step that takes no longer is small. A job costs a scheduler seconds, and users a place in the queue.
inline constexpr Seconds kLongestSmallStep{300};
/// As long as a packed job of small steps takes, by what they took before.
inline constexpr Seconds kLongestPack{3600};

struct JobFacts {
  std::vector<bool> open;                    ///< steps that get a job now
  std::vector<bool> live;                    ///< steps that have one
  std::vector<std::optional<Seconds>> took;  ///< by earlier results; nothing: the step has not run
  std::optional<NodeSize> node;              ///< nothing: no controller has answered
  std::int64_t max_array_size = 1001;        ///< tasks are numbered below it; here Slurm's default
};

/// One job, or one array.
struct StepJob {
  JobForm form = JobForm::kSingle;  ///< never kAuto
  std::string name;                 ///< "prepare", "train" of all steps of a foreach, or that of a pack
  std::vector<StepIndex> steps;     ///< one of kSingle
  PackSize size;                    ///< of kPacked
  std::string why;                  ///< why in this form; empty where there is no choice
  std::optional<int> at_once = {};  ///< of kArray: tasks that run at a time; unset: all
  int first_index = 0;              ///< of kArray: the index of the step that is task 0
};

/// The task of the array that carries out the step; nothing in another form. Slurm limits the numbers of tasks, so the
/// steps of a large foreach are several arrays.
std::optional<int> TaskOf(const Workflow& workflow, const StepJob& job, StepIndex step);

/// Each comes after those that it waits for. Errors: Error(kUsage) for a step with `parallel` whose foreach cannot be
/// an array.
std::vector<StepJob> ShapeJobs(const Workflow& workflow, const JobFacts& facts);

/// Whether the choice of ShapeJobs depends on the cluster.
bool HasChoice(const Workflow& workflow);

}  // namespace slipway::launcher
