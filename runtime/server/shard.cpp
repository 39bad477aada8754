#include "runtime/server/shard.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "runtime/collectives/pieces.h"
#include "runtime/reduction/reduction.h"
#include "runtime/status.h"

namespace slipway::runtime {
namespace {

constexpr std::size_t kBoundary = 64;

/// Calls `copy(in the tensor, in the message, bytes)` for each part.
template <class Copy>
void ForEachCopy(const ShardLayout& layout, std::span<const TensorInfo> tensors, Copy copy) {
  for (const auto& part : layout.parts) {
    const auto element = SizeOf(part.dtype);
    copy(static_cast<char*>(tensors[part.tensor].data) + BytesOf(part.first, element), part.at,
         BytesOf(part.count, element));
  }
}

bool IsShort(slipway_dtype dtype) { return dtype == SLIPWAY_FLOAT16 || dtype == SLIPWAY_BFLOAT16; }

slipway_dtype KeptAs(slipway_dtype dtype) { return IsShort(dtype) ? SLIPWAY_FLOAT32 : dtype; }

}  // namespace

ShardLayout LayoutOfShard(std::span<const TensorInfo> tensors, int ranks, int rank) {
  std::vector<Piece> pieces;
  for (const auto& tensor : tensors) pieces.push_back({nullptr, tensor.count()});
  ShardLayout layout;
  ForEachPart(pieces, SliceOf(CountOf(pieces), ranks, rank), [&](const Part& part) {
    const auto dtype = tensors[part.piece].dtype;
    layout.parts.push_back({part.piece, part.offset, part.count, dtype, layout.bytes});
    const auto bytes = BytesOf(part.count, SizeOf(dtype));
    layout.bytes += (bytes + kBoundary - 1) / kBoundary * kBoundary;
  });
  return layout;
}

void GatherShard(const ShardLayout& layout, std::span<const TensorInfo> tensors, char* message) {
  ForEachCopy(layout, tensors,
              [&](const char* from, std::size_t at, std::size_t bytes) { std::memcpy(message + at, from, bytes); });
}

void ScatterShard(const ShardLayout& layout, const char* message, std::span<const TensorInfo> tensors) {
  ForEachCopy(layout, tensors,
              [&](char* to, std::size_t at, std::size_t bytes) { std::memcpy(to, message + at, bytes); });
}

Shard::Shard(ShardLayout layout, std::span<const TensorInfo> tensors, int ranks, std::int64_t staleness)
    : layout_(std::move(layout)),
      staleness_(staleness),
      steps_(static_cast<std::size_t>(ranks)),
      pushed_(static_cast<std::size_t>(ranks)) {
  for (const auto& part : layout_.parts) {
    const auto* from = static_cast<const char*>(tensors[part.tensor].data) + BytesOf(part.first, SizeOf(part.dtype));
    auto& kept = kept_.emplace_back(BytesOf(part.count, SizeOf(KeptAs(part.dtype))));
    if (IsShort(part.dtype)) {
      Widen(from, reinterpret_cast<float*>(kept.data()), part.count, part.dtype);
    } else {
      std::memcpy(kept.data(), from, kept.size());
    }
  }
}

std::int64_t Shard::Slowest() const { return *std::min_element(steps_.begin(), steps_.end()); }

std::vector<int> Shard::Behind(int rank) const {
  const auto least = steps_[static_cast<std::size_t>(rank)] - staleness_;
  std::vector<int> behind;
  for (std::size_t other = 0; other < steps_.size(); ++other) {
    if (steps_[other] < least) behind.push_back(static_cast<int>(other));
  }
  return behind;
}

void Shard::Push(int rank, double rate, const char* gradients) {
  const auto before = Slowest();
  ++steps_[static_cast<std::size_t>(rank)];
  if (staleness_ > 0) return Apply({&gradients, 1}, rate);
  pushed_[static_cast<std::size_t>(rank)] = {rate, gradients};
  if (Slowest() > before) ApplyStep();
}

void Shard::ApplyStep() {
  std::vector<const char*> gradients;
  for (std::size_t rank = 0; rank < pushed_.size(); ++rank) {
    if (pushed_[rank].rate != pushed_[0].rate) {
      throw RuntimeError(SLIPWAY_ERROR_MISMATCH, fmt::format("rank {} pushed step {} with rate {}, rank 0 with rate {}",
                                                             rank, steps_[0], pushed_[rank].rate, pushed_[0].rate));
    }
    gradients.push_back(pushed_[rank].gradients);
  }
  Apply(gradients, pushed_[0].rate);
}

void Shard::Apply(std::span<const char* const> gradients, double rate) {
  for (std::size_t i = 0; i < layout_.parts.size(); ++i) {
    const auto& part = layout_.parts[i];
    for (std::int64_t first = 0; first < part.count; first += kPiece) {
      ApplyPiece(part, kept_[i].data(), first, gradients, rate);
    }
  }
}

void Shard::ApplyPiece(const ShardPart& part, char* kept, std::int64_t first, std::span<const char* const> gradients,
                       double rate) {
  const auto count = std::min(kPiece, part.count - first);
  const auto dtype = KeptAs(part.dtype);
  const auto take = [&](const char* message, Scratch& room) -> const void* {
    const char* from = message + part.at + BytesOf(first, SizeOf(part.dtype));
    if (!IsShort(part.dtype)) return from;
    Widen(from, reinterpret_cast<float*>(room.data()), count, part.dtype);
    return room.data();
  };
  std::memmove(sum_.data(), take(gradients[0], sum_), BytesOf(count, SizeOf(dtype)));
  for (const char* message : gradients.subspan(1)) {
    Combine({dtype, SLIPWAY_SUM}, sum_.data(), take(message, widened_), sum_.data(), count);
  }
  Finish({dtype, SLIPWAY_MEAN}, sum_.data(), count, static_cast<int>(steps_.size()));
  Scale(sum_.data(), count, dtype, -rate);
  char* to = kept + BytesOf(first, SizeOf(dtype));
  Combine({dtype, SLIPWAY_SUM}, to, sum_.data(), to, count);
}

void Shard::Pull(char* message) const {
  for (std::size_t i = 0; i < layout_.parts.size(); ++i) {
    const auto& part = layout_.parts[i];
    if (IsShort(part.dtype)) {
      Narrow(reinterpret_cast<const float*>(kept_[i].data()), message + part.at, part.count, part.dtype);
    } else {
      std::memcpy(message + part.at, kept_[i].data(), kept_[i].size());
    }
  }
}

}  // namespace slipway::runtime
