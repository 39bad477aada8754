/// The nodes that the attempts of a single run use, one after the other: those of the allocation without the lost ones.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/attempt/attempt.h"
#include "launcher/plan/plan.h"

namespace slipway::launcher {

class Allocation;

/// The most nodes out of `living` that the run can go on with: not below `least`, and so that the ranks can share the
/// global batch equally (`global_batch` 0: there is none). Nothing when no number will do. Pure.
std::optional<int> NodesToGoOnWith(int living, int least, int ranks_per_node, std::int64_t global_batch);

/// As many as the run began with, as long as there are spare ones; then fewer, where it may go on with fewer. Pure.
std::optional<int> NodesToGoOnWith(int living, const Spec& spec);

class NodesInUse {
 public:
  /// `allocation`: null for a run on this machine. Both must outlive it.
  NodesInUse(const Plan& plan, Allocation* allocation);

  /// For the next attempt: the whole plan, or one of fewer nodes.
  const Plan& plan() const { return fewer_ ? *fewer_ : plan_; }
  NodesOfAttempt where() const;
  /// Why one of them is lost; empty while none is.
  std::string Trouble() const;
  /// Leaves lost nodes out; spare ones, and those that were left over, take their place. False when the run may not, or
  /// cannot, go on with those that are left.
  bool LeaveOutLost();

 private:
  const Plan& plan_;
  Allocation* allocation_;
  std::vector<int> on_;
  std::optional<Plan> fewer_;
};

}  // namespace slipway::launcher
