#include "runtime/exchange/pool_maps.h"

#include <utility>

namespace slipway::runtime {

char* PoolMaps::Reach(int local, SharedLocation where, Group& group) {
  if (where.serial == 0) return nullptr;
  blocks_.resize(static_cast<std::size_t>(group.topology().local_size()));
  auto& known = blocks_[static_cast<std::size_t>(local)];
  auto found = known.find(where.serial);
  if (found == known.end()) {
    Learn(group);
    found = known.find(where.serial);
    if (found == known.end()) return nullptr;  // of another device
  }
  return found->second != nullptr ? found->second + where.offset : nullptr;
}

void PoolMaps::Learn(Group& group) {
  auto& node = group.node();
  const auto own = own_.BlocksOn(place_);
  const int self = group.topology().local_rank;
  for (int local = 0; local < group.topology().local_size(); ++local) {
    const auto listed = node.BroadcastList(local, own);
    auto& known = blocks_[static_cast<std::size_t>(local)];
    std::vector<std::pair<std::int64_t, char*>> fresh;
    std::vector<char> reached;
    for (const auto& block : listed) {
      if (known.contains(block.serial)) continue;
      fresh.emplace_back(block.serial, local == self ? own_.FirstByte(block.serial) : mapped_.Map(block.handle));
      reached.push_back(fresh.back().second != nullptr ? 1 : 0);
    }
    reached = node.Smallest(reached);  // what one rank cannot map, no rank uses
    for (std::size_t i = 0; i < fresh.size(); ++i) {
      known.emplace(fresh[i].first, reached[i] != 0 ? fresh[i].second : nullptr);
    }
  }
}

}  // namespace slipway::runtime
