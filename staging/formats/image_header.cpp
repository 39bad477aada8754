#include "staging/formats/image_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/error.h"

namespace slipway::staging {
namespace {

class ImageBytes {
 public:
  ImageBytes(std::span<const std::byte> bytes, std::string_view name) : bytes_(bytes), name_(name) {}

  bool Has(std::string_view text, std::size_t at = 0) const {
    const std::string_view all(reinterpret_cast<const char*>(bytes_.data()), bytes_.size());
    return at < all.size() && all.substr(at).starts_with(text);
  }
  std::uint32_t LittleEndian(std::size_t at, std::size_t size) const {
    const auto number = BigEndian(at, size);
    return __builtin_bswap32(number) >> (32 - 8 * size);
  }
  std::uint32_t BigEndian(std::size_t at, std::size_t size) const {
    if (at > bytes_.size() || size > bytes_.size() - at) Fail("ends inside its header");
    std::uint32_t number = 0;
    for (const auto byte : bytes_.subspan(at, size)) number = number << 8 | std::to_integer<std::uint32_t>(byte);
    return number;
  }
  [[noreturn]] void Fail(std::string_view what) const {
    throw Error(ErrorKind::kEnvironment, fmt::format("the image '{}' {}", name_, what),
                "write the image again, or leave it out");
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

ImageSize SizeOfGif(const ImageBytes& image) { return {image.LittleEndian(8, 2), image.LittleEndian(6, 2)}; }

/// A height below 0 means that the rows stand from the top down. The oldest header has 16 bits for each.
ImageSize SizeOfBmp(const ImageBytes& image) {
  constexpr std::uint32_t kOldestHeader = 12;
  if (image.LittleEndian(14, 4) == kOldestHeader) return {image.LittleEndian(20, 2), image.LittleEndian(18, 2)};
  const auto height = image.LittleEndian(22, 4);
  const bool from_the_top = (height >> 31) != 0;
  return {from_the_top ? ~height + 1 : height, image.LittleEndian(18, 4)};
}

/// Source: RFC 9649, "Simple File Format (Lossy)", "(Lossless)" and "Extended File Format"; RFC 6386, section 9.1.
ImageSize SizeOfWebp(const ImageBytes& image) {
  if (image.Has("VP8X", 12)) return {image.LittleEndian(27, 3) + 1, image.LittleEndian(24, 3) + 1};
  if (image.Has("VP8L", 12)) {
    const auto bits = image.LittleEndian(21, 4);
    return {(bits >> 14 & 0x3fff) + 1, (bits & 0x3fff) + 1};
  }
  if (!image.Has("VP8 ", 12) || !image.Has("\x9d\x01\x2a", 23)) image.Fail("has no WebP frame at its beginning");
  return {image.LittleEndian(28, 2) & 0x3fff, image.LittleEndian(26, 2) & 0x3fff};
}

struct ImageKind {
  std::string_view extension;
  bool (*begins)(const ImageBytes& image);
  ImageSize (*size)(const ImageBytes& image);
};

/// "BM" alone begins many a text: the size of the header that follows is one of a few.
bool BeginsAsBmp(const ImageBytes& image) { return image.Has("BM") && image.Has(std::string_view("\0\0\0", 3), 15); }

constexpr std::array kImageKinds = {
    ImageKind{"jpg", [](const ImageBytes& image) { return image.Has("\xff\xd8\xff"); }, SizeOfJpeg},
    ImageKind{"png", [](const ImageBytes& image) { return image.Has("\x89PNG\r\n\x1a\n"); }, SizeOfPng},
    ImageKind{"gif", [](const ImageBytes& image) { return image.Has("GIF87a") || image.Has("GIF89a"); }, SizeOfGif},
    ImageKind{"bmp", BeginsAsBmp, SizeOfBmp},
    ImageKind{"webp", [](const ImageBytes& image) { return image.Has("RIFF") && image.Has("WEBP", 8); }, SizeOfWebp}};

const ImageKind* KindOf(const ImageBytes& image) {
  const auto* kind = std::ranges::find_if(kImageKinds, [&](const ImageKind& each) { return each.begins(image); });
  return kind == kImageKinds.end() ? nullptr : kind;
}

}  // namespace

std::string_view ImageExtensionOf(std::span<const std::byte> start) {
  const auto* kind = KindOf(ImageBytes(start, {}));
  return kind == nullptr ? std::string_view() : kind->extension;
}

bool IsImageExtension(std::string_view extension) {
  static constexpr std::array<std::string_view, 6> kKnown = {"jpg", "jpeg", "png", "gif", "bmp", "webp"};
  return std::ranges::find(kKnown, extension) != kKnown.end();
}

ImageSize ReadImageSize(std::span<const std::byte> bytes, std::string_view name) {
  const ImageBytes image(bytes, name);
  const auto* kind = KindOf(image);
  if (kind == nullptr) image.Fail("is neither JPEG, PNG, GIF, BMP nor WebP");
  const auto size = kind->size(image);
  if (size.height == 0 || size.width == 0) image.Fail(fmt::format("says it is {}x{}", size.height, size.width));
  return size;
}

}  // namespace slipway::staging
