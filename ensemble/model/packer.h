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

/// Keeps account of the free cores and GPUs of each node. All attempts of a study have the same need. An attempt of one
/// node takes the fullest node that fits, so whole nodes stay free. An attempt of several nodes takes the emptiest
/// ones.
/// Cost: O(nodes log nodes) for each call.
class Packer {
 public:
  /// `nodes`: the whole allocation, with every core and GPU that may be used.
  Packer(std::vector<AllocatedNode> nodes, Need need);

  /// How many attempts fit at a time in the whole allocation.
  int Slots() const { return slots_; }
  /// Takes a place for one attempt; nothing when none fits now.
  std::optional<std::vector<AllocatedNode>> Take();
  /// The node is lost: Take gives it to no attempt, and GiveBack ignores shares of it.
  void Lose(const std::string& node);
  /// Too few of the nodes that are left are large enough: no attempt will ever fit, whatever is given back.
  bool OutOfNodes() const;
  /// Frees a place that Take gave.
  void GiveBack(const std::vector<AllocatedNode>& place);

 private:
  /// `capacity`: how many shares of attempts fit on the node when it is all free.
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
