/// Packs trials into the nodes of an allocation: several small ones on one node, one large one over several.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ensemble/model/trial_runner.h"

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
  Packer(std::vector<AllocatedNode> nodes, Need need);

  /// How many attempts fit at a time.
  int Slots() const { return slots_; }
  /// Nothing when it does not fit now.
  std::optional<std::vector<AllocatedNode>> Take();
  /// The node is not there any more: it is given to nobody, and what attempts have of it is not taken back.
  void Lose(const std::string& node);
  /// Too few of the nodes that are left are large enough: no attempt will ever fit again, whatever is given back.
  bool OutOfNodes() const;
  /// What Take has given.
  void GiveBack(const std::vector<AllocatedNode>& place);

 private:
  /// `capacity`: how many attempts could have a share of it at a time, were it all free.
  struct Node {
    AllocatedNode free;
    int capacity = 0;
  };

  int MostAtATime() const;

  Need need_;
  std::vector<Node> nodes_;
  int slots_ = 0;
};

}  // namespace slipway::ensemble
