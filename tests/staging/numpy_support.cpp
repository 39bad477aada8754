#include "tests/staging/numpy_support.h"

#include <fmt/format.h>
#include <zlib.h>

#include "staging/formats/compression.h"
#include "tests/staging/formats_support.h"

namespace slipway::staging {
namespace {

std::string Little(std::uint64_t number, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text.push_back(i < 8 ? static_cast<char>(number >> (8 * i)) : 0);
  return text;
}

std::string Big(std::uint64_t number, int bytes) {
  auto text = Little(number, bytes);
  return {text.rbegin(), text.rend()};
}

/// Deflated bytes without header and checksum.
std::string RawDeflate(std::string_view content) {
  const auto stream = Deflate(Compression::kZlib, content);
  return stream.substr(2, stream.size() - 6);
}

}  // namespace

std::string ZipText(const std::vector<std::pair<std::string, std::string>>& members, bool deflated) {
  std::string file;
  std::string directory;
  for (const auto& [name, content] : members) {
    const auto packed = deflated ? RawDeflate(content) : content;
    const auto crc = crc32_z(0, reinterpret_cast<const Bytef*>(content.data()), content.size());
    const auto common = Little(20, 2) + Little(0, 2) + Little(deflated ? 8 : 0, 2) + Little(0, 4) + Little(crc, 4) +
                        Little(packed.size(), 4) + Little(content.size(), 4) + Little(name.size(), 2) + Little(0, 2);
    directory += "PK\x01\x02" + Little(20, 2) + common + Little(0, 10) + Little(file.size(), 4) + name;
    file += "PK\x03\x04" + common + name + packed;
  }
  const auto start = file.size();
  const auto count = Little(members.size(), 2);
  return file + directory + "PK\x05\x06" + Little(0, 4) + count + count + Little(directory.size(), 4) +
         Little(start, 4) + Little(0, 2);
}

std::string PngText(unsigned height, unsigned width) {
  return "\x89PNG\r\n\x1a\n" + Big(13, 4) + "IHDR" + Big(width, 4) + Big(height, 4) + std::string("\x08\x02\0\0\0", 5);
}

std::string JpegText(unsigned height, unsigned width) {
  const auto start = "\xff\xd8\xff\xe0" + Big(16, 2) + "JFIF" + std::string(10, '\0');
  return start + "\xff\xc2" + Big(17, 2) + "\x08" + Big(height, 2) + Big(width, 2) + std::string(10, 'x') + "\xff\xd9";
}

}  // namespace slipway::staging
