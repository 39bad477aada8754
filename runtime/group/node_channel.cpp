#include "runtime/group/node_channel.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "runtime/group/point_to_point.h"
#include "runtime/group/share_within_node.h"
#include "runtime/status.h"

namespace slipway::runtime {
namespace {

// A location in one word; larger ones count as unshared.
constexpr int kOffsetBits = 44;

std::uint64_t Pack(SharedLocation where) {
  if (where.serial >= std::int64_t{1} << (64 - kOffsetBits) || where.offset >= std::uint64_t{1} << kOffsetBits)
    return 0;
  return static_cast<std::uint64_t>(where.serial) << kOffsetBits | where.offset;
}

SharedLocation Unpack(std::uint64_t word) {
  return {static_cast<std::int64_t>(word >> kOffsetBits), word & ((std::uint64_t{1} << kOffsetBits) - 1)};
}

/// 64 ranks with large slots would take 25 MB for each group.
constexpr int kMostRanksWithLargeSlots = 32;

std::size_t SlotBytesFor(const Topology& topology) {
  return topology.local_size() <= kMostRanksWithLargeSlots ? NodeChannel::kLargePiece : NodeChannel::kSmallPiece;
}

std::size_t Aligned(std::size_t bytes) { return (bytes + 4095) / 4096 * 4096; }

void WarnOfNoMemory(std::size_t bytes) {
  std::fputs(fmt::format("slipway: warning: the ranks of a node could not share {} bytes of memory: they exchange by "
                         "messages, which takes longer; give the job more memory and file descriptors\n",
                         bytes)
                 .c_str(),
             stderr);
}

}  // namespace

std::uint64_t Call::Packed() const {
  return static_cast<std::uint64_t>(kind) | static_cast<std::uint64_t>(reduction.dtype) << 8 |
         static_cast<std::uint64_t>(reduction.op) << 16 | static_cast<std::uint64_t>(gpu) << 24 |
         static_cast<std::uint64_t>(tag) << 32;
}

Call Call::FromPacked(std::uint64_t packed, std::int64_t count) {
  return {static_cast<Kind>(packed & 0xff),
          {static_cast<slipway_dtype>(packed >> 8 & 0xff), static_cast<slipway_op>(packed >> 16 & 0xff)},
          count,
          static_cast<std::uint32_t>(packed >> 32),
          static_cast<std::uint8_t>(packed >> 24 & 0xff)};
}

std::string Call::Describe() const {
  static constexpr const char* kNames[] = {"a barrier", "an allreduce", "a reduction", "a broadcast"};
  static constexpr const char* kOps[] = {"sum", "mean", "min", "max", "product"};
  if (kind == Kind::kBarrier) return kNames[0];
  return fmt::format("{} of {} {} ({}{}{})", kNames[static_cast<int>(kind)], count, NameOf(reduction.dtype),
                     kOps[reduction.op], tag != 0 ? fmt::format(", bucket {}", tag) : "",
                     gpu != 0 ? fmt::format(", its GPU number {}", gpu) : "");
}

namespace {

/// What to do about memory of different kinds.
const char* AdviceFor(const Call& one, const Call& other) {
  if (one.gpu == other.gpu) return "";
  if (one.gpu == 0 || other.gpu == 0) return ": the data lies in GPU memory on all ranks, or on none";
  return ": all ranks change to another GPU together, or set gpu_exchange to staged";
}

}  // namespace

void RefuseDifference(const Caller& one, const Caller& other, SeenBy seen_by) {
  const auto message = fmt::format("rank {} calls {}, but rank {} {}{}", one.rank, one.call.Describe(), other.rank,
                                   other.call.Describe(), AdviceFor(one.call, other.call));
  if (seen_by == SeenBy::kSomeRanks) throw PartedError(SLIPWAY_ERROR_MISMATCH, message);
  throw RuntimeError(SLIPWAY_ERROR_MISMATCH, message);
}

std::size_t NodeChannel::BytesFor(const Topology& topology) {
  const auto count = static_cast<std::size_t>(topology.local_size());
  return Aligned(sizeof(Header) + count * sizeof(Cell)) + Aligned(count * 2 * kSmall) +
         count * kSlots * SlotBytesFor(topology);
}

std::unique_ptr<NodeChannel> NodeChannel::Create(Communicator& communicator, const Topology& topology, SharedPool& pool,
                                                 PeerMemory& peers) {
  if (communicator.Min(pool.enabled() ? 1 : 0) == 0) return nullptr;
  PointToPoint node(communicator, topology.local);
  auto memory = ShareWithinNode(node, BytesFor(topology));
  if (communicator.Min(memory.data() != nullptr ? 1 : 0) == 0) {
    if (topology.local_rank == 0) WarnOfNoMemory(BytesFor(topology));
    return nullptr;
  }
  std::unique_ptr<NodeChannel> channel(new NodeChannel(communicator, topology, pool, peers, std::move(memory)));
  channel->TryDirectCopies();
  return channel;
}

NodeChannel::NodeChannel(Communicator& communicator, const Topology& topology, SharedPool& pool, PeerMemory& peers,
                         SharedMemory memory)
    : communicator_(communicator),
      topology_(topology),
      pool_(pool),
      peers_(peers),
      memory_(std::move(memory)),
      rank_(topology.local_rank),
      size_(topology.local_size()),
      slot_bytes_(SlotBytesFor(topology)),
      header_(reinterpret_cast<Header*>(memory_.data())),
      cells_(reinterpret_cast<Cell*>(memory_.data() + sizeof(Header))),
      small_(memory_.data() + Aligned(sizeof(Header) + static_cast<std::size_t>(size_) * sizeof(Cell))),
      slots_(small_ + Aligned(static_cast<std::size_t>(size_) * 2 * kSmall)),
      blocks_(static_cast<std::size_t>(size_)) {  // all counters are zero, as the memory is
  for (int local = 0; local < size_; ++local) {
    for (std::uint64_t parity : {0, 1}) small_of_all_[parity].push_back(SmallOf(local, parity));
  }
}

std::vector<int> NodeChannel::JobRanksThat(const std::function<bool(const Cell&)>& lack) const {
  std::vector<int> ranks;
  for (int local = 0; local < size_; ++local) {
    if (local == rank_ || !lack(cells_[local])) continue;
    const int rank = topology_.local[static_cast<std::size_t>(local)];
    ranks.push_back(communicator_.job_ranks()[static_cast<std::size_t>(rank)]);
  }
  return ranks;
}

SharedLocation NodeChannel::Published(SharedLocation where) { return Unpack(Pack(where)); }

void NodeChannel::Meet(const Call& call, SharedLocation where) {
  auto& own = cells_[rank_];
  const auto phase = phase_ + 1;
  own.descriptors[phase & 1] = {call.Packed(), call.count, Pack(where)};
  own.arrived.store(phase, std::memory_order_release);
  header_->bell.Ring();
  int next = 0;
  const auto all_here = [&, phase] {
    while (next < size_ && cells_[next].arrived.load(std::memory_order_acquire) >= phase) ++next;
    return next == size_;
  };
  const auto missing = [&, phase] {
    return JobRanksThat([phase](const Cell& cell) { return cell.arrived.load(std::memory_order_acquire) < phase; });
  };
  communicator_.waiter().Until(all_here, missing, &header_->bell);
  phase_ = phase;
  CheckCalls();
}

bool NodeChannel::AllAgree(bool good) {
  Meet({}, {good ? 0 : 1, 0});
  for (int local = 0; local < size_; ++local) {
    if (LocationOf(local).serial != 0) return false;
  }
  return true;
}

/// A word that a rank offers is read, and written back as it is, once it is clear that it was that rank's.
void NodeChannel::TryDirectCopies() {
  auto word = static_cast<std::uint64_t>(rank_) + 1;
  cells_[rank_].process = ::getpid();
  Offer(&word);
  Meet({});
  bool good = true;
  for (int local = 0; local < size_ && good; ++local) {
    good = local == rank_ || CopiesFrom(local, static_cast<std::uint64_t>(local) + 1);
  }
  direct_copies_ = AllAgree(good);
}

bool NodeChannel::CopiesFrom(int local, std::uint64_t known) {
  std::uint64_t word = 0;
  return ReadFromPeer(OfferOf(local), &word, sizeof word) && word == known &&
         WriteToPeer(&word, OfferOf(local), sizeof word);
}

void NodeChannel::Offer(const void* data) {
  cells_[rank_].offers[(phase_ + 1) & 1] = reinterpret_cast<std::uintptr_t>(data);
}

PeerAddress NodeChannel::OfferOf(int local) const { return {cells_[local].process, cells_[local].offers[phase_ & 1]}; }

char* NodeChannel::Workspace(std::size_t bytes) {
  if (workspace_.size() < bytes) workspace_.resize(bytes);
  return workspace_.data();
}

void NodeChannel::CheckCalls() const {
  const auto& first = cells_[0].descriptors[phase_ & 1];
  for (int local = 1; local < size_; ++local) {
    const auto& other = cells_[local].descriptors[phase_ & 1];
    if (other.call == first.call && other.count == first.count) continue;
    const auto rank_of = [&](int place) {
      return communicator_.job_ranks()[static_cast<std::size_t>(topology_.local[static_cast<std::size_t>(place)])];
    };
    const bool all = communicator_.size() == size_;  // the ranks of other nodes do not see it
    RefuseDifference({rank_of(local), Call::FromPacked(other.call, other.count)},
                     {rank_of(0), Call::FromPacked(first.call, first.count)},
                     all ? SeenBy::kAllRanks : SeenBy::kSomeRanks);
  }
}

SharedLocation NodeChannel::LocationOf(int local) const { return Unpack(cells_[local].descriptors[phase_ & 1].where); }

char* NodeChannel::Reach(int local, SharedLocation where) {
  if (where.serial == 0) return nullptr;
  auto& known = blocks_[static_cast<std::size_t>(local)];
  auto found = known.find(where.serial);
  if (found == known.end()) {
    LearnBlocks();
    found = known.find(where.serial);
    if (found == known.end()) return nullptr;  // freed since
  }
  return found->second != nullptr ? found->second + where.offset : nullptr;
}

void NodeChannel::LearnBlocks() {
  PointToPoint node(communicator_, topology_.local);
  const auto own = pool_.Blocks();
  for (int local = 0; local < size_; ++local) {
    const auto listed = node.BroadcastList(local, own);
    auto& known = blocks_[static_cast<std::size_t>(local)];
    known.clear();
    for (const auto& block : listed)
      known[block.serial] = local == rank_ ? pool_.FirstByte(block.serial) : peers_.Map(block);
    if (local != rank_ && !listed.empty()) peers_.Keep(listed.front().address.process, listed);
    // What one rank cannot map, no rank uses.
    std::vector<char> reached;
    for (const auto& [serial, first] : known) reached.push_back(first != nullptr ? 1 : 0);
    reached = node.Smallest(reached);
    auto verdict = reached.begin();
    for (auto& [serial, first] : known) {
      if (*verdict++ == 0) first = nullptr;
    }
  }
}

char* NodeChannel::SmallOf(int local, std::uint64_t phase) const {
  return small_ + (static_cast<std::size_t>(local) * 2 + (phase & 1)) * kSmall;
}

char* NodeChannel::Slot(int local, std::uint64_t piece) const {
  return slots_ + (static_cast<std::size_t>(local) * kSlots + piece % kSlots) * slot_bytes_;
}

void NodeChannel::Announce(Stage stage, std::uint64_t piece) {
  cells_[rank_].stages[stage].store(piece, std::memory_order_release);
  header_->bell.Ring();
}

void NodeChannel::AwaitRank(int local, Stage stage, std::uint64_t piece) {
  const auto lacks = [stage, piece](const Cell& cell) {
    return cell.stages[stage].load(std::memory_order_acquire) < piece;
  };
  communicator_.waiter().Until([&] { return !lacks(cells_[local]); }, [&] { return JobRanksThat(lacks); },
                               &header_->bell);
}

void NodeChannel::Await(Stage stage, std::uint64_t piece) {
  for (int local = 0; local < size_; ++local) {
    if (local != rank_) AwaitRank(local, stage, piece);
  }
}

}  // namespace slipway::runtime
