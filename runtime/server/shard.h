/// One server's state: its shard of the parameters, and the step of each rank. No messages, no threads.
///
/// The step of a rank is how often it has pushed. The one rule: pushes and pulls of a rank wait while it is more than
/// `staleness` steps ahead of the slowest. A staleness of 0 is synchronous SGD: after its push a rank waits until all
/// have pushed this step. k >= 1 is stale synchronous parallel. There the parameters of a rank hold at least all
/// gradients of the others up to k steps ago. Source: docs/how-to/use-a-parameter-server.md (Ho et al. 2013).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/exchange/tensors.h"

namespace slipway::runtime {

// Which elements each rank serves: consecutive slices of all parameters, as equal as can be.

/// Consecutive elements of one tensor, and their place in a message.
struct ShardPart {
  std::size_t tensor = 0;  ///< index
  std::int64_t first = 0;
  std::int64_t count = 0;
  slipway_dtype dtype = SLIPWAY_FLOAT32;
  std::size_t at = 0;  ///< byte in the message, on a boundary of 64

  bool operator==(const ShardPart&) const = default;
};

struct ShardLayout {
  std::vector<ShardPart> parts;
  std::size_t bytes = 0;  ///< of the message
};

/// Of the shard that `rank` of `ranks` serves; empty where there are fewer elements than ranks.
ShardLayout LayoutOfShard(std::span<const TensorInfo> tensors, int ranks, int rank);

/// Copies a shard's elements from the tensors to a message, and back. `tensors`: of the layout's shapes and dtypes.
void GatherShard(const ShardLayout& layout, std::span<const TensorInfo> tensors, char* message);
void ScatterShard(const ShardLayout& layout, const char* message, std::span<const TensorInfo> tensors);

class Shard {
 public:
  /// `tensors`: where the parameters' first values are.
  Shard(ShardLayout layout, std::span<const TensorInfo> tensors, int ranks, std::int64_t staleness);

  const ShardLayout& layout() const { return layout_; }
  /// Whether a request of this rank may be taken now.
  bool Listens(int rank) const { return Lead(rank) <= staleness_; }
  /// Steps that this rank is ahead of the slowest.
  std::int64_t Lead(int rank) const { return steps_[static_cast<std::size_t>(rank)] - Slowest(); }
  /// The ranks that hold this one up; empty when it Listens.
  std::vector<int> Behind(int rank) const;

  /// Takes a step of `rank`: parameters -= rate * gradients / ranks. The shard must Listen to the rank. `gradients`: a
  /// message of the layout.
  ///
  /// Asynchronous: applied at once. Synchronous: applied as a mean when the last rank has pushed, added up in rank
  /// order. Until then `gradients` must stay valid: as long as the shard does not listen to the rank.
  /// Errors: RuntimeError(MISMATCH): synchronous, and the ranks' rates differ. Nothing is applied then.
  void Push(int rank, double rate, const char* gradients);
  /// Writes the parameters in a message of the layout.
  void Pull(char* message) const;

 private:
  struct Pushed {
    double rate = 0;
    const char* gradients = nullptr;
  };
  /// A piece of a part's gradients, in the dtype in which parameters are kept.
  static constexpr std::int64_t kPiece = 2048;
  using Scratch = std::array<double, kPiece>;

  std::int64_t Slowest() const;
  void ApplyStep();
  void Apply(std::span<const char* const> gradients, double rate);
  void ApplyPiece(const ShardPart& part, char* kept, std::int64_t first, std::span<const char* const> gradients,
                  double rate);

  ShardLayout layout_;
  std::int64_t staleness_;
  std::vector<std::int64_t> steps_;      ///< by rank
  std::vector<Pushed> pushed_;           ///< by rank; synchronous only
  std::vector<std::vector<char>> kept_;  ///< by part; 16-bit floats as float32: small updates are not lost
  Scratch sum_;
  Scratch widened_;
};

}  // namespace slipway::runtime
