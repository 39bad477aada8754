/// JPEG pictures from untrusted bytes, by libjpeg-turbo.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace slipway::staging {

struct JpegSize {
  std::uint64_t height = 0;
  std::uint64_t width = 0;
};

/// Decodes `file` into what `place(size)` gives: height * width * channels bytes, row by row. `channels` is 3 or 1;
/// `spare` is memory that may be kept for the next call (pictures in CMYK need it).
/// Errors: Error(kEnvironment): no JPEG, cut off, more than `most_pixels`. Slight damage that the decoder only warns of
///         is accepted: large sets of photographs are full of it.
void DecodeJpegFile(std::span<const std::byte> file, int channels, std::uint64_t most_pixels,
                    std::vector<std::byte>& spare,
                    const std::function<std::span<std::byte>(const JpegSize& size)>& place);

}  // namespace slipway::staging
