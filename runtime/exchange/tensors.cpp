#include "runtime/exchange/tensors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <string_view>

#include "runtime/group/agreement.h"
#include "runtime/reduction/reduction.h"
#include "runtime/status.h"

namespace slipway::runtime {
namespace {

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

/// The call as lines, one for each tensor: what has to be equal on all ranks.
std::string Describe(const std::string& call, std::span<const TensorInfo> tensors) {
  std::string text = call + "\n";
  for (const auto& tensor : tensors) text += tensor.Describe() + "\n";
  return text;
}

std::string_view TakeLine(std::string_view& text) {
  const auto line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(text.size(), line.size() + 1));
  return line;
}

/// "tensor 2 is 'b float32 [3]', but 'b float32 [4]' on rank 0"; line 0 is the call itself. `rank`: of the reference.
std::string FirstDifference(std::string_view ours, std::string_view reference, int rank) {
  for (int line = 0;; ++line) {
    const auto our_line = TakeLine(ours);
    const auto reference_line = TakeLine(reference);
    if (our_line == reference_line && !(ours.empty() && reference.empty())) continue;
    if (line == 0) return fmt::format("called for {}, but for {} on rank {}", our_line, reference_line, rank);
    const auto shown = [](std::string_view text) {
      return text.empty() ? std::string("missing") : fmt::format("'{}'", text);
    };
    return fmt::format("tensor {} is {}, but {} on rank {}", line - 1, shown(our_line), shown(reference_line), rank);
  }
}

}  // namespace

std::int64_t TensorInfo::count() const {
  std::int64_t count = 1;
  for (const auto extent : shape) count *= extent;
  return count;
}

std::size_t TensorInfo::bytes() const { return static_cast<std::size_t>(count()) * SizeOf(dtype); }

std::string TensorInfo::Describe() const {
  return fmt::format("{} {} [{}]", name, NameOf(dtype), fmt::join(shape, ", "));
}

std::vector<TensorInfo> TakeTensors(const slipway_tensor* tensors, int count) {
  if (count < 0) throw ArgumentError(fmt::format("the number of tensors is negative: {}", count));
  if (count > 0 && tensors == nullptr) throw ArgumentError("the list of tensors is a null pointer");
  std::vector<TensorInfo> taken;
  for (int i = 0; i < count; ++i) taken.push_back(TakeTensor(tensors[i], i));
  return taken;
}

void RequireSameCall(const std::string& call, std::span<const TensorInfo> tensors, Communicator& communicator) {
  const auto ours = Describe(call, tensors);
  const auto reference = communicator.BroadcastText(ours, 0);
  OnAllRanks(communicator, [&] {
    if (ours == reference) return;
    throw RuntimeError(SLIPWAY_ERROR_MISMATCH, FirstDifference(ours, reference, communicator.job_ranks().front()));
  });
}

}  // namespace slipway::runtime
