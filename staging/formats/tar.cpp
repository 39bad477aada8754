#include "staging/formats/tar.h"

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "core/error.h"

namespace slipway::staging {
namespace {

constexpr std::size_t kBlock = 512;
constexpr std::int64_t kMostContentBytes = std::numeric_limits<std::int64_t>::max() / 2;
constexpr const char* kDamaged = "the archive is damaged: copy it again from its source, or write it again";

struct FreeArchive {
  void operator()(archive* reader) const { ::archive_read_free(reader); }
};
using Reader = std::unique_ptr<archive, FreeArchive>;

/// The entry, which belongs to `reader`. Null for what is no header, or not all of it.
archive_entry* ReadEntry(archive* reader, std::span<const std::byte> header) {
  archive_entry* entry = nullptr;
  if (::archive_read_open_memory(reader, header.data(), header.size()) != ARCHIVE_OK) return nullptr;
  const int code = ::archive_read_next_header(reader, &entry);
  return code == ARCHIVE_OK || code == ARCHIVE_WARN ? entry : nullptr;
}

Reader MakeReader() {
  Reader reader(::archive_read_new());
  if (!reader || ::archive_read_support_format_tar(reader.get()) != ARCHIVE_OK) throw std::bad_alloc();
  return reader;
}

bool IsZero(std::span<const std::byte> bytes) {
  return std::ranges::all_of(bytes, [](std::byte byte) { return byte == std::byte{0}; });
}

bool BeginsCompressed(std::span<const std::byte> header) {
  constexpr std::byte kGzip[] = {std::byte{0x1f}, std::byte{0x8b}};
  constexpr std::byte kZstd[] = {std::byte{0x28}, std::byte{0xb5}, std::byte{0x2f}, std::byte{0xfd}};
  constexpr std::byte kXz[] = {std::byte{0xfd}, std::byte{'7'}, std::byte{'z'}, std::byte{'X'}};
  constexpr std::byte kBzip2[] = {std::byte{'B'}, std::byte{'Z'}, std::byte{'h'}};
  const auto begins = [&](std::span<const std::byte> magic) {
    return header.size() >= magic.size() && std::ranges::equal(header.first(magic.size()), magic);
  };
  return begins(kGzip) || begins(kZstd) || begins(kXz) || begins(kBzip2);
}

/// A header of one block holds bytes, pax holds UTF-8: the path does not depend on the locale.
std::string PathOf(archive_entry* entry, bool is_one_block) {
  const char* path = is_one_block ? ::archive_entry_pathname(entry) : ::archive_entry_pathname_utf8(entry);
  if (path == nullptr) path = ::archive_entry_pathname(entry);
  return path == nullptr ? "" : path;
}

bool LeadsOut(const std::filesystem::path& path) {
  return path.empty() || path.is_absolute() || std::ranges::find(path, "..") != path.end();
}

/// Empty for a plain file.
std::string WhyNotPlain(archive_entry* entry) {
  if (::archive_entry_hardlink(entry) != nullptr) return "is a hard link";
  if (::archive_entry_sparse_count(entry) > 0) return "is a sparse file";
  switch (::archive_entry_filetype(entry)) {
    case AE_IFREG: return ::archive_entry_size_is_set(entry) ? "" : "has no size";
    case AE_IFLNK: return "is a symbolic link";
    default: return "is no regular file";
  }
}

}  // namespace

void TarMembers::Update(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto taken = Take(bytes);
    at_ += taken;
    bytes = bytes.subspan(taken);
    if (part_ == Part::kHeader && !header_.empty() && header_.size() % kBlock == 0) ReadHeader();
  }
}

std::size_t TarMembers::Take(std::span<const std::byte> bytes) {
  if (part_ == Part::kHeader) return TakeHeader(bytes);
  if (part_ == Part::kData) {
    const auto taken = static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes.size()));
    PassContent(taken);
    return taken;
  }
  if (IsZero(bytes)) return bytes.size();
  throw Error(ErrorKind::kEnvironment,
              fmt::format("'{}': bytes follow the end of the archive, which is before byte {}", archive_.string(), at_),
              "unpack it and write one archive: readers stop at the first end");
}

void TarMembers::PassContent(std::uint64_t bytes) {
  left_ -= bytes;
  if (left_ == 0) part_ = Part::kHeader;
}

void TarMembers::Skip(std::uint64_t bytes) {
  if (bytes == 0) return;
  PassContent(bytes);
  at_ += bytes;
}

std::size_t TarMembers::TakeHeader(std::span<const std::byte> bytes) {
  if (header_.empty()) header_at_ = at_;
  const auto taken = std::min(bytes.size(), kBlock - header_.size() % kBlock);
  header_.insert(header_.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(taken));
  return taken;
}

/// A header of several blocks (pax, long names of GNU) is read when its last block has come; until then it looks torn.
void TarMembers::ReadHeader() {
  if (header_.size() == kBlock && IsZero(header_)) {
    part_ = Part::kEnd;
    header_.clear();
    return;
  }
  const auto reader = MakeReader();
  if (auto* entry = ReadEntry(reader.get(), header_)) {
    Enter(entry);
  } else if (IsCompressed() || header_.size() >= kMostHeaderBytes) {
    ThrowHeader();
  }
}

void TarMembers::Enter(archive_entry* entry) {
  TarMember member{PathOf(entry, header_.size() == kBlock), header_at_, at_, 0, 0};
  const bool is_directory = ::archive_entry_filetype(entry) == AE_IFDIR;
  if (LeadsOut(member.path)) {
    ThrowMember(member.path, "has a path that leads out of the archive", "write the archive again with relative paths");
  }
  if (const auto why = is_directory ? "" : WhyNotPlain(entry); !why.empty()) {
    ThrowMember(member.path, why,
                "write the archive with plain files: tar --hard-dereference --dereference, without --sparse");
  }
  const auto size = is_directory ? 0 : ::archive_entry_size(entry);
  if (size < 0 || size > kMostContentBytes) ThrowHeader();
  member.size = static_cast<std::uint64_t>(size);
  last_path_ = member.path;
  header_.clear();
  left_ = (member.size + kBlock - 1) / kBlock * kBlock;
  member.end = member.data_at + left_;
  if (left_ > 0) part_ = Part::kData;
  if (!is_directory) on_member_(std::move(member));
}

bool TarMembers::IsCompressed() const { return header_at_ == 0 && BeginsCompressed(header_); }

void TarMembers::ThrowMember(const std::string& path, std::string_view what, std::string next) const {
  throw Error(ErrorKind::kEnvironment,
              fmt::format("'{}': byte {}: the member '{}' {}", archive_.string(), header_at_, path, what),
              std::move(next));
}

void TarMembers::ThrowHeader() const {
  const auto name = archive_.string();
  if (IsCompressed()) {
    throw Error(ErrorKind::kEnvironment, fmt::format("'{}' is a compressed archive: its samples have no places", name),
                "decompress it, for example with gunzip; its pictures are compressed in themselves");
  }
  throw Error(ErrorKind::kEnvironment,
              fmt::format("'{}': byte {}: expected the header of a tar member{}", name, header_at_,
                          last_path_.empty() ? "" : fmt::format(", after '{}'", last_path_)),
              kDamaged);
}

void TarMembers::ThrowTorn() const {
  const auto missing = part_ == Part::kData ? fmt::format("{} bytes of '{}' are missing", left_, last_path_)
                       : last_path_.empty() ? std::string("it has no member and no end")
                                            : fmt::format("its end is missing after '{}'", last_path_);
  throw Error(ErrorKind::kEnvironment, fmt::format("'{}' is torn at byte {}: {}", archive_.string(), at_, missing),
              kDamaged);
}

void TarMembers::Finish() const {
  if (part_ == Part::kEnd) return;
  if (part_ == Part::kHeader && (header_.size() >= kBlock || IsCompressed())) ThrowHeader();
  ThrowTorn();
}

}  // namespace slipway::staging
