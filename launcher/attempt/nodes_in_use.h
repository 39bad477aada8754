/// The nodes that the successive attempts of a single run use: the allocation without lost nodes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/attempt/attempt.h"
#include "launcher/plan/plan.h"

namespace slipway::launcher {

class Allocation;

/// The largest number of nodes, from `least` to `living`, on which the run can continue. The ranks must be able to
/// share the global batch equally (`global_batch` 0: there is none). Nothing when no number fits. Pure.
std::optional<int> NodesToGoOnWith(int living, int least, int ranks_per_node, std::int64_t global_batch);

/// The number that the run began with, while there are enough nodes. Else a smaller one, if the spec allows it. Pure.
std::optional<int> NodesToGoOnWith(int living, const Spec& spec);

class NodesInUse {
 public:
  /// `allocation`: null for a run on this machine. Both must outlive it.
  NodesInUse(const Plan& plan, Allocation* allocation);

  /// For the next attempt: the whole plan, or one of fewer nodes.
  const Plan& plan() const { return fewer_ ? *fewer_ : plan_; }
  NodesOfAttempt where() const;
  /// Why one of the nodes is lost; empty while none is.
  std::string Trouble() const;
  /// Replaces lost nodes by spare and unused ones. False when the run may not or cannot continue on the nodes left.
  bool LeaveOutLost();

 private:
  const Plan& plan_;
  Allocation* allocation_;
  std::vector<int> on_;
  std::optional<Plan> fewer_;
};

}  // namespace slipway::launcher
