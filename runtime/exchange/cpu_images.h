/// Tensors of the program as the CPU reaches them, for the length of one operation.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "runtime/device/workbench.h"
#include "runtime/exchange/tensors.h"
#include "runtime/group/waiter.h"

namespace slipway::runtime {

/// What an operation does with the tensors.
enum class ImageUse { kRead, kWrite };

/// When the program finds a result on a GPU.
enum class ResultAt {
  kReturn,  ///< when the operation returns
  kStream,  ///< in later work of the operation's stream
};

/// The place of an operation in what the program does on a GPU.
struct ImageOrder {
  StreamHandle stream = nullptr;  ///< the operation begins after what it was given so far; null: the legacy default
  ResultAt result = ResultAt::kReturn;
};

/// What copies are made with.
struct ImageTools {
  Workbenches& benches;
  const Waiter& waiter;  ///< of the calling thread; it outlives the images
};

/// The tensors themselves where they lie in CPU memory; of those on a GPU, copies in pinned memory.
class CpuImages {
 public:
  /// Copies what is read, after what the stream was given so far, and waits for it. Return() copies after that, too.
  /// Of managed memory, waits for the stream. All waits are those of AwaitPoint().
  /// Errors: DeviceError; RuntimeError: DEVICE_MEMORY when the tensors lie in different places, STATE while the stream
  /// is captured; PartedError(STALLED).
  CpuImages(std::span<const TensorInfo> tensors, ImageUse use, const ImageOrder& order, const ImageTools& tools);

  const std::vector<TensorInfo>& tensors() const { return images_; }
  /// Whether the tensors lie on a GPU.
  bool are_copies() const { return bench_.has_value(); }
  char* data(std::size_t tensor) const { return static_cast<char*>(images_[tensor].data); }
  /// Copies what was written back, and waits for it (kReturn), or lets the stream wait.
  /// Errors: DeviceError; PartedError(STALLED).
  void Return();

 private:
  std::vector<TensorInfo> given_;
  std::vector<TensorInfo> images_;
  ImageUse use_;
  ImageOrder order_;
  const Waiter& waiter_;
  std::optional<BesideCaptures> beside_;
  std::optional<Workbenches::Lease> bench_;
};

/// A tensor of `count` elements at `data`.
TensorInfo FlatTensor(const char* name, const void* data, std::int64_t count, slipway_dtype dtype);

}  // namespace slipway::runtime
