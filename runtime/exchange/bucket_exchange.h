/// One bucket of a team and the memory that it travels in.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "runtime/collectives/allreduce.h"
#include "runtime/device/device_memory.h"
#include "runtime/exchange/device_images.h"
#include "runtime/exchange/settings.h"
#include "runtime/exchange/tensors.h"
#include "runtime/memory/pool_memory.h"

namespace slipway::runtime {

// Tensors put together into messages, in the order in which a backward pass makes them.

/// Indices of tensors that travel together: one dtype.
struct BucketPlan {
  slipway_dtype dtype = SLIPWAY_FLOAT32;
  std::vector<int> tensors;
  std::int64_t count = 0;  ///< elements
  std::int64_t whole = 0;  ///< of a part: elements of its bucket. Its values lie one behind the other. 0: no part
};

/// The last tensors come first, as backward passes make them; each bucket is closed when it holds `bytes` or more.
/// A pure function of the list, so that all ranks agree. Empty tensors are left out.
std::vector<BucketPlan> PlanBuckets(std::span<const TensorInfo> tensors, std::int64_t bytes);

/// Buckets of images. Large ones are dealt into parts, which are exchanged as buckets of their own.
struct DealtBuckets {
  std::vector<BucketPlan> plans;  ///< of values: the images of `images`, and one for each other tensor
  DealtImages images;
  std::int64_t part_bytes = 0;  ///< of the images of the shortest part that is not the last of its bucket
};

/// Deals buckets of tensors on a GPU that give three parts of about `bytes` bytes or more (PartsOf): results keep their
/// bits. The same on all ranks.
DealtBuckets DealBuckets(std::span<const BucketPlan> plans, std::span<const TensorInfo> tensors,
                         const TeamSettings& settings, std::int64_t bytes, Group& group);

class BucketExchange {
 public:
  /// `slots`: gradients in flight at a time; 0: all steps are synchronous. Collective.
  BucketExchange(const BucketPlan& plan, std::span<const TensorInfo> tensors, const TeamSettings& settings, int slots,
                 std::uint32_t tag, Group& group);

  const BucketPlan& plan() const { return plan_; }
  Pieces tensors() const { return tensors_; }
  std::size_t element() const { return SizeOf(plan_.dtype); }

  /// Whether all ranks of the node reach the tensors, so that they may also lie elsewhere.
  bool shared() const { return view_.has_value(); }
  /// From now on tensors may move. On all ranks, or on none.
  void LetMove(MovingPieces moving) { moving_ = std::move(moving); }
  /// From now on these combine what the ranks of the node reach, and narrow and widen; null: the calling thread.
  void CombineBy(CombineThreads* threads) { threads_ = threads; }
  /// The values of tensor `index` of the plan's list are at `data`. Not while they are exchanged.
  void Place(int index, void* data);

  /// Takes the tensors' values along to a slot: they may be overwritten then. Only with slots.
  void CopyIn(int slot);
  /// Combines the tensors, or what lies in `slot`, over all ranks. Collective.
  void Exchange(std::optional<int> slot, Group& group);
  /// The combined values from a slot to the tensors.
  void CopyOut(int slot);
  /// The same, on top of what they hold.
  void AddOut(int slot);

  /// The bytes of a slot as they travel.
  std::span<char> SlotBytes(int slot);

 private:
  struct Travel {
    PoolMemory memory;
    std::vector<Piece> piece;  ///< the memory as a message
    std::optional<SharedView> view;
  };
  std::optional<SharedView> ViewOf(Pieces pieces, std::size_t element, Group& group);
  void Pack(char* to) const;
  void Unpack(const char* from) const;

  BucketPlan plan_;
  std::vector<Piece> tensors_;
  Reduction reduction_;
  bool narrow_;
  std::uint32_t tag_;
  std::optional<SharedView> view_;
  std::optional<MovingPieces> moving_;
  CombineThreads* threads_ = nullptr;
  std::vector<Travel> travels_;  ///< the slots, and one for narrowing in synchronous steps
};

/// The tensors of a bucket, those of one allocation without a gap between them joined. The same on all ranks.
struct JoinedBucket {
  Call call;
  std::vector<Piece> pieces;
};

/// For libraries that send each piece by itself. `op`: of the calls. Collective.
std::vector<JoinedBucket> JoinBuckets(const Driver& driver, std::span<const BucketPlan> plans,
                                      std::span<const TensorInfo> tensors, slipway_op op, Communicator& ranks);

}  // namespace slipway::runtime
