/// The size of an encoded image from its first bytes, without decoding it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace slipway::staging {

struct ImageSize {
  std::uint32_t height = 0;
  std::uint32_t width = 0;
};

/// "jpg", "png", "gif", "bmp" or "webp" when such an image begins with these bytes, else empty. `start` has at least
/// kImageStartBytes, or the whole file.
std::string_view ImageExtensionOf(std::span<const std::byte> start);
inline bool BeginsAsImage(std::span<const std::byte> start) { return !ImageExtensionOf(start).empty(); }
inline constexpr std::size_t kImageStartBytes = 32;
/// Whether names of such images end so, in lower case and without the '.': "jpg", and "jpeg" as well.
bool IsImageExtension(std::string_view extension);

/// `image` is a whole file of these kinds; `name` is for messages. Of an animation the size of its canvas.
/// Errors: Error(kEnvironment): none of them, torn, no size, a side of 0.
ImageSize ReadImageSize(std::span<const std::byte> image, std::string_view name);

}  // namespace slipway::staging
