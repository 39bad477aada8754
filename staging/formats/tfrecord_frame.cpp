#include "staging/formats/tfrecord_frame.h"

#include <fmt/format.h>

#include <string>

#include "core/crc32c.h"
#include "core/error.h"
#include "staging/formats/little_endian.h"

namespace slipway::staging {

namespace {

constexpr auto kCopyAgain = "the file is damaged: copy it again from its source";
constexpr auto kCopyAgainOrSkip =
    "the file is damaged: copy it again from its source, or leave such records out with on_corrupt: skip";

std::string Describe(const RecordPlace& place, std::string_view what) {
  return fmt::format("'{}': record {} at byte {}: {}", place.file.string(), place.record, place.offset, what);
}

std::uint32_t MaskedCrcOfLength(std::span<const std::byte, kTfrecordHeaderBytes> header) {
  return MaskCrc32c(Crc32c(header.first<8>()));
}

}  // namespace

TfrecordHeader MakeTfrecordHeader(std::uint64_t length) {
  TfrecordHeader header;
  StoreLittleEndian(length, std::span(header).first<8>());
  StoreLittleEndian(MaskedCrcOfLength(header), std::span(header).last<4>());
  return header;
}

TfrecordFooter MakeTfrecordFooter(std::uint32_t crc) {
  TfrecordFooter footer;
  StoreLittleEndian(MaskCrc32c(crc), std::span(footer));
  return footer;
}

bool IsTfrecordHeader(std::span<const std::byte, kTfrecordHeaderBytes> header) {
  return LoadLittleEndian<std::uint32_t>(header.last<4>()) == MaskedCrcOfLength(header);
}

std::uint64_t ReadTfrecordLength(std::span<const std::byte, kTfrecordHeaderBytes> header, const RecordPlace& place) {
  if (!IsTfrecordHeader(header)) {
    throw Error(
        ErrorKind::kEnvironment,
        Describe(place, fmt::format("expected masked CRC32C {:08x} of the record's length, found {:08x}",
                                    MaskedCrcOfLength(header), LoadLittleEndian<std::uint32_t>(header.last<4>()))),
        kCopyAgain);
  }
  return LoadLittleEndian<std::uint64_t>(header.first<8>());
}

void CheckTfrecordFooter(std::span<const std::byte, kTfrecordFooterBytes> footer, std::uint32_t crc,
                         const RecordPlace& place) {
  const auto stored = LoadLittleEndian<std::uint32_t>(footer);
  if (stored == MaskCrc32c(crc)) return;
  throw Error(ErrorKind::kEnvironment,
              Describe(place, fmt::format("expected masked CRC32C {:08x} of the record's data, found {:08x}",
                                          MaskCrc32c(crc), stored)),
              kCopyAgainOrSkip);
}

void ThrowTornHeader(std::span<const std::byte> header, const RecordPlace& place) {
  throw Error(ErrorKind::kEnvironment,
              Describe(place, fmt::format("expected the {} bytes of a record header, the file ends after {}",
                                          kTfrecordHeaderBytes, header.size())),
              kCopyAgain);
}

void ThrowTornRecord(std::uint64_t length, std::uint64_t bytes_after_header, const RecordPlace& place) {
  throw Error(ErrorKind::kEnvironment,
              Describe(place, fmt::format("expected {} bytes of data and a {}-byte checksum after its header, the file "
                                          "ends after {} bytes",
                                          length, kTfrecordFooterBytes, bytes_after_header)),
              kCopyAgain);
}

}  // namespace slipway::staging
