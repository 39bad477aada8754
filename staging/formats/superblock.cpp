#include "staging/formats/superblock.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "core/error.h"

namespace slipway::staging {

namespace {

constexpr std::array<unsigned char, 8> kSignature = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};

std::optional<std::size_t> FindSuperblock(std::span<const std::byte> head) {
  for (const std::size_t offset : {0, 512, 1024, 2048}) {
    if (head.size() < offset + kSignature.size()) return {};
    const auto found = head.subspan(offset, kSignature.size());
    if (std::ranges::equal(found, kSignature, {}, [](std::byte b) { return std::to_integer<unsigned char>(b); })) {
      return offset;
    }
  }
  return {};
}

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
    throw Error(ErrorKind::kEnvironment, fmt::format("'{}' {}", name_.string(), what));
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

bool HasHdf5Signature(std::span<const std::byte> head) { return FindSuperblock(head).has_value(); }

std::uint64_t Hdf5EndOfFile(std::span<const std::byte> head, const std::filesystem::path& name) {
  const auto start = FindSuperblock(head);
  const SuperblockFields fields(head.subspan(start.value_or(0)), name);
  if (!start) fields.Fail("is not an HDF5 file: expected the HDF5 signature at its start");
  const auto layout = LayoutOf(fields);
  const auto offset_size = fields.Number(layout.offset_size_at, 1);
  if (offset_size != 2 && offset_size != 4 && offset_size != 8) {
    fields.Fail(fmt::format("has an HDF5 superblock with offsets of {} bytes", offset_size));
  }
  return fields.Number(layout.addresses_at + 2 * offset_size, offset_size);
}

}  // namespace slipway::staging
