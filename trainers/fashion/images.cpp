#include "trainers/fashion/images.h"

#include <fmt/format.h>

#include <numeric>
#include <stdexcept>

#include "staging/reader/reader.h"

namespace fashion {

Images::Images(const std::filesystem::path& path) {
  const auto dataset = slipway::staging::Dataset::Open(path);
  std::vector<std::uint64_t> records(dataset.record_count());
  std::iota(records.begin(), records.end(), std::uint64_t{0});
  pixels_.resize(records.size() * kPixels);
  labels_.resize(records.size());
  dataset.ReadBytes(records, "image", pixels_);
  dataset.ReadInts(records, "label", labels_);
  for (std::size_t i = 0; i < labels_.size(); ++i) {
    if (labels_[i] < 0 || labels_[i] >= kClasses) {
      throw std::runtime_error(
          fmt::format("record {} of '{}' has label {}: must be 0 to {}", i, path.string(), labels_[i], kClasses - 1));
    }
  }
}

void Images::Fill(std::span<const std::uint64_t> records, std::span<float> pixels,
                  std::span<std::int64_t> labels) const {
  for (std::size_t i = 0; i < records.size(); ++i) {
    const auto* from = pixels_.data() + records[i] * kPixels;
    auto* to = pixels.data() + i * kPixels;
    for (int p = 0; p < kPixels; ++p) to[p] = static_cast<float>(std::to_integer<int>(from[p])) * (1.0f / 255.0f);
    labels[i] = labels_[records[i]];
  }
}

}  // namespace fashion
