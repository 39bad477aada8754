#include "runtime/exchange/mpi_tensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/exchange/shares.h"
#include "runtime/group/agreement.h"

namespace slipway::runtime {
namespace {

/// A quotient is made by the exchange's kernel, which knows floats.
bool CanCombine(const TensorInfo& tensor, slipway_op op) {
  if (!MpiRanks::Knows(tensor.dtype)) return false;
  return op == SLIPWAY_SUM || (op == SLIPWAY_MEAN && SumKernel::Knows(tensor.dtype));
}

void RequireKnownToMpi(std::span<const TensorInfo> tensors, slipway_op op) {
  for (const auto& tensor : tensors) {
    if (tensor.count() == 0 || CanCombine(tensor, op)) continue;
    throw RuntimeError(SLIPWAY_ERROR_ARGUMENT,
                       fmt::format("tensor '{}' of {} is not for MPI, which takes sums of float32, float64, int32 and "
                                   "int64, and means of the floats: set gpu_exchange to auto",
                                   tensor.name, NameOf(tensor.dtype)));
  }
}

void RequireQuotient(const DevicePlace& place, slipway_op op) {
  if (op != SLIPWAY_MEAN || SumKernel::Of(place) != nullptr) return;
  throw RuntimeError(SLIPWAY_ERROR_DEVICE,
                     "MPI gives sums, and this GPU cannot run the kernel that makes means of them: set op to sum, or "
                     "gpu_exchange to auto");
}

std::size_t BytesOfBucket(const JoinedBucket& bucket) {
  return BytesOf(bucket.call.count, SizeOf(bucket.call.reduction.dtype));
}

}  // namespace

std::unique_ptr<MpiTensors> MpiTensors::Make(const DevicePlace& place, std::span<const TensorInfo> tensors,
                                             slipway_op op, Group& group) {
  RequireKnownToMpi(tensors, op);
  auto ranks = MpiRanks::Connect(place, group.communicator());
  OnAllRanks(group.communicator(), [&] { RequireQuotient(place, op); });
  std::unique_ptr<MpiTensors> made;
  OnAllRanks(group.communicator(), [&] { made.reset(new MpiTensors(place, tensors, op, group, std::move(ranks))); });
  return made;
}

MpiTensors::MpiTensors(const DevicePlace& place, std::span<const TensorInfo> tensors, slipway_op op, Group& group,
                       std::unique_ptr<MpiRanks> ranks)
    : CombinedTensors(place, tensors), op_(op), group_(group), ranks_(std::move(ranks)) {}

void MpiTensors::SetBuckets(std::span<const BucketPlan> plans) {
  auto joined = JoinBuckets(*place().driver, plans, values(), op_, group_.communicator());
  OnAllRanks(group_.communicator(), [&] { MakeBuckets(std::move(joined)); });
}

void MpiTensors::MakeBuckets(std::vector<JoinedBucket> joined) {
  std::size_t most = 0;
  for (const auto& bucket : joined) {
    if (bucket.pieces.size() > 1) most = std::max(most, BytesOfBucket(bucket));
  }
  if (most > 0) block_.emplace(place(), most);
  for (auto& bucket : joined) {
    char* data = bucket.pieces.size() > 1 ? block_->data() : bucket.pieces.front().data;
    const SumPart whole{bucket.call.count, {data}};
    buckets_.push_back({std::move(bucket), data, std::nullopt});
    if (op_ == SLIPWAY_MEAN) buckets_.back().whole.emplace(place(), std::span(&whole, 1), sums());
  }
}

void MpiTensors::AwaitCopies() {
  done().Record(sums().handle());
  AwaitPoint(done(), group_.communicator().waiter());
}

void MpiTensors::Pack(const Bucket& bucket) {
  char* to = bucket.data;
  for (const auto& piece : bucket.joined.pieces) {
    const auto bytes = BytesOf(piece.count, SizeOf(bucket.joined.call.reduction.dtype));
    sums().CopyOnDevice(to, piece.data, bytes);
    to += bytes;
  }
  AwaitCopies();
}

void MpiTensors::Unpack(const Bucket& bucket) {
  const char* from = bucket.data;
  for (const auto& piece : bucket.joined.pieces) {
    const auto bytes = BytesOf(piece.count, SizeOf(bucket.joined.call.reduction.dtype));
    sums().CopyOnDevice(piece.data, from, bytes);
    from += bytes;
  }
}

void MpiTensors::Combine(std::size_t index, Group& group) {
  const auto& bucket = buckets_[index];
  const auto& call = bucket.joined.call;
  const bool packed = bucket.joined.pieces.size() > 1;
  group.Meet(call);
  const InContext here(place());
  if (packed) Pack(bucket);
  ranks_->AddUp(bucket.data, call.count, call.reduction.dtype);
  if (bucket.whole) SumKernel::Of(place())->Launch(*bucket.whole, call.reduction.dtype, group.size(), sums());
  if (packed) Unpack(bucket);
  if (packed || bucket.whole) AwaitCopies();
}

}  // namespace slipway::runtime
