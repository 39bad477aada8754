// Members are counted from the root on. In the tree, consider a member whose number has its lowest set bit at 2^k. It
// receives from the member without that bit, and sends on to those at smaller distances.

#include "runtime/collectives/broadcast.h"

#include <algorithm>
#include <vector>

#include "runtime/collectives/ring_parts.h"

namespace slipway::runtime {
namespace {

class Tree {
 public:
  Tree(int root, const PointToPoint& members)
      : size_(members.size()), root_(root), place_((members.rank() - root + size_) % size_) {}

  int place() const { return place_; }
  bool is_root() const { return place_ == 0; }
  int parent() const { return MemberOf(place_ - lowest_bit()); }
  int MemberOf(int place) const { return (place + root_) % size_; }
  /// Distances to the children, the farthest first.
  std::vector<int> children() const {
    std::vector<int> distances;
    for (int distance = 1; distance < (is_root() ? size_ : lowest_bit()); distance *= 2) {
      if (place_ + distance < size_) distances.insert(distances.begin(), distance);
    }
    return distances;
  }
  /// Places below this one, itself included: [place, end).
  int EndOf(int place, int distance) const { return std::min(size_, place + distance); }
  int end() const { return is_root() ? size_ : EndOf(place_, lowest_bit()); }

 private:
  int lowest_bit() const { return place_ & -place_; }

  int size_;
  int root_;
  int place_;
};

void AlongTree(void* data, std::size_t bytes, const Tree& tree, PointToPoint& members) {
  if (!tree.is_root()) members.Receive(tree.parent(), data, bytes);
  for (const int distance : tree.children()) members.Send(tree.MemberOf(tree.place() + distance), data, bytes);
}

/// Each member gets the slices of all below it, and passes theirs on.
void ScatterAlongTree(char* data, std::span<const Slice> slices, const Tree& tree, PointToPoint& members) {
  const auto first = [&](int place) { return slices[static_cast<std::size_t>(place)].first; };
  const auto past = [&](int end) { return slices[static_cast<std::size_t>(end - 1)].end(); };
  if (!tree.is_root()) {
    const auto from = first(tree.place());
    members.Receive(tree.parent(), data + from, static_cast<std::size_t>(past(tree.end()) - from));
  }
  for (const int distance : tree.children()) {
    const int child = tree.place() + distance;
    const auto from = first(child);
    members.Send(tree.MemberOf(child), data + from, static_cast<std::size_t>(past(tree.EndOf(child, distance)) - from));
  }
}

}  // namespace

void Broadcast(void* data, std::size_t bytes, int root, PointToPoint& members) {
  if (members.size() == 1 || bytes == 0) return;
  const Tree tree(root, members);
  if (bytes <= kLargestTreeMessage) return AlongTree(data, bytes, tree, members);
  const auto slices = SlicesOf(static_cast<std::int64_t>(bytes), members.size());
  ScatterAlongTree(static_cast<char*>(data), slices, tree, members);
  Ring ring{{}, tree.place()};
  for (int place = 0; place < members.size(); ++place) ring.members.push_back(tree.MemberOf(place));
  RingAllgather(static_cast<char*>(data), slices, 1, ring, members);
  Barrier(members);
}

void Barrier(PointToPoint& members) {
  const int size = members.size();
  for (int distance = 1; distance < size; distance *= 2) {
    char here = 1;
    char there = 0;
    members.Exchange((members.rank() + distance) % size, &here, 1, (members.rank() - distance + size) % size, &there,
                     1);
  }
}

}  // namespace slipway::runtime
