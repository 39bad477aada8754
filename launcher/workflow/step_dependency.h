/// What the job of steps waits for. Pure.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "launcher/workflow/step_jobs.h"

namespace slipway::launcher {

/// The job of a step, for those who wait for it.
struct JobAddress {
  std::string number;            ///< "12"
  std::optional<int> task = {};  ///< of that array
  std::vector<StepIndex> steps;  ///< that the job, or the array, carries out
  bool is_partial = false;       ///< others of its steps are over: whether all end well is no more a matter of `steps`
};

/// For Slurm: "afterok:12:13_4,afterany:14". `address_of` gives nothing for steps that are over.
///
/// Rule:   `afterok` where each step of the job depends on each step of the other one. Elsewhere `afterany`: a failure
///         there may concern some of the steps only, and the job reads the records of the others when it starts.
///         `aftercorr` between arrays whose tasks need each other one by one.
std::string DependencyOf(const Workflow& workflow, const StepJob& job,
                         const std::function<std::optional<JobAddress>(StepIndex)>& address_of);

}  // namespace slipway::launcher
