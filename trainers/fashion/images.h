/// All images of a dataset in memory, as bytes: 784 a piece, and their labels.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace fashion {

inline constexpr int kSide = 28;
inline constexpr int kPixels = kSide * kSide;
inline constexpr int kClasses = 10;

class Images {
 public:
  /// Reads fields `image` (784 bytes) and `label` (0 to 9) of every record.
  /// Errors: the reader's, naming file and record; std::runtime_error for a label out of range, naming the record.
  explicit Images(const std::filesystem::path& dataset);

  std::uint64_t size() const { return labels_.size(); }
  std::int64_t label(std::uint64_t record) const { return labels_[record]; }

  /// Pixels scaled to [0, 1] and labels of `records`, one after the other; the spans have 784 and 1 values for each.
  void Fill(std::span<const std::uint64_t> records, std::span<float> pixels, std::span<std::int64_t> labels) const;

 private:
  std::vector<std::byte> pixels_;
  std::vector<std::int64_t> labels_;
};

}  // namespace fashion
