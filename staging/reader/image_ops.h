/// Operations on the pixels of one image. Nothing here allocates results: the caller gives memory of the right size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "staging/reader/elements.h"

namespace slipway::staging {

/// Rows from top to bottom, pixels from left to right, the channels of a pixel side by side; maybe not aligned.
struct ImageView {
  ElementType type = ElementType::kUint8;
  std::uint64_t height = 0;
  std::uint64_t width = 0;
  std::uint64_t channels = 1;
  std::span<const std::byte> pixels;

  std::size_t pixel_bytes() const { return channels * SizeOf(type); }
};

/// `values` has 2 or 3 dimensions.
ImageView AsImage(const Values& values);

struct Region {
  std::int64_t top = 0;
  std::int64_t left = 0;
  std::uint64_t height = 0;
  std::uint64_t width = 0;
};

/// What lies outside of the image is zero.
void CropImage(const ImageView& image, const Region& region, std::span<std::byte> out);
void MirrorColumns(const ImageView& image, std::span<std::byte> out);
void MirrorRows(const ImageView& image, std::span<std::byte> out);
/// `region` lies in the image, whose type is uint8 or float32.
void ResizeImage(const ImageView& image, const Region& region, std::uint64_t height, std::uint64_t width,
                 std::span<std::byte> out);
void PutChannelsFirst(const ImageView& image, std::span<std::byte> out);

/// out[i] = values[i] * factor[c] + offset[c] as float32, c = i % factor.size(). `values` is uint8 or float32.
void ScaleElements(ElementType type, std::span<const std::byte> values, std::span<const float> factor,
                   std::span<const float> offset, std::span<std::byte> out);

}  // namespace slipway::staging
