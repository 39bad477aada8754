#include "runtime/exchange/team.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <set>
#include <string_view>

#include "core/crc32c.h"
#include "runtime/collectives/allreduce.h"
#include "runtime/status.h"

namespace slipway::runtime {
namespace {

std::string_view DtypeName(slipway_dtype dtype) {
  switch (dtype) {
    case SLIPWAY_FLOAT32: return "float32";
    case SLIPWAY_FLOAT64: return "float64";
    case SLIPWAY_INT32: return "int32";
    case SLIPWAY_INT64: return "int64";
  }
  return "unknown";
}

RuntimeError ArgumentError(const std::string& message) { return {SLIPWAY_ERROR_ARGUMENT, message}; }

std::int64_t CheckedCount(const TensorInfo& tensor) {
  std::int64_t count = 1;
  for (const auto extent : tensor.shape) {
    if (extent < 0) throw ArgumentError(fmt::format("tensor '{}' has a negative extent: {}", tensor.name, extent));
    if (__builtin_mul_overflow(count, extent, &count) || count > std::numeric_limits<std::int64_t>::max() / 8) {
      throw ArgumentError(fmt::format("tensor '{}' has more elements than 64 bits can count", tensor.name));
    }
  }
  return count;
}

TensorInfo TakeTensor(const slipway_tensor& tensor, int index) {
  if (tensor.name == nullptr) throw ArgumentError(fmt::format("tensor {} has no name (null pointer)", index));
  TensorInfo info{tensor.name, tensor.dtype, {}, tensor.data};
  if (SizeOf(tensor.dtype) == 0) throw ArgumentError(fmt::format("tensor '{}' has an unknown dtype", info.name));
  if (tensor.ndim < 0) throw ArgumentError(fmt::format("tensor '{}' has {} dimensions", info.name, tensor.ndim));
  if (tensor.ndim > 0 && tensor.shape == nullptr) {
    throw ArgumentError(fmt::format("tensor '{}' has no shape (null pointer)", info.name));
  }
  if (tensor.ndim > 0) info.shape.assign(tensor.shape, tensor.shape + tensor.ndim);
  if (CheckedCount(info) > 0 && info.data == nullptr) {
    throw ArgumentError(fmt::format("tensor '{}' has no memory (null pointer)", info.name));
  }
  return info;
}

/// The list as lines, one tensor each: what has to be equal on all ranks.
std::string Describe(const std::vector<TensorInfo>& tensors) {
  std::string text;
  for (const auto& tensor : tensors) text += tensor.Describe() + "\n";
  return text;
}

std::string_view TakeLine(std::string_view& text) {
  const auto line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(text.size(), line.size() + 1));
  return line;
}

/// "tensor 2 is 'b float32 [3]' on rank 1 but 'b float32 [4]' on rank 0".
std::string FirstDifference(std::string_view ours, std::string_view reference, int rank) {
  for (int index = 0; !ours.empty() || !reference.empty(); ++index) {
    const auto our_line = TakeLine(ours);
    const auto reference_line = TakeLine(reference);
    if (our_line == reference_line) continue;
    const auto shown = [](std::string_view line) {
      return line.empty() ? std::string("missing") : fmt::format("'{}'", line);
    };
    return fmt::format("tensor {} is {} on rank {} but {} on rank 0", index, shown(our_line), rank,
                       shown(reference_line));
  }
  return {};
}

/// All ranks throw the message of the lowest rank that has one, or none does.
void AgreeOnMismatch(const std::string& message, Communicator& communicator) {
  const auto nobody = static_cast<std::uint64_t>(communicator.size());
  const auto speaker = communicator.Min(message.empty() ? nobody : static_cast<std::uint64_t>(communicator.rank()));
  if (speaker == nobody) return;
  throw RuntimeError(SLIPWAY_ERROR_MISMATCH, communicator.BroadcastText(message, static_cast<int>(speaker)));
}

}  // namespace

std::int64_t TensorInfo::count() const {
  std::int64_t count = 1;
  for (const auto extent : shape) count *= extent;
  return count;
}

std::size_t TensorInfo::bytes() const { return static_cast<std::size_t>(count()) * SizeOf(dtype); }

std::string TensorInfo::Describe() const {
  return fmt::format("{} {} [{}]", name, DtypeName(dtype), fmt::join(shape, ", "));
}

std::vector<TensorInfo> TakeTensors(const slipway_tensor* tensors, int count) {
  if (count < 0) throw ArgumentError(fmt::format("the number of tensors is negative: {}", count));
  if (count > 0 && tensors == nullptr) throw ArgumentError("the list of tensors is a null pointer");
  std::vector<TensorInfo> taken;
  for (int i = 0; i < count; ++i) taken.push_back(TakeTensor(tensors[i], i));
  return taken;
}

Team::Team(std::vector<TensorInfo> tensors, Communicator& communicator)
    : tensors_(std::move(tensors)), communicator_(communicator) {
  const auto ours = Describe(tensors_);
  const auto reference = communicator_.BroadcastText(ours, 0);
  AgreeOnMismatch(FirstDifference(ours, reference, communicator_.rank()), communicator_);
  for (const auto& tensor : tensors_) {
    const bool follows =
        !runs_.empty() && runs_.back().dtype == tensor.dtype &&
        static_cast<char*>(runs_.back().data) + static_cast<std::size_t>(runs_.back().count) * SizeOf(tensor.dtype) ==
            tensor.data;
    if (follows) {
      runs_.back().count += tensor.count();
    } else {
      runs_.push_back({tensor.data, tensor.count(), tensor.dtype});
    }
  }
  // Whether memory is contiguous is each rank's own affair: reduce tensor by tensor unless it is so on all of them.
  if (communicator_.Max(runs_.size()) != communicator_.Min(runs_.size()) || runs_.size() > 1) {
    runs_.clear();
    for (const auto& tensor : tensors_) runs_.push_back({tensor.data, tensor.count(), tensor.dtype});
  }
}

void Team::ExchangeMean() {
  for (const auto& run : runs_) Allreduce(run.data, run.count, run.dtype, SLIPWAY_MEAN, communicator_);
}

void CheckReplicas(std::span<const TensorInfo> tensors, Communicator& communicator) {
  std::string message;
  for (const auto& tensor : tensors) {
    const std::span bytes(static_cast<const std::byte*>(tensor.data), tensor.bytes());
    // Two checksums with different beginnings: 64 bits against a chance match.
    const auto sum = (std::uint64_t{Crc32c(bytes, 1)} << 32) | Crc32c(bytes);
    auto reference = sum;
    communicator.Broadcast(&reference, sizeof reference, 0);
    if (sum != reference && message.empty()) {
      message = fmt::format("'{}' differs between rank 0 and rank {}: the replicas have drifted apart", tensor.name,
                            communicator.rank());
    }
  }
  AgreeOnMismatch(message, communicator);
}

}  // namespace slipway::runtime
