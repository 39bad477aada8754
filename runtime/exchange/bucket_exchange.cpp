#include "runtime/exchange/bucket_exchange.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>

#include "runtime/reduction/reduction.h"

namespace slipway::runtime {
namespace {

/// By value of a bucket: whether it ends where the one before it begins. The last tensors come first.
std::vector<char> JoinedHere(const Driver& driver, std::span<const BucketPlan> plans,
                             std::span<const TensorInfo> tensors) {
  std::vector<char> joined;
  for (const auto& plan : plans) {
    const TensorInfo* before = nullptr;
    for (const int index : plan.tensors) {
      const auto& tensor = tensors[static_cast<std::size_t>(index)];
      const char* end = static_cast<const char*>(tensor.data) + tensor.bytes();
      const bool meets = before != nullptr && end == before->data;
      joined.push_back(meets && AreOfOneAllocation(driver, tensor.data, before->data) ? 1 : 0);
      before = &tensor;
    }
  }
  return joined;
}

/// On all ranks: each rank's memory has gaps of its own.
std::vector<char> JoinedEverywhere(std::vector<char> joined, Communicator& ranks) {
  const auto of_all = ranks.Allgather(joined.data(), joined.size());
  for (std::size_t i = 0; i < of_all.size(); ++i) {
    auto& here = joined[i % joined.size()];
    here = static_cast<char>(here & of_all[i]);
  }
  return joined;
}

/// 16-bit floats on the wire in place of float32.
bool TravelsNarrow(const BucketPlan& plan, const TeamSettings& settings) {
  return settings.wire && plan.dtype == SLIPWAY_FLOAT32;
}

/// How a bucket travels.
Reduction ReductionOf(const BucketPlan& plan, const TeamSettings& settings) {
  return {TravelsNarrow(plan, settings) ? *settings.wire : plan.dtype, settings.op};
}

/// A part of a bucket. Its values are indices of `dealt`, to which its images are added.
BucketPlan DealPart(const BucketPlan& plan, std::span<const TensorInfo> tensors, std::span<const Slice> slices,
                    DealtImages& dealt) {
  BucketPlan part{.dtype = plan.dtype, .tensors = {}, .whole = plan.count};
  std::vector<Piece> pieces;
  for (const int index : plan.tensors) pieces.push_back({nullptr, tensors[static_cast<std::size_t>(index)].count()});
  dealt.bytes = AlignedImage(dealt.bytes);
  for (const auto& slice : slices) {
    ForEachPart(pieces, slice, [&](const Part& in) {
      part.tensors.push_back(static_cast<int>(dealt.images.size()));
      part.count += in.count;
      dealt.images.push_back({plan.tensors[in.piece], {in.offset, in.count}, dealt.bytes});
      dealt.bytes += static_cast<std::int64_t>(BytesOf(in.count, SizeOf(plan.dtype)));
    });
  }
  return part;
}

/// Brings the images into their order, and numbers the values of the plans as DeviceImages does.
void NumberValues(DealtBuckets& dealt, std::size_t tensors) {
  auto& images = dealt.images.images;
  std::vector<int> sorted(images.size());
  std::iota(sorted.begin(), sorted.end(), 0);
  std::ranges::sort(sorted, {}, [&](int image) {
    const auto& at = images[static_cast<std::size_t>(image)];
    return std::pair(at.tensor, at.elements.first);
  });
  std::vector<DealtImages::Image> in_order;
  std::vector<int> of_image(images.size());
  std::vector<int> of_tensor(tensors);
  int next = 0;
  for (std::size_t tensor = 0; tensor < tensors; ++tensor) {
    of_tensor[tensor] = next;
    const auto before = in_order.size();
    while (in_order.size() < images.size()) {
      const auto image = static_cast<std::size_t>(sorted[in_order.size()]);
      if (images[image].tensor != static_cast<int>(tensor)) break;
      of_image[image] = next++;
      in_order.push_back(images[image]);
    }
    if (in_order.size() == before) ++next;
  }
  images = std::move(in_order);
  for (auto& plan : dealt.plans) {
    const auto& numbers = plan.whole > 0 ? of_image : of_tensor;
    for (int& value : plan.tensors) value = numbers[static_cast<std::size_t>(value)];
  }
}

/// Fewer overlap little. Then small tensors that fill a bucket are better copied together.
constexpr std::int64_t kLeastParts = 3;

}  // namespace

DealtBuckets DealBuckets(std::span<const BucketPlan> plans, std::span<const TensorInfo> tensors,
                         const TeamSettings& settings, std::int64_t bytes, Group& group) {
  DealtBuckets dealt{{}, {}, bytes};
  for (const auto& plan : plans) {
    const auto parts = PartsOf(plan.count, ReductionOf(plan, settings), bytes, group);
    if (parts.size() < kLeastParts) {
      dealt.plans.push_back(plan);
      continue;
    }
    for (std::int64_t part = 0; part < parts.size(); ++part) {
      dealt.plans.push_back(DealPart(plan, tensors, parts.Of(part), dealt.images));
    }
    const auto part_bytes = static_cast<std::int64_t>(BytesOf(parts.CountOf(0), SizeOf(plan.dtype)));
    dealt.part_bytes = std::min(dealt.part_bytes, part_bytes);
  }
  NumberValues(dealt, tensors.size());
  return dealt;
}

std::vector<BucketPlan> PlanBuckets(std::span<const TensorInfo> tensors, std::int64_t bytes) {
  std::vector<BucketPlan> closed;
  std::map<slipway_dtype, BucketPlan> open;
  for (auto index = static_cast<int>(tensors.size()) - 1; index >= 0; --index) {
    const auto& tensor = tensors[static_cast<std::size_t>(index)];
    if (tensor.count() == 0) continue;
    auto& bucket = open[tensor.dtype];
    bucket.dtype = tensor.dtype;
    bucket.tensors.push_back(index);
    bucket.count += tensor.count();
    if (bucket.count * static_cast<std::int64_t>(SizeOf(tensor.dtype)) < bytes) continue;
    closed.push_back(std::move(bucket));
    open.erase(tensor.dtype);
  }
  for (auto& [dtype, bucket] : open) closed.push_back(std::move(bucket));
  return closed;
}

BucketExchange::BucketExchange(const BucketPlan& plan, std::span<const TensorInfo> tensors,
                               const TeamSettings& settings, int slots, std::uint32_t tag, Group& group)
    : plan_(plan), reduction_(ReductionOf(plan, settings)), narrow_(TravelsNarrow(plan, settings)), tag_(tag) {
  for (const int index : plan.tensors) {
    const auto& tensor = tensors[static_cast<std::size_t>(index)];
    if (plan.whole > 0 && !tensors_.empty()) {
      tensors_.back().count += tensor.count();
    } else {
      tensors_.push_back({static_cast<char*>(tensor.data), tensor.count()});
    }
  }
  if (!narrow_) view_ = ViewOf(tensors_, element(), group);
  const int traveling = slots + (narrow_ ? 1 : 0);
  const auto bytes = plan.count * static_cast<std::int64_t>(SizeOf(reduction_.dtype));
  for (int i = 0; i < traveling; ++i) {
    Travel travel{PoolMemory(group.memory().pool, bytes), {}, {}};
    travel.piece.push_back({travel.memory.data(), plan.count});
    travel.view = ViewOf(travel.piece, SizeOf(reduction_.dtype), group);
    travels_.push_back(std::move(travel));
  }
}

std::optional<SharedView> BucketExchange::ViewOf(Pieces pieces, std::size_t element, Group& group) {
  if (group.channel() == nullptr) return std::nullopt;
  return MakeSharedView(*group.channel(), pieces, element, group.memory().pool, group.node());
}

void BucketExchange::Place(int index, void* data) {
  const auto at = std::ranges::find(plan_.tensors, index) - plan_.tensors.begin();
  tensors_[static_cast<std::size_t>(at)].data = static_cast<char*>(data);
}

void BucketExchange::Pack(char* to) const {
  if (!narrow_) return Gather(tensors_, {0, plan_.count}, element(), to);
  for (const auto& tensor : tensors_) {
    Narrow(threads_, reinterpret_cast<const float*>(tensor.data), to, tensor.count, reduction_.dtype);
    to += BytesOf(tensor.count, SizeOf(reduction_.dtype));
  }
}

void BucketExchange::Unpack(const char* from) const {
  for (const auto& tensor : tensors_) {
    if (narrow_) {
      Widen(threads_, from, reinterpret_cast<float*>(tensor.data), tensor.count, reduction_.dtype);
    } else {
      std::memcpy(tensor.data, from, BytesOf(tensor.count, element()));
    }
    from += BytesOf(tensor.count, SizeOf(reduction_.dtype));
  }
}

void BucketExchange::CopyIn(int slot) { Pack(travels_[static_cast<std::size_t>(slot)].memory.data()); }

void BucketExchange::CopyOut(int slot) { Unpack(travels_[static_cast<std::size_t>(slot)].memory.data()); }

void BucketExchange::AddOut(int slot) {
  const char* from = travels_[static_cast<std::size_t>(slot)].memory.data();
  for (const auto& tensor : tensors_) {
    std::vector<float> wide(narrow_ ? static_cast<std::size_t>(tensor.count) : 0);
    if (narrow_) Widen(threads_, from, wide.data(), tensor.count, reduction_.dtype);
    const void* values = narrow_ ? static_cast<const void*>(wide.data()) : from;
    Combine({plan_.dtype, SLIPWAY_SUM}, tensor.data, values, tensor.data, tensor.count);
    from += BytesOf(tensor.count, SizeOf(reduction_.dtype));
  }
}

std::span<char> BucketExchange::SlotBytes(int slot) {
  const auto& travel = travels_[static_cast<std::size_t>(slot)];
  return {travel.memory.data(), BytesOf(plan_.count, SizeOf(reduction_.dtype))};
}

void BucketExchange::Exchange(std::optional<int> slot, Group& group) {
  if (!slot && !narrow_) {
    return Allreduce(
        {tensors_, reduction_, tag_, view_ ? &*view_ : nullptr, moving_ ? &*moving_ : nullptr, plan_.whole, threads_},
        group);
  }
  const auto& travel = travels_[static_cast<std::size_t>(slot.value_or(static_cast<int>(travels_.size()) - 1))];
  if (!slot) Pack(travel.memory.data());
  Allreduce({travel.piece, reduction_, tag_, travel.view ? &*travel.view : nullptr, nullptr, plan_.whole, threads_},
            group);
  if (!slot) Unpack(travel.memory.data());
}

std::vector<JoinedBucket> JoinBuckets(const Driver& driver, std::span<const BucketPlan> plans,
                                      std::span<const TensorInfo> tensors, slipway_op op, Communicator& ranks) {
  const auto joined = JoinedEverywhere(JoinedHere(driver, plans, tensors), ranks);
  auto next = joined.begin();
  std::vector<JoinedBucket> buckets;
  for (const auto& plan : plans) {
    const auto tag = static_cast<std::uint32_t>(buckets.size() + 1);
    JoinedBucket bucket{{Call::Kind::kAllreduce, {plan.dtype, op}, plan.count, tag}, {}};
    for (const int index : plan.tensors) {
      const auto& tensor = tensors[static_cast<std::size_t>(index)];
      const Piece piece{static_cast<char*>(tensor.data), tensor.count()};
      if (*next++ != 0) {
        bucket.pieces.back() = {piece.data, piece.count + bucket.pieces.back().count};
      } else {
        bucket.pieces.push_back(piece);
      }
    }
    buckets.push_back(std::move(bucket));
  }
  return buckets;
}

}  // namespace slipway::runtime
