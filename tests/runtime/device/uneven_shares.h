#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "tests/runtime/ranks.h"

namespace slipway::test {

enum class SharesKind { kReduceScatter, kAllgather, kAlltoall };

/// An operation to which each rank brings another share: floats, in memory of the CPU or of a GPU.
class UnevenShares {
 public:
  explicit UnevenShares(SharesKind kind) : kind_(kind) {
    for (int rank = 0; rank < Ranks(); ++rank) shares_.push_back(1000 + 300 * rank);
    to_each_.assign(shares_.size(), own());
  }
  std::size_t sent() const {
    if (kind_ == SharesKind::kAlltoall) return Bytes(own() * Ranks());
    return Bytes(kind_ == SharesKind::kAllgather ? own() : total());
  }
  std::size_t received() const { return Bytes(kind_ == SharesKind::kReduceScatter ? own() : total()); }

  int CarryOut(const void* send, void* receive, void* stream) const {
    const auto* shares = shares_.data();
    switch (kind_) {
      case SharesKind::kReduceScatter:
        return slipway_reduce_scatter_on_stream(send, receive, shares, SLIPWAY_FLOAT32, SLIPWAY_SUM, SLIPWAY_ALL,
                                                stream);
      case SharesKind::kAllgather:
        return slipway_allgather_on_stream(send, receive, shares, SLIPWAY_FLOAT32, SLIPWAY_ALL, stream);
      case SharesKind::kAlltoall:
        return slipway_alltoall_on_stream(send, to_each_.data(), receive, shares, SLIPWAY_FLOAT32, SLIPWAY_ALL, stream);
    }
    return SLIPWAY_ERROR_INTERNAL;
  }

 private:
  static std::size_t Bytes(std::int64_t count) { return static_cast<std::size_t>(count) * sizeof(float); }
  std::int64_t own() const { return shares_[static_cast<std::size_t>(Rank())]; }
  std::int64_t total() const { return std::accumulate(shares_.begin(), shares_.end(), std::int64_t{0}); }

  SharesKind kind_;
  std::vector<std::int64_t> shares_;   ///< by rank
  std::vector<std::int64_t> to_each_;  ///< of an alltoall
};

}  // namespace slipway::test
