#include "bench/staging/bench_data.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <bit>

#include "core/crc32c.h"
#include "core/error.h"
#include "core/files.h"

namespace slipway::bench {
namespace fs = std::filesystem;
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::size_t kRecordBytes = 110'000;

/// xorshift64: as hard to compress as photographs are.
class Noise {
 public:
  void Append(std::string& text, std::size_t bytes) {
    const auto end = text.size() + bytes;
    while (text.size() < end) AppendNumber(text, Next(), std::min<std::size_t>(8, end - text.size()));
  }
  static void AppendNumber(std::string& text, std::uint64_t number, std::size_t bytes) {
    text.append(reinterpret_cast<const char*>(&number), bytes);
  }

 private:
  std::uint64_t Next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    return state_ ^= state_ << 17;
  }
  std::uint64_t state_ = 0x9e3779b97f4a7c15u;
};

void AppendRecord(std::string& text, Noise& noise) {
  std::string length;
  Noise::AppendNumber(length, kRecordBytes, 8);
  std::string data;
  noise.Append(data, kRecordBytes);
  text += length;
  Noise::AppendNumber(text, MaskCrc32c(Crc32c(length)), 4);
  text += data;
  Noise::AppendNumber(text, MaskCrc32c(Crc32c(data)), 4);
}

std::string FileContent(const DataShape& shape, Noise& noise) {
  std::string text;
  text.reserve(shape.file_size.count + kRecordBytes + 16);
  if (shape.format == staging::DataFormat::kTfrecord) {
    while (text.size() < shape.file_size.count) AppendRecord(text, noise);
  } else {
    noise.Append(text, shape.file_size.count);
  }
  return text;
}

}  // namespace

Bytes MakeData(const DataShape& shape, const fs::path& directory) {
  Noise noise;
  Bytes total;
  for (std::size_t i = 0; i < shape.files; ++i) {
    const auto parent = directory / fmt::format("{:03}", i % shape.directories);
    MakeDirectories(parent);
    const auto content = FileContent(shape, noise);
    WriteFile(parent / fmt::format("part-{:05}.tfrecord", i), content);
    total.count += content.size();
  }
  const auto fd = OpenFile(directory, O_RDONLY | O_DIRECTORY);
  CheckErrno(::syncfs(fd.get()), "cannot sync the data of the benchmark");
  return total;
}

}  // namespace slipway::bench
