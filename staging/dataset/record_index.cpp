#include "staging/dataset/record_index.h"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <protozero/exception.hpp>
#include <protozero/varint.hpp>

#include "core/crc32c.h"
#include "core/error.h"
#include "staging/formats/little_endian.h"
#include "staging/formats/tfrecord_frame.h"

namespace slipway::staging {
namespace {

constexpr std::string_view kIndexMagic = "slipway.index/1\n";
constexpr auto kFrame = kTfrecordHeaderBytes + kTfrecordFooterBytes;
constexpr std::size_t kCrcBytes = 4;

[[noreturn]] void ThrowDamagedIndex(std::string_view reason) {
  throw Error(ErrorKind::kEnvironment, fmt::format("the index of records is damaged: {}", reason),
              "stage the dataset again");
}

void Append(std::string& text, std::uint64_t number) { protozero::write_varint(std::back_inserter(text), number); }

void AppendFile(std::string& text, const RecordIndex& file) {
  Append(text, file.offsets.size());
  for (std::size_t i = 0; i < file.offsets.size(); ++i) {
    const auto next = i + 1 < file.offsets.size() ? file.offsets[i + 1] : file.end;
    if (next < file.offsets[i] || next - file.offsets[i] < kFrame) {
      throw Error(ErrorKind::kInternal, fmt::format("record {} ends at {} before its frame does", i, next));
    }
    Append(text, next - file.offsets[i] - kFrame);
  }
}

/// Takes numbers from the front of `text`.
class Numbers {
 public:
  explicit Numbers(std::string_view text) : at_(text.data()), end_(text.data() + text.size()) {}

  std::uint64_t Next() try { return protozero::decode_varint(&at_, end_); } catch (const protozero::exception&) {
    ThrowDamagedIndex("it ends inside a number");
  }

  /// A count of things that take at least a byte each.
  std::uint64_t NextCount() {
    const auto count = Next();
    if (count > Left()) ThrowDamagedIndex("it promises more records than it has bytes");
    return count;
  }

  std::size_t Left() const { return static_cast<std::size_t>(end_ - at_); }

 private:
  const char* at_;
  const char* end_;
};

RecordIndex TakeFile(Numbers& numbers) {
  RecordIndex file;
  const auto count = numbers.NextCount();
  file.offsets.reserve(count);
  for (auto left = count; left > 0; --left) {
    file.offsets.push_back(file.end);
    const auto length = numbers.Next();
    if (length > std::numeric_limits<std::uint64_t>::max() - kFrame - file.end) {
      ThrowDamagedIndex("a length is too large");
    }
    file.end += kFrame + length;
  }
  return file;
}

/// What lies between magic and CRC.
std::string_view CheckedBody(std::string_view bytes) {
  if (!bytes.starts_with(kIndexMagic) || bytes.size() < kIndexMagic.size() + kCrcBytes) {
    ThrowDamagedIndex("it does not begin as one");
  }
  const auto covered = bytes.substr(0, bytes.size() - kCrcBytes);
  const auto crc = LoadLittleEndian<std::uint32_t>(std::as_bytes(std::span(bytes)).last<kCrcBytes>());
  if (Crc32c(covered) != crc) ThrowDamagedIndex("its CRC32C is wrong");
  return covered.substr(kIndexMagic.size());
}

}  // namespace

std::string EncodeRecordIndices(std::span<const RecordIndex> files) {
  std::string text(kIndexMagic);
  Append(text, files.size());
  for (const auto& file : files) AppendFile(text, file);
  std::array<std::byte, kCrcBytes> crc;
  StoreLittleEndian(Crc32c(text), std::span(crc));
  text.append(reinterpret_cast<const char*>(crc.data()), crc.size());
  return text;
}

std::vector<RecordIndex> DecodeRecordIndices(std::string_view bytes) {
  Numbers numbers(CheckedBody(bytes));
  std::vector<RecordIndex> files(numbers.NextCount());
  for (auto& file : files) file = TakeFile(numbers);
  if (numbers.Left() != 0) ThrowDamagedIndex("something follows its end");
  return files;
}

}  // namespace slipway::staging
