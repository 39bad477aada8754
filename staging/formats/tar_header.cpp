#include "staging/formats/tar_header.h"

#include <fmt/format.h>

#include <numeric>

#include "core/error.h"

namespace slipway::staging {
namespace {

constexpr std::size_t kUstarBlock = 512;
constexpr std::size_t kUstarPathBytes = 100;
constexpr std::uint64_t kMostUstarBytes = (1ULL << 33) - 1;  // eleven octal digits
constexpr char kUstarZeros[2 * kUstarBlock] = {};

/// Source: POSIX.1-2017, pax, "ustar Interchange Format".
std::string UstarBlock(std::string_view path, std::uint64_t size, char type) {
  std::string block(kUstarBlock, '\0');
  const auto put = [&block](std::size_t at, std::string_view text) { block.replace(at, text.size(), text); };
  put(0, path.substr(0, kUstarPathBytes));
  put(100, "0000644");
  put(108, "0000000");
  put(116, "0000000");
  put(124, fmt::format("{:011o}", size));
  put(136, "00000000000");
  put(148, "        ");  // stands for the checksum while it is computed
  block[156] = type;
  put(257, "ustar");
  put(263, "00");
  const auto sum = std::accumulate(block.begin(), block.end(), 0U, [](unsigned so_far, char byte) {
    return so_far + static_cast<unsigned char>(byte);
  });
  put(148, fmt::format("{:06o}", sum));
  block[154] = '\0';
  return block;
}

/// "LENGTH path=PATH\n", where LENGTH counts itself.
std::string PaxRecord(std::string_view path) {
  const auto rest = fmt::format(" path={}\n", path);
  auto length = rest.size();
  while (std::to_string(length).size() + rest.size() > length) ++length;
  return std::to_string(length) + rest;
}

}  // namespace

std::string TarHeader(std::string_view path, std::uint64_t size) {
  if (size > kMostUstarBytes) {
    throw Error(ErrorKind::kEnvironment,
                fmt::format("'{}' has {} bytes, a member of a tar shard at most 8 GiB", path, size),
                "make its values smaller, or convert to hdf5");
  }
  if (path.size() <= kUstarPathBytes) return UstarBlock(path, size, '0');
  const auto record = PaxRecord(path);
  return UstarBlock("PaxHeaders", record.size(), 'x') + record + std::string(TarPadding(record.size())) +
         UstarBlock(path, size, '0');
}

std::string_view TarPadding(std::uint64_t size) {
  return {kUstarZeros, (kUstarBlock - size % kUstarBlock) % kUstarBlock};
}

std::string_view EndOfTar() { return {kUstarZeros, sizeof kUstarZeros}; }

}  // namespace slipway::staging
