/// The graph of steps, of which some are tied together in one job. Pure.
#pragma once

#include <optional>
#include <vector>

#include "launcher/workflow/workflow.h"

namespace slipway::launcher {

class JobGraph {
 public:
  /// Only steps that are `open` count. `workflow` must outlive it.
  JobGraph(const Workflow& workflow, std::vector<bool> open);

  /// Whether one of the steps depends on another by way of steps or jobs that are not among them. Then one job of all
  /// of them would wait for itself.
  bool ComesBack(const std::vector<StepIndex>& steps) const;

  /// Ties the steps together. Jobs are numbered in this order, from 0.
  void Tie(const std::vector<StepIndex>& steps);
  std::optional<std::size_t> JobOf(StepIndex step) const { return job_of_[step]; }

  /// For each job those that it waits for.
  std::vector<std::vector<std::size_t>> Needs() const;

 private:
  const Workflow& workflow_;
  std::vector<bool> open_;
  std::vector<std::optional<std::size_t>> job_of_;
  std::vector<std::vector<StepIndex>> jobs_;
};

/// Whether each of the steps needs the one with the same index among `others`, and no other of them.
bool NeedOneByOne(const Workflow& workflow, const std::vector<StepIndex>& steps, const std::vector<StepIndex>& others);

}  // namespace slipway::launcher
