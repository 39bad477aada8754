#include "ensemble/model/packer.h"

#include <algorithm>
#include <limits>

namespace slipway::ensemble {
namespace {

/// Moves the first `count` out of `from`.
template <class Name>
std::vector<Name> TakeFirst(std::vector<Name>& from, int count) {
  const auto end = from.begin() + count;
  std::vector<Name> taken(from.begin(), end);
  from.erase(from.begin(), end);
  return taken;
}

/// Numeric order also for texts: "9" comes before "10".
struct InOrder {
  bool operator()(int left, int right) const { return left < right; }
  bool operator()(const std::string& left, const std::string& right) const {
    return left.size() != right.size() ? left.size() < right.size() : left < right;
  }
};

template <class Name>
void PutBack(std::vector<Name>& to, const std::vector<Name>& names) {
  to.insert(to.end(), names.begin(), names.end());
  std::ranges::sort(to, InOrder());
}

/// How many shares of attempts fit on `node`.
int Capacity(const AllocatedNode& node, const Need& need) {
  int capacity = std::numeric_limits<int>::max();
  if (need.cores > 0) capacity = std::min(capacity, static_cast<int>(node.cores.size()) / need.cores);
  if (need.gpus > 0) capacity = std::min(capacity, static_cast<int>(node.gpus.size()) / need.gpus);
  return capacity;
}

}  // namespace

Packer::Packer(std::vector<AllocatedNode> nodes, Need need) : need_(need) {
  for (auto& node : nodes) {
    const int capacity = Capacity(node, need_);
    nodes_.push_back({std::move(node), capacity});
  }
  slots_ = MostAtATime();
}

int Packer::MostAtATime() const {
  // The largest number of attempts that each put one share on `need.nodes` different nodes.
  const auto fits = [&](int attempts) {
    long shares = 0;
    for (const auto& node : nodes_) shares += std::min(attempts, node.capacity);
    return shares >= static_cast<long>(attempts) * need_.nodes;
  };
  long most = 0;
  for (const auto& node : nodes_) most += node.capacity;
  int slots = 0;
  while (slots < most && fits(slots + 1)) ++slots;
  return slots;
}

std::optional<std::vector<AllocatedNode>> Packer::Take() {
  const auto room = [this](const AllocatedNode* node) { return Capacity(*node, need_); };
  std::vector<AllocatedNode*> fitting;
  for (auto& node : nodes_) {
    if (room(&node.free) >= 1) fitting.push_back(&node.free);
  }
  if (static_cast<int>(fitting.size()) < need_.nodes) return std::nullopt;
  // One node: the fullest. Several nodes: the emptiest, else the last free shares could all lie on one node.
  if (need_.nodes == 1) {
    std::ranges::stable_sort(fitting, {}, room);
  } else {
    std::ranges::stable_sort(fitting, std::greater<>{}, room);
  }
  std::vector<AllocatedNode> place;
  for (int i = 0; i < need_.nodes; ++i) {
    AllocatedNode& node = *fitting[static_cast<std::size_t>(i)];
    place.push_back({node.node, TakeFirst(node.cores, need_.cores), TakeFirst(node.gpus, need_.gpus)});
  }
  return place;
}

void Packer::Lose(const std::string& node) {
  std::erase_if(nodes_, [&](const Node& each) { return each.free.node == node; });
}

bool Packer::OutOfNodes() const {
  return std::ranges::count_if(nodes_, [](const Node& node) { return node.capacity >= 1; }) < need_.nodes;
}

void Packer::GiveBack(const std::vector<AllocatedNode>& place) {
  for (const auto& share : place) {
    const auto node = std::ranges::find(nodes_, share.node, [](const Node& each) { return each.free.node; });
    if (node == nodes_.end()) continue;
    PutBack(node->free.cores, share.cores);
    PutBack(node->free.gpus, share.gpus);
  }
}

}  // namespace slipway::ensemble
