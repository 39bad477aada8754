#include "staging/formats/idx.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <string_view>

#include "core/error.h"
#include "core/unique_handle.h"

namespace slipway::staging {

namespace {

constexpr std::size_t kIdxReadBlock = 1 << 20;
constexpr unsigned kUnsignedByte = 0x08;
constexpr unsigned kMostDimensions = 4;

struct GzTraits {
  using Handle = gzFile;
  static gzFile Null() { return nullptr; }
  static void Release(gzFile file) noexcept { gzclose(file); }
};

class IdxStream {
 public:
  explicit IdxStream(const std::filesystem::path& path) : path_(path), file_(gzopen(path.c_str(), "rb")) {
    if (!file_) ThrowErrno(fmt::format("cannot open '{}' for reading", path.string()));
  }

  /// Up to `out.size()` bytes; fewer only at the end.
  std::size_t Read(std::span<std::byte> out) {
    const int count = gzread(file_.get(), out.data(), static_cast<unsigned>(out.size()));
    int code = Z_OK;
    const char* reason = gzerror(file_.get(), &code);
    if (code == Z_ERRNO) ThrowErrno(fmt::format("cannot read '{}'", path_.string()));
    if (count < 0 || code != Z_OK) Fail(fmt::format("its gzip stream is damaged ({})", reason));
    return static_cast<std::size_t>(count);
  }

  void ReadExactly(std::span<std::byte> out, std::string_view what) {
    const auto count = Read(out);
    if (count < out.size()) Fail(fmt::format("expected {} bytes of {}, found {}", out.size(), what, count));
  }

  [[noreturn]] void Fail(std::string_view what) const {
    throw Error(ErrorKind::kEnvironment, fmt::format("'{}': {}", path_.string(), what),
                "copy or download the file again");
  }

 private:
  const std::filesystem::path& path_;
  UniqueHandle<GzTraits> file_;
};

std::uint64_t LoadBigEndian32(std::span<const std::byte, 4> bytes) {
  std::uint64_t value = 0;
  for (const auto byte : bytes) value = value << 8 | std::to_integer<std::uint64_t>(byte);
  return value;
}

std::vector<std::uint64_t> ReadShape(IdxStream& stream) {
  std::byte magic[4] = {};
  stream.ReadExactly(magic, "idx header");
  if (magic[0] != std::byte{0} || magic[1] != std::byte{0}) stream.Fail("is not an idx file: it must start with 0 0");
  const auto type = std::to_integer<unsigned>(magic[2]);
  if (type != kUnsignedByte)
    stream.Fail(fmt::format("has idx type 0x{:02x}; only 0x08, unsigned bytes, is read", type));
  std::vector<std::uint64_t> shape(std::to_integer<std::size_t>(magic[3]));
  if (shape.empty() || shape.size() > kMostDimensions) {
    stream.Fail(fmt::format("has {} dimensions; 1 to {} are read", shape.size(), kMostDimensions));
  }
  for (auto& extent : shape) {
    std::byte bytes[4] = {};
    stream.ReadExactly(bytes, "idx dimension");
    extent = LoadBigEndian32(bytes);
  }
  return shape;
}

std::uint64_t Product(const std::vector<std::uint64_t>& shape, const IdxStream& stream) {
  std::uint64_t product = 1;
  for (const auto extent : shape) {
    if (__builtin_mul_overflow(product, extent, &product)) stream.Fail("its dimensions are too large to count");
  }
  return product;
}

/// Grows with what arrives: the announced size may be a lie.
std::vector<std::byte> ReadValues(IdxStream& stream, std::uint64_t expected) {
  std::vector<std::byte> values;
  while (values.size() < expected) {
    const auto before = values.size();
    values.resize(before + static_cast<std::size_t>(std::min<std::uint64_t>(kIdxReadBlock, expected - before)));
    const auto count = stream.Read(std::span(values).subspan(before));
    if (before + count < values.size()) {
      stream.Fail(fmt::format("expected {} bytes of values, found {}", expected, before + count));
    }
  }
  return values;
}

}  // namespace

std::span<const std::byte> IdxArray::Record(std::uint64_t record) const {
  const auto size = values.size() / shape[0];
  return std::span(values).subspan(record * size, size);
}

IdxArray ReadIdx(const std::filesystem::path& path) {
  IdxStream stream(path);
  IdxArray array;
  array.shape = ReadShape(stream);
  array.values = ReadValues(stream, Product(array.shape, stream));
  std::byte more{};
  // Reading past the last value also makes zlib check the stream's own CRC.
  if (stream.Read({&more, 1}) != 0) stream.Fail("has more bytes than its header announces");
  return array;
}

}  // namespace slipway::staging
