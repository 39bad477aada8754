#include "runtime/collectives/allreduce.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "runtime/collectives/between_ranks.h"
#include "runtime/collectives/pieces.h"
#include "runtime/group/communicator.h"
#include "runtime/group/mpi_type.h"
#include "runtime/memory/scratch.h"
#include "runtime/reduction/reduction.h"

namespace slipway::runtime {
namespace {

/// Elements reduced by one call: MPI counts are ints, and the scratch slice stays small.
constexpr std::int64_t kPiece = std::int64_t{1} << 26;

slipway_dtype DtypeOf(MPI_Datatype type) { return type == MPI_FLOAT ? SLIPWAY_FLOAT32 : SLIPWAY_FLOAT64; }

template <slipway_op op>
void CombineForMpi(void* in, void* in_and_out, int* count, MPI_Datatype* type) {
  Combine({DtypeOf(*type), op}, in, in_and_out, in_and_out, *count);
}

/// MPI's own where it does what reduction.h promises, else one of ours, which lives as long as this object.
class MpiOperation {
 public:
  explicit MpiOperation(const Reduction& reduction) {
    const bool extreme = reduction.op == SLIPWAY_MIN || reduction.op == SLIPWAY_MAX;
    if (!extreme || IsInteger(reduction.dtype)) {
      handle_ = OfMpi(reduction.op);
      return;
    }
    auto* function = reduction.op == SLIPWAY_MIN ? CombineForMpi<SLIPWAY_MIN> : CombineForMpi<SLIPWAY_MAX>;
    CheckMpi(MPI_Op_create(function, 1, &handle_), "MPI_Op_create");
    made_ = true;
  }
  MpiOperation(const MpiOperation&) = delete;
  MpiOperation& operator=(const MpiOperation&) = delete;
  ~MpiOperation() {
    if (made_) MPI_Op_free(&handle_);
  }

  MPI_Op handle() const { return handle_; }

 private:
  static MPI_Op OfMpi(slipway_op op);

  MPI_Op handle_ = MPI_OP_NULL;
  bool made_ = false;
};

MPI_Op MpiOperation::OfMpi(slipway_op op) {
  switch (op) {
    case SLIPWAY_MIN: return MPI_MIN;
    case SLIPWAY_MAX: return MPI_MAX;
    case SLIPWAY_PRODUCT: return MPI_PROD;
    case SLIPWAY_SUM:
    case SLIPWAY_MEAN: return MPI_SUM;
  }
  return MPI_OP_NULL;
}

void AllreducePiece(char* data, std::int64_t count, const Reduction& reduction, const MpiOperation& operation,
                    Communicator& group) {
  std::vector<int> counts;
  std::vector<int> offsets;
  for (const auto& slice : SlicesOf(count, group.size())) {
    counts.push_back(static_cast<int>(slice.count));
    offsets.push_back(static_cast<int>(slice.first));
  }
  const int own = counts[static_cast<std::size_t>(group.rank())];
  Scratch slice(BytesOf(own, SizeOf(reduction.dtype)));
  const auto type = MpiTypeOf(reduction.dtype);
  MPI_Request request = MPI_REQUEST_NULL;
  CheckMpi(MPI_Ireduce_scatter(data, slice.data(), counts.data(), type, operation.handle(), group.handle(), &request),
           "MPI_Ireduce_scatter");
  group.CompleteWithAll(request);
  Finish(reduction, slice.data(), own, group.size());
  CheckMpi(
      MPI_Iallgatherv(slice.data(), own, type, data, counts.data(), offsets.data(), type, group.handle(), &request),
      "MPI_Iallgatherv");
  group.CompleteWithAll(request);
}

/// False for 16-bit floats, which MPI does not know, and for the mean of integers.
bool MpiCanReduce(const Reduction& reduction) {
  return MpiTypeOf(reduction.dtype) != MPI_DATATYPE_NULL && !IsMeanOfIntegers(reduction);
}

/// MPI_Ireduce_scatter and MPI_Iallgatherv: each element is combined on exactly one rank, so all get the same bits.
/// MPI's own allreduce may combine in a different order on each rank, and then replicas drift apart. Minimum and
/// maximum of floats are ours: MPI's lose a NaN on one side, and the sign of a zero. Sent: what MPI's algorithms send.
/// Memory: a slice of 1/P. Errors: as all allreduces.
void AllreduceByMpi(void* data, std::int64_t count, const Reduction& reduction, Communicator& communicator) {
  const MpiOperation operation(reduction);
  auto* at = static_cast<char*>(data);
  while (count > 0) {
    const auto piece = std::min(count, kPiece);
    AllreducePiece(at, piece, reduction, operation, communicator);
    at += BytesOf(piece, SizeOf(reduction.dtype));
    count -= piece;
  }
}

SharedMessage ForNode(const AllreduceMessage& message, const Group& group, SharedWay way = SharedWay::kByRule) {
  return {message.pieces, message.reduction, message.tag,    group.size(), message.view, way,
          message.moving, message.whole,     message.threads};
}

/// Parts of messages of different lengths are equally long, and must not meet either.
std::uint32_t SignatureOf(const Reduction& reduction, std::int64_t whole) {
  const auto own = static_cast<std::uint32_t>(reduction.dtype) * 16 + static_cast<std::uint32_t>(reduction.op) + 1;
  return own + static_cast<std::uint32_t>(static_cast<std::uint64_t>(whole) * 0x9e3779b97f4a7c15u >> 32);
}

void BetweenRanks(Algorithm algorithm, void* data, std::int64_t count, const Reduction& reduction, Group& group,
                  PointToPoint& members) {
  switch (algorithm) {
    case Algorithm::kRecursiveDoubling: return AllreduceByRecursiveDoubling(data, count, reduction, members);
    case Algorithm::kRing: return AllreduceByRing(data, count, reduction, members);
    case Algorithm::kRabenseifner: return AllreduceByRabenseifner(data, count, reduction, members);
    case Algorithm::kTorus: return AllreduceByTorus(data, count, reduction, members);
    case Algorithm::kMpi:
      if (MpiCanReduce(reduction)) return AllreduceByMpi(data, count, reduction, group.communicator());
      [[fallthrough]];
    case Algorithm::kShared:
    case Algorithm::kPairwise: return AllreducePairwise(data, count, reduction, members);
  }
}

/// Calls `action(data, count)` with the message as one consecutive buffer.
template <class Action>
void AsOneBuffer(const AllreduceMessage& message, Action action) {
  const auto count = CountOf(message.pieces);
  if (message.pieces.size() == 1) return action(message.pieces.front().data, count);
  const auto element = SizeOf(message.reduction.dtype);
  Scratch buffer(BytesOf(count, element));
  Gather(message.pieces, {0, count}, element, buffer.data());
  action(buffer.data(), count);
  Scatter(message.pieces, {0, count}, element, buffer.data());
}

/// Within each node by shared memory, between the leaders by messages.
void Hierarchical(Algorithm algorithm, const AllreduceMessage& message, Group& group) {
  auto& channel = *group.channel();
  const auto in_node = ForNode(message, group);
  SharedReduce(channel, in_node, group.memory().pool);
  if (group.topology().local_rank == 0) {
    auto sum = message.reduction;
    if (sum.op == SLIPWAY_MEAN) sum.op = SLIPWAY_SUM;
    group.leaders().SetSignature(SignatureOf(sum, message.whole));
    AsOneBuffer(message, [&](char* data, std::int64_t count) {
      BetweenRanks(algorithm, data, count, sum, group, group.leaders());
      Finish(message.reduction, data, count, group.size());
    });
  }
  SharedBroadcast(channel, in_node, group.memory().pool);
}

/// Of a mean of integers all ranks' elements have to come together, whatever was chosen.
Choice Fitting(const Choice& choice, const Reduction& reduction) {
  if (!IsMeanOfIntegers(reduction) || choice.algorithm == Algorithm::kShared) return choice;
  return {Algorithm::kPairwise, false};
}

Choice Choose(std::int64_t count, const Reduction& reduction, const Group& group) {
  const auto bytes = count * static_cast<std::int64_t>(SizeOf(reduction.dtype));
  const bool narrow = SizeOf(reduction.dtype) == 2;
  return group.selection().table.Select(bytes, {group.selection().canonical, narrow});
}

/// Bytes of a part for each member. Of a shorter one, the many small messages of a ring would cost more time than is
/// gained by copies that go on beside them.
constexpr std::int64_t kLeastShare = 256 * 1024;

/// Between nodes: all but an eighth of the copies go on beside the exchange, and its messages are eight times as many.
constexpr std::int64_t kMostParts = 8;

/// Those whose messages are the shorter the more members there are.
bool DividesByMembers(Algorithm algorithm) {
  return algorithm != Algorithm::kShared && algorithm != Algorithm::kRecursiveDoubling;
}

}  // namespace

void AllreduceBy(const Choice& asked, const AllreduceMessage& message, Group& group) {
  if (group.alone()) return;
  const auto choice = Fitting(asked, message.reduction);
  if (choice.algorithm == Algorithm::kShared && group.on_one_node()) {
    return SharedAllreduce(*group.channel(), ForNode(message, group, choice.way), group.memory().pool);
  }
  if (choice.hierarchical && group.channel() != nullptr) return Hierarchical(choice.algorithm, message, group);
  group.members().SetSignature(SignatureOf(message.reduction, message.whole));
  AsOneBuffer(message, [&](char* data, std::int64_t count) {
    BetweenRanks(choice.algorithm, data, count, message.reduction, group, group.members());
  });
}

void Allreduce(const AllreduceMessage& message, Group& group) {
  if (group.alone() || CountOf(message.pieces) == 0) return;
  const auto whole = std::max(message.whole, CountOf(message.pieces));
  AllreduceBy(Choose(whole, message.reduction, group), message, group);
}

std::vector<Slice> SlicesOfOneOrder(Algorithm algorithm, std::int64_t count, int members) {
  switch (algorithm) {
    case Algorithm::kMpi: return {};
    case Algorithm::kRing: return SlicesOf(count, members);
    case Algorithm::kTorus: return TorusSlices(count, members);
    // In the order of the members, or in that of a tree over them, wherever an element is.
    case Algorithm::kShared:
    case Algorithm::kPairwise:
    case Algorithm::kRecursiveDoubling:
    case Algorithm::kRabenseifner: break;
  }
  return {{0, count}};
}

MessageParts PartsOf(std::int64_t count, const Reduction& reduction, std::int64_t bytes, Group& group) {
  const auto choice = Fitting(Choose(count, reduction, group), reduction);
  const bool in_node = choice.algorithm == Algorithm::kShared && group.on_one_node();
  const bool by_leaders = choice.hierarchical && group.channel() != nullptr;
  const int members = by_leaders ? group.topology().nodes() : group.size();
  auto slices = SlicesOfOneOrder(choice.algorithm, count, members);
  if (slices.empty()) return {std::vector<Slice>{{0, count}}, count};
  const auto element = static_cast<std::int64_t>(SizeOf(reduction.dtype));
  if (!in_node) bytes = std::max(bytes, count * element / kMostParts);
  if (!in_node && DividesByMembers(choice.algorithm)) bytes = std::max(bytes, members * kLeastShare);
  return {std::move(slices), bytes / element};
}

}  // namespace slipway::runtime
