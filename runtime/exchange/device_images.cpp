#include "runtime/exchange/device_images.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/reduction/reduction.h"

namespace slipway::runtime {
namespace {

constexpr std::int64_t kAlignment = 64;

std::int64_t Aligned(std::int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

std::string TextOf(const std::optional<DevicePlace>& place) {
  return place ? fmt::format("on GPU {}", place->ordinal) : "in CPU memory";
}

/// Elements of one image.
std::int64_t ImageCount(const TensorInfo& tensor, std::int64_t largest) {
  const auto element = static_cast<std::int64_t>(SizeOf(tensor.dtype));
  return largest > 0 ? std::max<std::int64_t>(1, largest / element) : std::max<std::int64_t>(1, tensor.count());
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
  for (const auto& tensor : tensors) bytes += Aligned(static_cast<std::int64_t>(tensor.bytes()));
  return bytes;
}

void PlaceImages(std::span<TensorInfo> tensors, char* block) {
  for (auto& tensor : tensors) {
    tensor.data = block;
    block += Aligned(static_cast<std::int64_t>(tensor.bytes()));
  }
}

DeviceImages::DeviceImages(const DevicePlace& place, std::span<const TensorInfo> tensors, std::int64_t largest,
                           SharedPool& pool)
    : place_(place),
      memory_(pool, BytesOfImages(tensors)),
      pinned_(place, memory_.data(), static_cast<std::size_t>(BytesOfImages(tensors))),
      made_(place),
      stored_(place),
      to_cpu_(place),
      to_device_(place) {
  std::vector<TensorInfo> whole(tensors.begin(), tensors.end());
  PlaceImages(whole, memory_.data());
  for (std::size_t i = 0; i < whole.size(); ++i) AddImages(tensors[i], static_cast<char*>(whole[i].data), largest);
  first_image_.push_back(static_cast<int>(images_.size()));
}

void DeviceImages::AddImages(const TensorInfo& tensor, char* image, std::int64_t largest) {
  first_image_.push_back(static_cast<int>(images_.size()));
  const auto most = ImageCount(tensor, largest);
  if (tensor.count() <= most) {
    images_.push_back({tensor.name, tensor.dtype, tensor.shape, image});
    places_.push_back({static_cast<char*>(tensor.data), tensor.bytes(), DeviceEvent(place_)});
    return;
  }
  auto* on_device = static_cast<char*>(tensor.data);
  for (std::int64_t first = 0; first < tensor.count(); first += most) {
    images_.push_back({tensor.name, tensor.dtype, {std::min(most, tensor.count() - first)}, image});
    const auto bytes = images_.back().bytes();
    places_.push_back({on_device, bytes, DeviceEvent(place_)});
    image += bytes;
    on_device += bytes;
  }
}

void DeviceImages::Fetch(int tensor, StreamHandle stream) {
  const InContext here(place_);
  made_.Record(stream);
  made_.HoldBack(to_cpu_.handle());
  stored_.HoldBack(to_cpu_.handle());
  const auto index = static_cast<std::size_t>(tensor);
  // Backward from the last one, as buckets are filled.
  for (int image = first_image_[index + 1] - 1; image >= first_image_[index]; --image) {
    auto& place = places_[static_cast<std::size_t>(image)];
    if (place.bytes > 0) {
      to_cpu_.CopyToCpu(images_[static_cast<std::size_t>(image)].data, place.on_device, place.bytes);
    }
    place.arrived.Record(to_cpu_.handle());
    coming_.push_back(image);
  }
}

std::optional<int> DeviceImages::TakeArrived() {
  if (coming_.empty()) return std::nullopt;
  const InContext here(place_);
  const int image = coming_.front();
  if (!places_[static_cast<std::size_t>(image)].arrived.Reached()) return std::nullopt;
  coming_.pop_front();
  return image;
}

void DeviceImages::Store(std::span<const int> images) {
  const InContext here(place_);
  for (const int image : images) {
    const auto& place = places_[static_cast<std::size_t>(image)];
    if (place.bytes == 0) continue;
    to_device_.CopyToDevice(place.on_device, images_[static_cast<std::size_t>(image)].data, place.bytes);
  }
}

void DeviceImages::Release(StreamHandle stream) {
  const InContext here(place_);
  stored_.Record(to_device_.handle());
  stored_.HoldBack(stream);
}

}  // namespace slipway::runtime
