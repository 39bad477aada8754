#include "staging/formats/image_header.h"

#include <fmt/format.h>

#include "core/error.h"

namespace slipway::staging {
namespace {

constexpr std::string_view kPng = "\x89PNG\r\n\x1a\n";

class ImageBytes {
 public:
  ImageBytes(std::span<const std::byte> bytes, std::string_view name) : bytes_(bytes), name_(name) {}

  bool StartsWith(std::string_view start) const {
    return std::string_view(reinterpret_cast<const char*>(bytes_.data()), bytes_.size()).starts_with(start);
  }
  std::uint32_t BigEndian(std::size_t at, std::size_t size) const {
    if (at > bytes_.size() || size > bytes_.size() - at) Fail("ends inside its header");
    std::uint32_t number = 0;
    for (const auto byte : bytes_.subspan(at, size)) number = number << 8 | std::to_integer<std::uint32_t>(byte);
    return number;
  }
  [[noreturn]] void Fail(std::string_view what) const {
    throw Error(ErrorKind::kEnvironment, fmt::format("the image '{}' {}", name_, what));
  }

 private:
  std::span<const std::byte> bytes_;
  std::string_view name_;
};

ImageSize SizeOfPng(const ImageBytes& image) {
  constexpr std::uint32_t kImageHeader = 0x49484452;  // "IHDR"
  if (image.BigEndian(12, 4) != kImageHeader) image.Fail("does not begin with a PNG image header");
  return {image.BigEndian(20, 4), image.BigEndian(16, 4)};
}

/// The frame headers of all kinds of JPEG; c4, c8 and cc between them are something else.
bool IsFrame(std::uint32_t marker) {
  return marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
}

bool StandsAlone(std::uint32_t marker) { return marker == 0x01 || (marker >= 0xd0 && marker <= 0xd8); }

ImageSize SizeOfJpeg(const ImageBytes& image) {
  for (std::size_t at = 2;;) {
    if (image.BigEndian(at, 1) != 0xff) image.Fail("is damaged: expected a JPEG marker");
    const auto marker = image.BigEndian(at + 1, 1);
    if (marker == 0xff) {  // filler
      ++at;
      continue;
    }
    if (IsFrame(marker)) return {image.BigEndian(at + 5, 2), image.BigEndian(at + 7, 2)};
    constexpr std::uint32_t kScan = 0xda, kEnd = 0xd9;
    if (marker == kScan || marker == kEnd) image.Fail("has no JPEG frame before its data");
    at += 2 + (StandsAlone(marker) ? 0 : image.BigEndian(at + 2, 2));
  }
}

}  // namespace

ImageSize ReadImageSize(std::span<const std::byte> bytes, std::string_view name) {
  const ImageBytes image(bytes, name);
  const bool png = image.StartsWith(kPng);
  if (!png && !image.StartsWith("\xff\xd8")) image.Fail("is neither JPEG nor PNG");
  const auto size = png ? SizeOfPng(image) : SizeOfJpeg(image);
  if (size.height == 0 || size.width == 0) image.Fail(fmt::format("says it is {}x{}", size.height, size.width));
  return size;
}

}  // namespace slipway::staging
