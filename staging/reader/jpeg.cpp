#include "staging/reader/jpeg.h"

#include <fmt/format.h>
#include <turbojpeg.h>

#include <limits>
#include <string_view>

#include "core/error.h"
#include "core/unique_handle.h"

namespace slipway::staging {

namespace {

struct DecoderTraits {
  using Handle = tjhandle;
  static tjhandle Null() { return nullptr; }
  static void Release(tjhandle decoder) noexcept { tjDestroy(decoder); }
};
using Decoder = UniqueHandle<DecoderTraits>;

/// One for each thread: a decoder takes 600 KB to make.
thread_local Decoder threads_decoder;

tjhandle ThreadsDecoder() {
  if (!threads_decoder) threads_decoder.Reset(tjInitDecompress());
  if (!threads_decoder) throw Error(ErrorKind::kInternal, "libjpeg-turbo gives no decoder");
  return threads_decoder.get();
}

[[noreturn]] void ThrowDamagedPicture(std::string_view reason) {
  Error error(ErrorKind::kEnvironment, fmt::format("the JPEG picture cannot be decoded: {}", reason),
              "replace the picture, or set on_corrupt: skip");
  // After some damage (a missing SOS marker) version 2.1 takes what it still holds for the next picture's header.
  threads_decoder.Reset();
  throw error;
}

struct Header {
  JpegSize size;
  int colours = 0;
};

Header ReadHeader(tjhandle decoder, std::span<const std::byte> file, std::uint64_t most_pixels) {
  int width = 0;
  int height = 0;
  int sampling = 0;
  int colours = 0;
  const auto* bytes = reinterpret_cast<const unsigned char*>(file.data());
  if (tjDecompressHeader3(decoder, bytes, file.size(), &width, &height, &sampling, &colours) != 0 || width <= 0 ||
      height <= 0) {
    ThrowDamagedPicture(tjGetErrorStr2(decoder));
  }
  const JpegSize size{static_cast<std::uint64_t>(height), static_cast<std::uint64_t>(width)};
  if (size.height * size.width > most_pixels) {
    ThrowDamagedPicture(fmt::format("{} x {} pixels are more than {}", width, height, most_pixels));
  }
  return {size, colours};
}

void Decompress(tjhandle decoder, std::span<const std::byte> file, const JpegSize& size, int format,
                std::span<std::byte> out) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(file.data());
  const auto result = tjDecompress2(decoder, bytes, file.size(), reinterpret_cast<unsigned char*>(out.data()),
                                    static_cast<int>(size.width), 0, static_cast<int>(size.height), format, 0);
  if (result == 0) return;
  const std::string_view reason = tjGetErrorStr2(decoder);
  const bool torn = reason.find("Premature end") != std::string_view::npos;
  if (tjGetErrorCode(decoder) != TJERR_WARNING || torn) ThrowDamagedPicture(reason);
}

unsigned Scaled(std::byte colour, std::byte black) {
  return (std::to_integer<unsigned>(colour) * std::to_integer<unsigned>(black) + 127) / 255;
}

/// Printers' colours as Adobe stores them, inverted: 255 is no ink.
void ConvertInks(std::span<const std::byte> inks, int channels, std::span<std::byte> out) {
  for (std::size_t from = 0, to = 0; from < inks.size(); from += 4) {
    const auto black = inks[from + 3];
    const unsigned red = Scaled(inks[from], black), green = Scaled(inks[from + 1], black);
    const unsigned blue = Scaled(inks[from + 2], black);
    if (channels == 1) {
      out[to++] = static_cast<std::byte>((299 * red + 587 * green + 114 * blue + 500) / 1000);
      continue;
    }
    for (const auto colour : {red, green, blue}) out[to++] = static_cast<std::byte>(colour);
  }
}

}  // namespace

void DecodeJpegFile(std::span<const std::byte> file, int channels, std::uint64_t most_pixels,
                    std::vector<std::byte>& spare,
                    const std::function<std::span<std::byte>(const JpegSize& size)>& place) {
  if (file.empty()) ThrowDamagedPicture("it has no bytes");
  if (file.size() > std::numeric_limits<std::uint32_t>::max()) ThrowDamagedPicture("it has more than 4 GiB");
  const auto decoder = ThreadsDecoder();
  const auto header = ReadHeader(decoder, file, most_pixels);
  const auto out = place(header.size);
  if (header.colours != TJCS_CMYK && header.colours != TJCS_YCCK) {
    return Decompress(decoder, file, header.size, channels == 1 ? TJPF_GRAY : TJPF_RGB, out);
  }
  spare.resize(header.size.height * header.size.width * 4);
  Decompress(decoder, file, header.size, TJPF_CMYK, spare);
  ConvertInks(spare, channels, out);
}

}  // namespace slipway::staging
