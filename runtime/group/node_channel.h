/// Shared memory through which the ranks of one node meet: flags, a description of each rank's call, and space for
/// copies.
///
/// One thread of each rank uses a channel, all ranks in the same order.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/group/communicator.h"
#include "runtime/group/topology.h"
#include "runtime/memory/peer_copies.h"
#include "runtime/memory/shared_pool.h"
#include "runtime/reduction/reduction.h"

namespace slipway::runtime {

/// The next operation of the ranks of a channel; they must agree on all of it.
struct Call {
  enum class Kind : std::uint8_t { kBarrier, kAllreduce, kReduce, kBroadcast };
  Kind kind = Kind::kBarrier;
  Reduction reduction;
  std::int64_t count = 0;
  std::uint32_t tag = 0;  ///< of the caller, compared between the ranks
  std::uint8_t gpu = 0;   ///< 1: the first GPU that this rank has brought memory of, and so on; 0: not compared

  std::uint64_t Packed() const;
  static Call FromPacked(std::uint64_t packed, std::int64_t count);
  std::string Describe() const;
};

/// A rank of the job, and what it calls.
struct Caller {
  int rank = 0;
  Call call;
};
enum class SeenBy { kAllRanks, kSomeRanks };
/// Throws RuntimeError(MISMATCH) for two ranks with different calls; PartedError where not all ranks see it.
[[noreturn]] void RefuseDifference(const Caller& one, const Caller& other, SeenBy seen_by);

class NodeChannel {
 public:
  /// Bytes of a message beside the flags that every rank combines by itself.
  static constexpr std::size_t kSmall = 4096;
  /// Slots for copies: `kSlots` of slot_bytes() for each rank.
  static constexpr int kSlots = 3;
  /// Slots are as large as the largest piece of any way of copying, unless so many ranks would take much memory.
  static constexpr std::size_t kSmallPiece = 32 * 1024;
  static constexpr std::size_t kLargePiece = 128 * 1024;

  /// Null on all ranks of `communicator` when any of them cannot get or map the memory. Collective.
  static std::unique_ptr<NodeChannel> Create(Communicator& communicator, const Topology& topology, SharedPool& pool,
                                             PeerMemory& peers);
  NodeChannel(const NodeChannel&) = delete;
  NodeChannel& operator=(const NodeChannel&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  std::size_t slot_bytes() const { return slot_bytes_; }
  /// Bytes of a piece where nothing was measured. The pieces of all ranks should stay in the caches. Where ranks share
  /// cores, every wait costs a change of processes, and larger pieces are faster.
  std::size_t usual_piece() const { return topology_.crowded ? slot_bytes_ : kSmallPiece; }
  /// Whether the kernel copies between the memories of all ranks, as they have agreed.
  bool direct_copies() const { return direct_copies_; }
  /// Up to so many bytes that pays: it saves a wait. Where ranks share cores, a wait is long.
  std::size_t small_bytes() const { return topology_.crowded ? kSmall : 2048; }

  /// What the other ranks see of a location: nothing of one that is too large for the word that they read.
  static SharedLocation Published(SharedLocation where);
  /// Waits until all ranks are here, with the same `call`. `where`: this rank's data.
  /// Errors: RuntimeError(MISMATCH) on all ranks; STALLED.
  void Meet(const Call& call, SharedLocation where = {});
  /// After Meet(), until the next one: where rank `local` has its data.
  SharedLocation LocationOf(int local) const;
  /// The memory behind a location of rank `local`; null when not all ranks of the node can map it. All ranks ask for
  /// the same locations in the same order. `bytes` from there are used.
  char* Reach(int local, SharedLocation where);

  /// For a copy by the kernel: this rank's data, before a Meet(), and that of rank `local` after it, until the next
  /// one.
  void Offer(const void* data);
  PeerAddress OfferOf(int local) const;
  /// Memory of this rank for what is copied from others, as large as asked for at most so far.
  char* Workspace(std::size_t bytes);
  /// A Meet() that tells whether all ranks bring `good`.
  bool AllAgree(bool good);

  /// kSmall bytes of this rank, to be written before a Meet(); those of each rank, to be read between it and the next.
  char* NextSmall() { return SmallOf(rank_, phase_ + 1); }
  const void* const* SmallOfAll() const { return small_of_all_[phase_ & 1].data(); }

  /// Progress of a pipeline through the slots, in pieces numbered over the life of the channel.
  enum Stage { kCopiedIn, kReduced, kCopiedOut, kStages };
  char* Slot(int local, std::uint64_t piece) const;
  std::uint64_t next_piece() const { return next_piece_; }
  void PiecesDone(std::uint64_t count) { next_piece_ += count; }
  void Announce(Stage stage, std::uint64_t piece);
  /// Waits until all other ranks have announced `piece`. Errors: RuntimeError(STALLED).
  void Await(Stage stage, std::uint64_t piece);
  /// Waits for one rank.
  void AwaitRank(int local, Stage stage, std::uint64_t piece);

 private:
  struct Descriptor {
    std::uint64_t call = 0;
    std::int64_t count = 0;
    std::uint64_t where = 0;  ///< serial and offset
  };
  struct alignas(64) Cell {
    std::atomic<std::uint64_t> arrived{0};
    std::array<Descriptor, 2> descriptors{};
    alignas(64) std::array<std::atomic<std::uint64_t>, kStages> stages{};
    std::int64_t process = 0;
    std::array<std::uint64_t, 2> offers{};
  };
  struct alignas(64) Header {
    Bell bell;
  };

  NodeChannel(Communicator& communicator, const Topology& topology, SharedPool& pool, PeerMemory& peers,
              SharedMemory memory);
  static std::size_t BytesFor(const Topology& topology);
  char* SmallOf(int local, std::uint64_t phase) const;
  void CheckCalls() const;
  void TryDirectCopies();
  bool CopiesFrom(int local, std::uint64_t known);
  void LearnBlocks();
  std::vector<int> JobRanksThat(const std::function<bool(const Cell&)>& lack) const;

  Communicator& communicator_;
  Topology topology_;
  SharedPool& pool_;
  PeerMemory& peers_;
  SharedMemory memory_;
  int rank_;
  int size_;
  std::size_t slot_bytes_;
  Header* header_;
  Cell* cells_;
  char* small_;
  std::array<std::vector<const void*>, 2> small_of_all_;
  char* slots_;
  std::uint64_t phase_ = 0;
  std::uint64_t next_piece_ = 1;
  bool direct_copies_ = false;
  std::vector<char> workspace_;
  /// For each rank its blocks by serial: the first byte here, or null. The same keys, and nulls, on all ranks.
  std::vector<std::map<std::int64_t, char*>> blocks_;
};

}  // namespace slipway::runtime
