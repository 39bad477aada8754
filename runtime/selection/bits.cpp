#include "runtime/selection/bits.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/fnv1a.h"

namespace slipway::runtime {

BitsBasis BasisOfBits(const AlgorithmTable& table, int ranks, int ranks_per_node, bool canonical,
                      std::int64_t bucket_bytes, std::string_view version) {
  BitsBasis basis{ranks, ranks_per_node, table.Usable().WithoutWays().ToText(), bucket_bytes, std::string(version)};
  if (canonical) {
    basis.ranks_per_node = 0;
    basis.algorithms = "canonical";
  }
  return basis;
}

bool AddsInOrderOfRanks(const AlgorithmTable& table, bool canonical) {
  const auto is_shared = [](const auto& range) { return range.choice.algorithm == Algorithm::kShared; };
  const auto usable = table.Usable({canonical, false});
  return std::ranges::all_of(usable.ranges(), is_shared);
}

std::string HashOf(const BitsBasis& basis) {
  const auto text = fmt::format("{}\n{}\n{}\n{}\n{}", basis.ranks, basis.ranks_per_node, basis.algorithms,
                                basis.bucket_bytes, basis.version);
  return fmt::format("{:016x}", Fnv1a64(text));
}

Json ToJson(const BitsBasis& basis) {
  return Json{{"hash", HashOf(basis)},
              {"ranks", basis.ranks},
              {"ranks_per_node", basis.ranks_per_node},
              {"algorithms", basis.algorithms},
              {"bucket_bytes", basis.bucket_bytes},
              {"version", basis.version}};
}

}  // namespace slipway::runtime
