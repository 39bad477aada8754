/// Tensors in the memory of a GPU, and their images in CPU memory, where they are exchanged.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runtime/collectives/pieces.h"
#include "runtime/device/stream.h"
#include "runtime/exchange/arrivals.h"
#include "runtime/exchange/device_tensors.h"
#include "runtime/memory/pool_memory.h"

namespace slipway::runtime {

/// The device of a list of tensors; nothing when they lie in CPU memory. Empty tensors lie nowhere.
/// Errors: RuntimeError(DEVICE_MEMORY) naming two tensors that lie in different places.
std::optional<DevicePlace> PlaceOf(std::span<const TensorInfo> tensors);

/// Where an image may begin: the first multiple of 64 bytes from here on.
constexpr std::int64_t AlignedImage(std::int64_t bytes) { return (bytes + 63) / 64 * 64; }

/// Bytes of a block for images of the tensors, at most.
std::int64_t BytesOfImages(std::span<const TensorInfo> tensors);
/// Makes the tensors their images in a block: aligned to 64 bytes, but those of one dtype that lie in one allocation
/// without a gap lie without one, too, so that a copy moves several. Returns a number for each tensor, the same for
/// those.
std::vector<int> PlaceImages(const Driver& driver, std::span<TensorInfo> tensors, char* block);

/// Images of the tensors of buckets that go in parts.
struct DealtImages {
  struct Image {
    int tensor = 0;
    Slice elements;
    std::int64_t at = 0;  ///< bytes from the start of all
  };
  std::vector<Image> images;  ///< by tensor, and by element; of other tensors none
  std::int64_t bytes = 0;
};

/// Images in one block of pinned memory, which the node's ranks can reach. Copies to the CPU wait, by an event, for the
/// stream that makes the tensors, and for the last Release(). The program's stream waits, by an event, for the
/// copies back.
class DeviceImages : public DeviceTensors {
 public:
  /// In bytes.
  struct Sizes {
    std::int64_t largest = 0;   ///< what a tensor has beyond it gets an image of its own, so that parts of it travel
                                ///< while others are combined; 0: each tensor has one
    std::int64_t together = 0;  ///< from here on, what was fetched counts as arrived without the rest
  };
  /// Errors: also those of the pool.
  /// Images in `dealt` are fetched in the order in which they lie there.
  DeviceImages(const DevicePlace& place, std::span<const TensorInfo> tensors, const Sizes& sizes, SharedPool& pool,
               const DealtImages& dealt = {});

  const std::vector<TensorInfo>& values() const override { return images_; }
  void Fetch(std::span<const int> tensors, StreamHandle stream) override;
  bool Fetching() const override { return arrivals_.Coming(); }
  std::optional<int> TakeArrived() override { return arrivals_.Take(); }
  void Store(std::span<const int> images) override;
  void Release(StreamHandle stream) override;
  bool IsAtWork() const override;
  void AwaitResult(Waiter& waiter) override;

 private:
  /// An image and where its values lie on the device, or several without a gap.
  struct Range {
    char* image = nullptr;
    char* on_device = nullptr;
    std::size_t bytes = 0;
    int region = 0;  ///< those of one region lie to each other as on the device
  };
  /// `range`: where the tensor's images begin.
  void AddImages(const TensorInfo& tensor, Range range, std::int64_t largest);
  void AddDealt(const TensorInfo& tensor, std::span<const DealtImages::Image> images);
  template <class Copy>
  void ForEachCopy(std::span<const int> images, Copy copy) const;
  void FetchTogether(std::span<const int> images);

  DevicePlace place_;
  std::int64_t together_;
  std::vector<TensorInfo> images_;
  std::vector<Range> ranges_;     ///< by image
  std::vector<int> first_image_;  ///< by tensor, and one behind the last
  std::vector<int> in_order_;     ///< images by tensor, as they are fetched
  PoolMemory memory_;
  PinnedRange pinned_;
  DeviceEvent made_;       ///< the program's stream, at Fetch()
  DeviceEvent stored_;     ///< at Release()
  bool released_ = false;  ///< since the last Fetch()
  Arrivals arrivals_;
  DeviceStream to_cpu_;  // last: their ends wait for the copies
  DeviceStream to_device_;
};

}  // namespace slipway::runtime
