/// The frame around one TFRecord: u64 length, u32 masked CRC32C of the length, data, u32 masked CRC32C of the data,
/// all little endian. What writer, mapped reader and stream check share.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

namespace slipway::staging {

inline constexpr std::uint64_t kTfrecordHeaderBytes = 12;
inline constexpr std::uint64_t kTfrecordFooterBytes = 4;

using TfrecordHeader = std::array<std::byte, kTfrecordHeaderBytes>;
using TfrecordFooter = std::array<std::byte, kTfrecordFooterBytes>;

/// For messages: record number and byte offset (of the record's header) in a file.
struct RecordPlace {
  const std::filesystem::path& file;
  std::uint64_t record = 0;
  std::uint64_t offset = 0;
};

TfrecordHeader MakeTfrecordHeader(std::uint64_t length);
/// `crc` is the unmasked CRC32C of the data.
TfrecordFooter MakeTfrecordFooter(std::uint32_t crc);

/// True when the length in `header` agrees with its CRC.
bool IsTfrecordHeader(std::span<const std::byte, kTfrecordHeaderBytes> header);

/// The length that `header` announces: any 64-bit number, so compare before adding to it.
/// Errors: Error(kEnvironment): the length fails its CRC.
std::uint64_t ReadTfrecordLength(std::span<const std::byte, kTfrecordHeaderBytes> header, const RecordPlace& place);

/// Errors: Error(kEnvironment) unless `footer` holds `crc`, the unmasked CRC32C of the data.
void CheckTfrecordFooter(std::span<const std::byte, kTfrecordFooterBytes> footer, std::uint32_t crc,
                         const RecordPlace& place);

/// The file ends inside a record: in its header (`header` holds the bytes that are there) or after it.
[[noreturn]] void ThrowTornHeader(std::span<const std::byte> header, const RecordPlace& place);
[[noreturn]] void ThrowTornRecord(std::uint64_t length, std::uint64_t bytes_after_header, const RecordPlace& place);

}  // namespace slipway::staging
