#include "runtime/exchange/device_images.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/exchange/shares.h"
#include "runtime/reduction/reduction.h"

namespace slipway::runtime {
namespace {

std::string TextOf(const std::optional<DevicePlace>& place) {
  return place ? fmt::format("on GPU {}", place->ordinal) : "in CPU memory";
}

/// Elements of one image.
std::int64_t ImageCount(const TensorInfo& tensor, std::int64_t largest) {
  const auto element = static_cast<std::int64_t>(SizeOf(tensor.dtype));
  return largest > 0 ? std::max<std::int64_t>(1, largest / element) : std::max<std::int64_t>(1, tensor.count());
}

std::span<const DealtImages::Image> ImagesOf(int tensor, const DealtImages& dealt) {
  const auto found = std::ranges::equal_range(dealt.images, tensor, {}, &DealtImages::Image::tensor);
  return {found.begin(), found.end()};
}

/// The tensors, those that are dealt as empty ones.
std::vector<TensorInfo> WithoutDealt(std::span<const TensorInfo> tensors, const DealtImages& dealt) {
  std::vector<TensorInfo> others(tensors.begin(), tensors.end());
  for (const auto& image : dealt.images) others[static_cast<std::size_t>(image.tensor)].shape = {0};
  return others;
}

std::int64_t BytesOfBlock(std::span<const TensorInfo> tensors, const DealtImages& dealt) {
  return AlignedImage(dealt.bytes) + BytesOfImages(WithoutDealt(tensors, dealt));
}

}  // namespace

std::optional<DevicePlace> PlaceOf(std::span<const TensorInfo> tensors) {
  const TensorInfo* first = nullptr;
  std::optional<DevicePlace> place;
  for (const auto& tensor : tensors) {
    if (tensor.count() == 0) continue;
    const auto own = PlaceOf(tensor.data);
    if (first == nullptr) {
      first = &tensor;
      place = own;
    } else if (own != place) {
      throw RuntimeError(
          SLIPWAY_ERROR_DEVICE_MEMORY,
          fmt::format("tensor '{}' lies {}, and tensor '{}' {}: hand over tensors of one device together", first->name,
                      TextOf(place), tensor.name, TextOf(own)));
    }
  }
  return place;
}

std::int64_t BytesOfImages(std::span<const TensorInfo> tensors) {
  std::int64_t bytes = 0;
  for (const auto& tensor : tensors) bytes += AlignedImage(static_cast<std::int64_t>(tensor.bytes()));
  return bytes;
}

std::vector<int> PlaceImages(const Driver& driver, std::span<TensorInfo> tensors, char* block) {
  std::vector<int> regions;
  const char* start = block;
  TensorInfo before;
  int region = 0;
  for (auto& tensor : tensors) {
    const auto on_device = tensor;
    const bool joined = before.data != nullptr && before.dtype == tensor.dtype &&
                        static_cast<const char*>(before.data) + before.bytes() == tensor.data &&
                        AreOfOneAllocation(driver, before.data, tensor.data);
    if (!joined) block += AlignedImage(block - start) - (block - start);
    regions.push_back(joined ? region : ++region);
    tensor.data = block;
    block += tensor.bytes();
    before = on_device;
  }
  return regions;
}

DeviceImages::DeviceImages(const DevicePlace& place, std::span<const TensorInfo> tensors, const Sizes& sizes,
                           SharedPool& pool, const DealtImages& dealt)
    : place_(place),
      together_(sizes.together),
      memory_(pool, BytesOfBlock(tensors, dealt)),
      pinned_(place, memory_.data(), static_cast<std::size_t>(BytesOfBlock(tensors, dealt))),
      made_(place),
      stored_(place),
      arrivals_(place),
      to_cpu_(place),
      to_device_(place) {
  auto whole = WithoutDealt(tensors, dealt);
  const auto regions = PlaceImages(*place.driver, whole, memory_.data() + AlignedImage(dealt.bytes));
  for (std::size_t i = 0; i < whole.size(); ++i) {
    const auto own = ImagesOf(static_cast<int>(i), dealt);
    if (own.empty()) {
      AddImages(tensors[i], {static_cast<char*>(whole[i].data), nullptr, 0, regions[i]}, sizes.largest);
    } else {
      AddDealt(tensors[i], own);
    }
  }
  first_image_.push_back(static_cast<int>(images_.size()));
}

void DeviceImages::AddImages(const TensorInfo& tensor, Range range, std::int64_t largest) {
  first_image_.push_back(static_cast<int>(images_.size()));
  const auto most = ImageCount(tensor, largest);
  const bool whole = tensor.count() <= most;
  range.on_device = static_cast<char*>(tensor.data);
  std::int64_t first = 0;
  do {
    const auto count = std::min(most, tensor.count() - first);
    images_.push_back({tensor.name, tensor.dtype, whole ? tensor.shape : std::vector{count}, range.image});
    range.bytes = images_.back().bytes();
    ranges_.push_back(range);
    range.image += range.bytes;
    range.on_device += range.bytes;
    first += most;
  } while (first < tensor.count());
  // Backward from the last one, as buckets are filled.
  for (int image = static_cast<int>(images_.size()) - 1; image >= first_image_.back(); --image) {
    in_order_.push_back(image);
  }
}

/// Neighbours in the block are none on the device: each has a region of its own.
void DeviceImages::AddDealt(const TensorInfo& tensor, std::span<const DealtImages::Image> images) {
  first_image_.push_back(static_cast<int>(images_.size()));
  for (const auto& image : images) {
    const int index = static_cast<int>(images_.size());
    char* data = memory_.data() + image.at;
    images_.push_back({tensor.name, tensor.dtype, {image.elements.count}, data});
    ranges_.push_back({data, static_cast<char*>(tensor.data) + BytesOf(image.elements.first, SizeOf(tensor.dtype)),
                       images_.back().bytes(), -index});
    in_order_.push_back(index);
  }
  std::ranges::sort(in_order_.begin() + first_image_.back(), in_order_.end(), {},
                    [this](int image) { return ranges_[static_cast<std::size_t>(image)].image; });
}

void DeviceImages::Fetch(std::span<const int> tensors, StreamHandle stream) {
  const InContext here(place_);
  made_.Record(stream);
  made_.HoldBack(to_cpu_.handle());
  if (std::exchange(released_, false)) stored_.HoldBack(to_cpu_.handle());
  std::vector<int> together;
  std::size_t bytes = 0;
  for (const int tensor : tensors) {
    const auto index = static_cast<std::size_t>(tensor);
    for (int next = first_image_[index]; next < first_image_[index + 1]; ++next) {
      const int image = in_order_[static_cast<std::size_t>(next)];
      together.push_back(image);
      bytes += ranges_[static_cast<std::size_t>(image)].bytes;
      if (static_cast<std::int64_t>(bytes) < together_) continue;
      FetchTogether(together);
      together.clear();
      bytes = 0;
    }
  }
  if (!together.empty()) FetchTogether(together);
}

void DeviceImages::FetchTogether(std::span<const int> images) {
  ForEachCopy(images, [this](const Range& range) { to_cpu_.CopyToCpu(range.image, range.on_device, range.bytes); });
  arrivals_.Add(images, to_cpu_.handle());
}

/// Neighbours go together: buckets have their tensors from the last to the first.
template <class Copy>
void DeviceImages::ForEachCopy(std::span<const int> images, Copy copy) const {
  Range together;
  for (const int index : images) {
    const auto& range = ranges_[static_cast<std::size_t>(index)];
    const bool joined = together.bytes > 0 && range.region == together.region;
    if (joined && together.image + together.bytes == range.image) {
      together.bytes += range.bytes;
    } else if (joined && range.image + range.bytes == together.image) {
      together = {range.image, range.on_device, range.bytes + together.bytes, range.region};
    } else {
      if (together.bytes > 0) copy(together);
      together = range;
    }
  }
  if (together.bytes > 0) copy(together);
}

void DeviceImages::Store(std::span<const int> images) {
  const InContext here(place_);
  ForEachCopy(images,
              [this](const Range& range) { to_device_.CopyToDevice(range.on_device, range.image, range.bytes); });
}

void DeviceImages::Release(StreamHandle stream) {
  const InContext here(place_);
  stored_.Record(to_device_.handle());
  stored_.HoldBack(stream);
  released_ = true;
}

bool DeviceImages::IsAtWork() const {
  const InContext here(place_);
  return !stored_.Reached();
}

void DeviceImages::AwaitResult(Waiter& waiter) {
  const InContext here(place_);
  AwaitPoint(stored_, waiter);
}

}  // namespace slipway::runtime
