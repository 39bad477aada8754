/// Small data files for the tests of the formats.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "staging/formats/compression.h"

namespace slipway::staging {

inline std::span<const std::byte> BytesOf(std::string_view text) { return std::as_bytes(std::span(text)); }
inline std::string TextOf(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// `file` with one bit inverted.
inline std::string WithBitFlipped(std::string file, std::size_t bit) {
  file[bit / 8] = static_cast<char>(file[bit / 8] ^ (1 << (bit % 8)));
  return file;
}

/// A TFRecord file at `path` with these payloads; returns its bytes.
std::string MakeTfrecords(const std::filesystem::path& path, const std::vector<std::string>& payloads);

/// The same bytes without a file.
std::string TfrecordText(const std::vector<std::string>& payloads);
/// `content` as one gzip member or zlib stream.
std::string Deflate(Compression compression, std::string_view content);
/// Bytes that cannot be compressed, always the same.
std::string NoiseOf(std::size_t size);

/// An Example with `image` of `size` bytes, all equal to `label`, and `label`.
std::string ImageExample(std::size_t size, int label);

/// An idx file's bytes.
std::string IdxBytes(const std::vector<unsigned>& shape, std::string_view values);
/// Writes `count` idx images of 2x3 bytes (value: record * 6 + position) and their labels (record % 10).
struct IdxPair {
  std::filesystem::path images;
  std::filesystem::path labels;
};
IdxPair MakeIdxPair(const std::filesystem::path& directory, std::size_t count);

/// The Error that `action` throws. Fails the test, and is of kind kInternal, when it throws none.
Error ErrorOf(const std::function<void()>& action);

}  // namespace slipway::staging
