/// Packs trials into the nodes of an allocation: several small ones on one node, one large one over several.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ensemble/trial_runner.h"

namespace slipway::ensemble {

/// What one attempt needs on each of its nodes.
struct Need {
  int nodes = 1;
  int cores = 1;  ///< on each node
  int gpus = 0;   ///< on each node
};

/// Bookkeeping of what is free. All attempts of a study need the same, so first fit loses nothing; the fullest node
/// that still fits is taken, so that whole nodes stay free. Cost: O(nodes) for each call.
class Packer {
 public:
  /// `nodes`: the whole allocation, with every core and device that may be used.
  Packer(std::vector<NodeShare> nodes, Need need);

  /// How many attempts fit at a time.
  int Slots() const { return slots_; }
  /// Nothing when it does not fit now.
  std::optional<std::vector<NodeShare>> Take();
  /// The node is not there any more: it is given to nobody, and what attempts have of it is not taken back.
  void Lose(const std::string& node);
  /// So many nodes are lost that no attempt will ever fit again.
  bool OutOfNodes() const { return static_cast<int>(free_.size()) < need_.nodes; }
  /// What Take has given.
  void GiveBack(const std::vector<NodeShare>& place);

 private:
  bool Fits(const NodeShare& node) const;

  int MostAtATime() const;

  std::vector<NodeShare> free_;
  Need need_;
  int slots_ = 0;
};

}  // namespace slipway::ensemble
