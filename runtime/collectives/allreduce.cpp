#include "runtime/collectives/allreduce.h"

#include "runtime/collectives/between_ranks.h"
#include "runtime/collectives/mpi_allreduce.h"
#include "runtime/memory/scratch.h"

namespace slipway::runtime {
namespace {

SharedMessage ForNode(const AllreduceMessage& message, const Group& group) {
  return {message.pieces, message.reduction, message.tag, group.size(), message.view};
}

void BetweenRanks(Algorithm algorithm, void* data, std::int64_t count, const Reduction& reduction, Group& group,
                  PointToPoint& members) {
  members.SetSignature(static_cast<std::uint32_t>(reduction.dtype) * 16 + static_cast<std::uint32_t>(reduction.op) + 1);
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
  Scratch buffer(static_cast<std::size_t>(count) * element);
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

Choice Choose(const AllreduceMessage& message, Group& group) {
  const auto bytes = CountOf(message.pieces) * static_cast<std::int64_t>(SizeOf(message.reduction.dtype));
  const bool narrow = SizeOf(message.reduction.dtype) == 2;
  return group.selection().table.Select(bytes, {group.selection().canonical, narrow});
}

}  // namespace

void AllreduceBy(const Choice& asked, const AllreduceMessage& message, Group& group) {
  if (group.alone()) return;
  const auto choice = Fitting(asked, message.reduction);
  const bool has_channel = group.channel() != nullptr;
  if (choice.algorithm == Algorithm::kShared && has_channel && group.topology().nodes() == 1) {
    return SharedAllreduce(*group.channel(), ForNode(message, group), group.memory().pool);
  }
  if (choice.hierarchical && has_channel) return Hierarchical(choice.algorithm, message, group);
  AsOneBuffer(message, [&](char* data, std::int64_t count) {
    BetweenRanks(choice.algorithm, data, count, message.reduction, group, group.members());
  });
}

void Allreduce(const AllreduceMessage& message, Group& group) {
  if (group.alone() || CountOf(message.pieces) == 0) return;
  AllreduceBy(Choose(message, group), message, group);
}

}  // namespace slipway::runtime
