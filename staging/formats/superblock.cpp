#include "staging/formats/superblock.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/error.h"

namespace slipway::staging {

namespace {

constexpr std::array<unsigned char, kHdf5SignatureBytes> kSignature = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};

constexpr std::size_t kSuperblockBytes = 96;
constexpr std::uint64_t kSmallestUserBlock = 512;
constexpr std::uint64_t kLastPlace = std::uint64_t{1} << 62;

/// Reads fields of one superblock; leaving its bytes is the error of a file cut there.
class SuperblockFields {
 public:
  SuperblockFields(std::span<const std::byte> bytes, const std::filesystem::path& name) : bytes_(bytes), name_(name) {}

  std::uint64_t Number(std::size_t offset, std::size_t size) const {
    if (offset + size > bytes_.size()) Fail("ends inside its HDF5 superblock");
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < size; ++i) value |= std::to_integer<std::uint64_t>(bytes_[offset + i]) << (8 * i);
    return value;
  }

  [[noreturn]] void Fail(std::string_view what) const {
    throw Error(ErrorKind::kEnvironment, fmt::format("'{}' {}", name_.string(), what),
                "close and write the file again, or copy it again from its source");
  }

 private:
  std::span<const std::byte> bytes_;
  const std::filesystem::path& name_;
};

struct SuperblockLayout {
  std::size_t offset_size_at;
  std::size_t addresses_at;  ///< base, one other, end of file
};

SuperblockLayout LayoutOf(const SuperblockFields& fields) {
  const auto version = fields.Number(8, 1);
  if (version == 0) return {13, 24};
  if (version == 1) return {13, 28};
  if (version > 3) fields.Fail(fmt::format("has an HDF5 superblock of unknown version {}", version));
  // Bit 0: open for writing. Version 2 does not use it.
  if (version == 3 && (fields.Number(11, 1) & 1) != 0) fields.Fail("was not closed by the program that wrote it");
  return {9, 12};
}

}  // namespace

bool IsHdf5Signature(std::span<const std::byte> bytes) {
  if (bytes.size() < kSignature.size()) return false;
  return std::ranges::equal(bytes.first(kSignature.size()), kSignature, {},
                            [](std::byte b) { return std::to_integer<unsigned char>(b); });
}

std::uint64_t NextSuperblockPlace(std::uint64_t place) { return place == 0 ? kSmallestUserBlock : 2 * place; }

void SuperblockSearch::Update(std::span<const std::byte> bytes) {
  while (!bytes.empty() && Collects()) {
    const auto ahead = std::min<std::uint64_t>(bytes.size(), place_ - std::min(place_, seen_));
    const auto taken = ahead > 0 ? 0 : std::min(bytes.size(), kSuperblockBytes - collected_.size());
    const auto piece = bytes.first(ahead + taken);
    collected_.insert(collected_.end(), piece.begin() + static_cast<std::ptrdiff_t>(ahead), piece.end());
    seen_ += piece.size();
    bytes = bytes.subspan(piece.size());
    GiveUpPlace();
  }
}

/// False once all of the superblock is there, or no further place can lie in any file.
bool SuperblockSearch::Collects() const { return collected_.size() < kSuperblockBytes && place_ <= kLastPlace; }

void SuperblockSearch::GiveUpPlace() {
  if (collected_.size() < kSignature.size() || IsHdf5Signature(collected_)) return;
  collected_.clear();
  place_ = NextSuperblockPlace(place_);
}

std::span<const std::byte> SuperblockSearch::found() const {
  return IsHdf5Signature(collected_) ? std::span<const std::byte>(collected_) : std::span<const std::byte>();
}

std::uint64_t Hdf5EndOfFile(const SuperblockSearch& search, const std::filesystem::path& name) {
  const SuperblockFields fields(search.found(), name);
  if (search.found().empty()) fields.Fail("is not an HDF5 file: it has no HDF5 signature");
  const auto layout = LayoutOf(fields);
  const auto offset_size = fields.Number(layout.offset_size_at, 1);
  if (offset_size != 2 && offset_size != 4 && offset_size != 8) {
    fields.Fail(fmt::format("has an HDF5 superblock with offsets of {} bytes", offset_size));
  }
  const auto base = fields.Number(layout.addresses_at, offset_size);
  const auto end = fields.Number(layout.addresses_at + 2 * offset_size, offset_size);
  return end - base + search.place();
}

}  // namespace slipway::staging
