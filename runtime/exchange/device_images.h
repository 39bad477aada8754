/// Tensors in the memory of a GPU, and their images in CPU memory, where they are exchanged.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "runtime/device/stream.h"
#include "runtime/exchange/device_tensors.h"
#include "runtime/memory/pool_memory.h"

namespace slipway::runtime {

/// The device of a list of tensors; nothing when they lie in CPU memory. Empty tensors lie nowhere.
/// Errors: RuntimeError(DEVICE_MEMORY) naming two tensors that lie in different places.
std::optional<DevicePlace> PlaceOf(std::span<const TensorInfo> tensors);

/// Bytes of a block for images of the tensors, and where they lie in it: aligned to 64 bytes.
std::int64_t BytesOfImages(std::span<const TensorInfo> tensors);
void PlaceImages(std::span<TensorInfo> tensors, char* block);

/// Images in one block of pinned memory, which the node's ranks can reach. Each copy to the CPU waits, by an event, for
/// the stream that makes the tensor, and for the last Release(). The program's stream waits, by an event, for the
/// copies back.
class DeviceImages : public DeviceTensors {
 public:
  /// `largest`: elements of a tensor beyond so many bytes get an image of their own, so that parts of it travel while
  /// others are combined; 0: each tensor has one.
  /// Errors: also those of the pool.
  DeviceImages(const DevicePlace& place, std::span<const TensorInfo> tensors, std::int64_t largest, SharedPool& pool);

  const std::vector<TensorInfo>& values() const override { return images_; }
  void Fetch(int tensor, StreamHandle stream) override;
  bool Fetching() const override { return !coming_.empty(); }
  std::optional<int> TakeArrived() override;
  void Store(std::span<const int> images) override;
  void Release(StreamHandle stream) override;

 private:
  struct Image {
    char* on_device = nullptr;
    std::size_t bytes = 0;
    DeviceEvent arrived;
  };
  void AddImages(const TensorInfo& tensor, char* image, std::int64_t largest);

  DevicePlace place_;
  std::vector<TensorInfo> images_;
  std::vector<Image> places_;     ///< by image
  std::vector<int> first_image_;  ///< by tensor, and one behind the last
  PoolMemory memory_;
  PinnedRange pinned_;
  DeviceEvent made_;    ///< the program's stream, at Fetch()
  DeviceEvent stored_;  ///< at Release()
  std::deque<int> coming_;
  DeviceStream to_cpu_;  // last: their ends wait for the copies
  DeviceStream to_device_;
};

}  // namespace slipway::runtime
