#include "staging/formats/zip.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <limits>
#include <new>
#include <optional>

#include "core/error.h"
#include "staging/formats/little_endian.h"

namespace slipway::staging {
namespace {

constexpr std::uint32_t kLocalHeader = 0x04034b50;
constexpr std::uint32_t kDirectoryEntry = 0x02014b50;
constexpr std::uint32_t kDirectoryEnd = 0x06054b50;
constexpr std::uint32_t kDirectoryEnd64 = 0x06064b50;
constexpr std::uint32_t kLocator64 = 0x07064b50;
constexpr std::size_t kDirectoryEndBytes = 22;
constexpr std::size_t kLocator64Bytes = 20;
constexpr std::size_t kLongestComment = 0xffff;
constexpr unsigned kStored = 0;
constexpr unsigned kDeflated = 8;
constexpr unsigned kEncrypted = 1;
constexpr std::uint32_t kSee64 = 0xffffffff;  // the number stands in the entry's 64-bit part
constexpr std::uint16_t kExtra64 = 1;
constexpr int kRawWindow = -15;  // zlib's way to say: without a header

/// Numbers at places in the file; a place outside it is the error of a torn file.
class ZipBytes {
 public:
  ZipBytes(std::span<const std::byte> bytes, const std::filesystem::path& path) : bytes_(bytes), path_(path) {}

  std::size_t size() const { return bytes_.size(); }
  std::span<const std::byte> Part(std::uint64_t at, std::uint64_t size) const {
    if (at > bytes_.size() || size > bytes_.size() - at) Fail(fmt::format("points to byte {} behind its end", at));
    return bytes_.subspan(at, size);
  }
  std::uint16_t U16(std::uint64_t at) const { return LoadLittleEndian<std::uint16_t>(Part(at, 2).first<2>()); }
  std::uint32_t U32(std::uint64_t at) const { return LoadLittleEndian<std::uint32_t>(Part(at, 4).first<4>()); }
  std::uint64_t U64(std::uint64_t at) const { return LoadLittleEndian<std::uint64_t>(Part(at, 8).first<8>()); }
  [[noreturn]] void Fail(std::string_view what) const {
    throw Error(ErrorKind::kEnvironment, fmt::format("'{}': the zip file {}", path_.string(), what),
                "the file is damaged: copy it again from its source");
  }

 private:
  std::span<const std::byte> bytes_;
  const std::filesystem::path& path_;
};

struct Directory {
  std::uint64_t at;
  std::uint64_t entries;
};

std::uint64_t FindEnd(const ZipBytes& zip) {
  if (zip.size() >= kDirectoryEndBytes) {
    const auto last = zip.size() - kDirectoryEndBytes;
    const auto first = last > kLongestComment ? last - kLongestComment : 0;
    for (auto at = last + 1; at-- > first;) {
      if (zip.U32(at) == kDirectoryEnd) return at;
    }
  }
  zip.Fail("is torn: it has no directory at its end");
}

Directory FindDirectory(const ZipBytes& zip) {
  const auto end = FindEnd(zip);
  if (end < kLocator64Bytes || zip.U32(end - kLocator64Bytes) != kLocator64) {
    return {zip.U32(end + 16), zip.U16(end + 10)};
  }
  const auto end64 = zip.U64(end - kLocator64Bytes + 8);
  if (zip.U32(end64) != kDirectoryEnd64) zip.Fail("has no 64-bit directory where it says");
  return {zip.U64(end64 + 48), zip.U64(end64 + 32)};
}

struct Entry {
  ZipMember member;
  std::uint64_t packed = 0;
  std::uint64_t header_at = 0;
  std::uint64_t next = 0;
};

/// Numbers that do not fit 32 bits stand in this order in the entry's extra part.
void Read64(const ZipBytes& zip, Entry& entry, std::uint64_t at, std::uint64_t end) {
  while (at + 4 <= end) {
    const auto id = zip.U16(at);
    const auto next = at + 4 + zip.U16(at + 2);
    if (id == kExtra64) {
      auto place = at + 4;
      for (auto* number : {&entry.member.size, &entry.packed, &entry.header_at}) {
        if (*number != kSee64) continue;
        if (place + 8 > next) zip.Fail("has an entry without its 64-bit sizes");
        *number = zip.U64(place);
        place += 8;
      }
      return;
    }
    at = next;
  }
}

Entry ReadEntry(const ZipBytes& zip, std::uint64_t at) {
  if (zip.U32(at) != kDirectoryEntry) zip.Fail("has a damaged directory");
  const auto flags = zip.U16(at + 8);
  const auto method = zip.U16(at + 10);
  const auto name_bytes = zip.U16(at + 28);
  const auto extra_bytes = zip.U16(at + 30);
  const auto name = zip.Part(at + 46, name_bytes);
  Entry entry;
  entry.member = {std::string(reinterpret_cast<const char*>(name.data()), name.size()),
                  method == kStored,
                  zip.U32(at + 16),
                  zip.U32(at + 24),
                  {}};
  if ((flags & kEncrypted) != 0) zip.Fail(fmt::format("is encrypted ('{}')", entry.member.name));
  if (method != kStored && method != kDeflated) {
    zip.Fail(fmt::format("has '{}' compressed by method {}; stored and deflated members are read", entry.member.name,
                         method));
  }
  entry.packed = zip.U32(at + 20);
  entry.header_at = zip.U32(at + 42);
  const auto extra_at = at + 46 + name_bytes;
  Read64(zip, entry, extra_at, extra_at + extra_bytes);
  entry.next = extra_at + extra_bytes + zip.U16(at + 32);
  return entry;
}

std::uint32_t Crc32Of(std::span<const std::byte> bytes, std::uint32_t before = 0) {
  return static_cast<std::uint32_t>(
      crc32_z(before, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<z_size_t>(bytes.size())));
}

ZipMember Locate(const ZipBytes& zip, Entry entry) {
  if (zip.U32(entry.header_at) != kLocalHeader)
    zip.Fail(fmt::format("has no member '{}' where it says", entry.member.name));
  const auto content_at = entry.header_at + 30 + zip.U16(entry.header_at + 26) + zip.U16(entry.header_at + 28);
  entry.member.bytes = zip.Part(content_at, entry.packed);
  if (!entry.member.stored) return std::move(entry.member);
  if (entry.packed != entry.member.size) zip.Fail(fmt::format("has two sizes of '{}'", entry.member.name));
  if (Crc32Of(entry.member.bytes) != entry.member.crc32) {
    zip.Fail(fmt::format("is damaged: the CRC32 of '{}' is wrong", entry.member.name));
  }
  return std::move(entry.member);
}

struct RawInflate {
  z_stream stream{};
  RawInflate() {
    if (inflateInit2(&stream, kRawWindow) != Z_OK) throw std::bad_alloc();
  }
  RawInflate(const RawInflate&) = delete;
  RawInflate& operator=(const RawInflate&) = delete;
  ~RawInflate() { inflateEnd(&stream); }
};

uInt ZipPieceOf(std::size_t size) {
  return static_cast<uInt>(std::min<std::size_t>(size, std::numeric_limits<uInt>::max()));
}

}  // namespace

bool IsZip(std::span<const std::byte> file) {
  return file.size() >= 4 && LoadLittleEndian<std::uint32_t>(file.first<4>()) == kLocalHeader;
}

std::vector<ZipMember> ListZip(std::span<const std::byte> file, const std::filesystem::path& path) {
  const ZipBytes zip(file, path);
  const auto directory = FindDirectory(zip);
  std::vector<ZipMember> members;
  auto at = directory.at;
  std::uint64_t left_bytes = file.size();
  for (auto left = directory.entries; left > 0; --left) {
    auto entry = ReadEntry(zip, at);
    at = entry.next;
    if (entry.packed > left_bytes) zip.Fail("has members that overlap");
    left_bytes -= entry.packed;
    members.push_back(Locate(zip, std::move(entry)));
  }
  return members;
}

GrowingMemory InflateMember(const ZipMember& member, const std::string& name) {
  const auto fail = [&name](std::string_view what) {
    throw Error(ErrorKind::kEnvironment, fmt::format("'{}' {}", name, what),
                "the file is damaged: copy it again from its source");
  };
  GrowingMemory content;
  std::array<std::byte, 64 << 10> block;
  RawInflate inflater;
  auto& stream = inflater.stream;
  auto left = member.bytes;
  std::uint32_t crc = 0;
  for (int code = Z_OK; code != Z_STREAM_END;) {
    const auto piece = left.first(ZipPieceOf(left.size()));
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(piece.data()));
    stream.avail_in = static_cast<uInt>(piece.size());
    stream.next_out = reinterpret_cast<Bytef*>(block.data());
    stream.avail_out = static_cast<uInt>(block.size());
    code = inflate(&stream, Z_NO_FLUSH);
    if (code != Z_OK && code != Z_STREAM_END) fail("is damaged or torn: it cannot be inflated");
    left = left.subspan(piece.size() - stream.avail_in);
    const auto inflated = std::span(block).first(block.size() - stream.avail_out);
    if (inflated.size() > member.size - content.bytes().size()) fail("inflates to more than its zip file announces");
    crc = Crc32Of(inflated, crc);
    content.Append(inflated);
  }
  if (content.bytes().size() != member.size || crc != member.crc32) {
    fail(fmt::format("is damaged: expected {} bytes with CRC32 {:08x}, found {} with {:08x}", member.size, member.crc32,
                     content.bytes().size(), crc));
  }
  return content;
}

}  // namespace slipway::staging
