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

/// `image` is a whole JPEG or PNG file; `name` is for messages.
/// Errors: Error(kEnvironment): neither, torn, no size, a side of 0.
ImageSize ReadImageSize(std::span<const std::byte> image, std::string_view name);

}  // namespace slipway::staging
