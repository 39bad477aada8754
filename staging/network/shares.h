/// Which node reads which part of the files from where they lie. Pure, and the same on every node.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "staging/plan/plan.h"

namespace slipway::staging {

struct Part {
  std::uint32_t file = 0;  ///< index into plan.files
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  bool operator==(const Part&) const = default;
};

/// Large files are read by all: cut into parts of this size, so that all nodes are at work near the same place of a
/// file and what arrives is nearly in order.
inline constexpr std::uint64_t kPartBytes = 16 << 20;

/// Shares the bytes of `files` out to `readers` nodes: whole files where they are small against the share of a node,
/// else parts of kPartBytes; the largest first, each to the reader with the least (LPT).
///
/// Result: for each reader its parts, files in `order` (empty: as they are), offsets ascending. Every byte stands in
///         exactly one part; no reader has more than total / readers + max(kPartBytes, total / readers / 4) bytes.
std::vector<std::vector<Part>> SharesOf(const std::vector<SourceFile>& files, const std::vector<std::size_t>& order,
                                        std::size_t readers);

/// The parts cut into pieces of at most kChunkBytes, in their order.
std::vector<Part> ChunksOf(const std::vector<Part>& parts);

}  // namespace slipway::staging
