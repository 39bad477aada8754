#include "staging/formats/npy.h"

#include <fmt/format.h>
#include <minizip/unzip.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/numpy_header.h"
#include "staging/formats/growing_memory.h"
#include "staging/formats/little_endian.h"

namespace slipway::staging {
namespace {

/// The members of a zip file, as NumPy writes it: stored or deflated, also with 64-bit sizes.
struct ZipMember {
  std::string name;
  std::span<const std::byte> bytes;  ///< the content: in the mapped file, or `inflated`
  GrowingMemory inflated;            ///< of a deflated member
};

constexpr std::uint32_t kLocalHeader = 0x04034b50;
constexpr std::uint64_t kEncrypted = 1;
constexpr unsigned kStored = 0;

[[noreturn]] void Damaged(const std::string& name, std::string_view what) {
  throw Error(ErrorKind::kEnvironment, fmt::format("'{}' {}", name, what),
              "the file is damaged: copy it again from its source");
}

[[noreturn]] void NotRead(const std::string& name, std::string_view what) {
  throw Error(ErrorKind::kEnvironment, fmt::format("'{}' {}", name, what),
              "save the arrays again with numpy.savez or numpy.savez_compressed");
}

struct CloseZip {
  void operator()(void* zip) const { ::unzClose(zip); }
};

std::uint32_t Crc32Of(std::span<const std::byte> bytes) {
  return static_cast<std::uint32_t>(
      ::crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<z_size_t>(bytes.size())));
}

/// Goes through the members of one file; minizip reads the directory, and inflates.
class ZipWalk {
 public:
  ZipWalk(std::span<const std::byte> file, const std::filesystem::path& path)
      : file_(file), path_(path.string()), zip_(::unzOpen64(path.c_str())) {
    if (!zip_ || !HasZipEnd(file)) Damaged(path_, "is a torn zip file: it has no directory at its end");
    moved_ = ::unzGoToFirstFile(zip_.get());
  }

  std::vector<ZipMember> All() {
    std::vector<ZipMember> members;
    std::uint64_t left = file_.size();
    for (; moved_ == UNZ_OK; moved_ = ::unzGoToNextFile(zip_.get())) {
      auto member = Current();
      if (packed_ > left) Damaged(path_, "is a damaged zip file: its members overlap");
      left -= packed_;
      members.push_back(std::move(member));
    }
    if (moved_ != UNZ_END_OF_LIST_OF_FILE) Damaged(path_, "is a damaged zip file: its directory cannot be read");
    return members;
  }

 private:
  ZipMember Current() {
    unz_file_info64 info{};
    Check(::unzGetCurrentFileInfo64(zip_.get(), &info, nullptr, 0, nullptr, 0, nullptr, 0), "a member");
    std::string name(info.size_filename, '\0');
    Check(::unzGetCurrentFileInfo64(zip_.get(), &info, name.data(), info.size_filename, nullptr, 0, nullptr, 0), name);
    const auto full_name = fmt::format("{}:{}", path_, name);
    if ((info.flag & kEncrypted) != 0) NotRead(full_name, "is encrypted");
    if (info.compression_method != kStored && info.compression_method != Z_DEFLATED) {
      NotRead(full_name,
              fmt::format("is compressed by method {}; stored and deflated members are read", info.compression_method));
    }
    packed_ = info.compressed_size;
    ZipMember member{std::move(name), {}, {}};
    info.compression_method == kStored ? Locate(info, full_name, member) : Inflate(info, full_name, member);
    return member;
  }

  void Locate(const unz_file_info64& info, const std::string& name, ZipMember& member) {
    int method = 0, level = 0;
    Check(::unzOpenCurrentFile2(zip_.get(), &method, &level, 1), name);
    const std::uint64_t at = ::unzGetCurrentFileZStreamPos64(zip_.get());
    ::unzCloseCurrentFile(zip_.get());
    if (at > file_.size() || packed_ > file_.size() - at)
      Damaged(name, "is torn: it ends behind the end of its zip file");
    if (packed_ != info.uncompressed_size) Damaged(name, "is damaged: its zip file gives it two sizes");
    member.bytes = file_.subspan(at, packed_);
    if (Crc32Of(member.bytes) != info.crc) Damaged(name, "is damaged: its CRC32 is wrong");
  }

  /// minizip gives out no more than the size that is announced, and looks at the CRC when all of it was read.
  void Inflate(const unz_file_info64& info, const std::string& name, ZipMember& member) {
    Check(::unzOpenCurrentFile(zip_.get()), name);
    std::array<std::byte, 64 << 10> block;
    int count = 0;
    while ((count = ::unzReadCurrentFile(zip_.get(), block.data(), block.size())) > 0) {
      member.inflated.Append(std::span(block).first(static_cast<std::size_t>(count)));
    }
    const int closed = ::unzCloseCurrentFile(zip_.get());
    if (count < 0 || closed != UNZ_OK || member.inflated.bytes().size() != info.uncompressed_size) {
      Damaged(name, fmt::format("is damaged or torn: its zip file announces {} bytes with CRC32 {:08x}, {} were read",
                                info.uncompressed_size, info.crc, member.inflated.bytes().size()));
    }
    member.bytes = member.inflated.bytes();
  }

  static void Check(int code, const std::string& name) {
    if (code != UNZ_OK) Damaged(name, "is damaged: its header and the directory of its zip file do not agree");
  }

  std::span<const std::byte> file_;
  std::string path_;
  std::unique_ptr<void, CloseZip> zip_;
  int moved_ = UNZ_OK;
  std::uint64_t packed_ = 0;  // bytes of the current member in the file
};

/// True when `file` begins as a zip file does.
bool IsZip(std::span<const std::byte> file) {
  return file.size() >= 4 && LoadLittleEndian<std::uint32_t>(file.first<4>()) == kLocalHeader;
}

/// In the order of the directory; `file` are the mapped bytes of `path`. Contents are checked against their CRCs.
/// Memory: stored members none; deflated ones what they hold, never more than they announce.
/// Errors: Error(kEnvironment), naming file and member: no directory, a damaged one, encryption, another method, places
///         outside the file, a wrong size or CRC.
std::vector<ZipMember> ReadZip(std::span<const std::byte> file, const std::filesystem::path& path) {
  return ZipWalk(file, path).All();
}

/// What numpy.load calls a member.
std::string KeyOf(std::string_view member) {
  constexpr std::string_view kSuffix = ".npy";
  if (member.ends_with(kSuffix)) member.remove_suffix(kSuffix.size());
  return std::string(member);
}

}  // namespace

/// minizip takes numbers behind the end of a file for zeros.
bool HasZipEnd(std::span<const std::byte> file) {
  constexpr std::size_t kEndBytes = 22;
  constexpr std::size_t kLongestComment = 0xffff;
  const auto last = file.last(std::min(file.size(), kEndBytes + kLongestComment));
  const std::string_view text(reinterpret_cast<const char*>(last.data()), last.size());
  const auto end = text.rfind("PK\5\6");
  return end != std::string_view::npos && text.size() - end >= kEndBytes;
}

NumberType NumberTypeOf(const NumpyHeader& header) {
  static constexpr NumberType kSigned[] = {NumberType::kInt8, NumberType::kInt16, NumberType::kInt32,
                                           NumberType::kInt64};
  static constexpr NumberType kUnsigned[] = {NumberType::kUint8, NumberType::kUint16, NumberType::kUint32,
                                             NumberType::kUint64};
  if (header.kind == 'f') return header.size == 4 ? NumberType::kFloat32 : NumberType::kFloat64;
  const auto width = static_cast<std::size_t>(std::countr_zero(header.size));
  return header.kind == 'i' ? kSigned[width] : kUnsigned[width];
}

void SwapBytes(std::span<std::byte> values, std::size_t size) {
  for (; !values.empty(); values = values.subspan(size)) std::ranges::reverse(values.first(size));
}

NpyFile::NpyFile(const std::filesystem::path& path) : file_(path) {
  if (!IsZip(file_.bytes())) {
    Add(path.stem().string(), file_.bytes(), path.string());
    return;
  }
  for (auto& member : ReadZip(file_.bytes(), path)) {
    held_.push_back(std::move(member.inflated));
    Add(KeyOf(member.name), member.bytes, fmt::format("{}:{}", path.string(), member.name));
  }
}

void NpyFile::Add(std::string name, std::span<const std::byte> bytes, const std::string& full_name) {
  auto header = ParseNumpyHeader(bytes, full_name);
  auto values = bytes.subspan(header.values_at);
  if (header.swapped) {
    std::vector<std::byte> swapped(values.begin(), values.end());
    SwapBytes(swapped, header.size);
    held_.emplace_back().Append(swapped);
    values = held_.back().bytes();
  }
  arrays_.push_back(
      {std::move(name), NumberTypeOf(header), header.kind, std::move(header.shape), values, IsMapped(values)});
}

bool NpyFile::IsMapped(std::span<const std::byte> bytes) const {
  const auto file = file_.bytes();
  const std::less<const std::byte*> before;
  return !before(bytes.data(), file.data()) && !before(file.data() + file.size(), bytes.data());
}

}  // namespace slipway::staging
