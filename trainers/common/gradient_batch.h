/// Gradients that the backward pass has made, on their way to the exchange.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

namespace trainers {

/// Hands gradients to the exchange, several in one call where they are small: on a GPU a call takes the CPU longer than
/// a small gradient travels. One thread at a time.
class GradientBatch {
 public:
  using Submit = std::function<void(std::span<const int> indices)>;

  /// Half of a bucket that the CPU adds up, so that its copies begin before its last gradient is made. As MOST_BYTES of
  /// the optimizer for torch in Python.
  static constexpr std::int64_t kMostBytesOnGpu = 2 << 20;

  /// With `most_bytes` or more together, gradients are handed over at once; with 1 each is.
  GradientBatch(std::int64_t most_bytes, Submit submit) : most_bytes_(most_bytes), submit_(std::move(submit)) {}

  /// The gradient of this parameter is final. Errors: those of `submit`.
  void Add(int index, std::int64_t bytes) {
    indices_.push_back(index);
    bytes_ += bytes;
    if (bytes_ >= most_bytes_) HandOver();
  }
  /// Hands over what was added, in that order: at the end of the backward pass. Errors: those of `submit`.
  void HandOver() {
    bytes_ = 0;
    const auto indices = std::exchange(indices_, {});
    if (!indices.empty()) submit_(indices);
  }

 private:
  std::int64_t most_bytes_;
  Submit submit_;
  std::vector<int> indices_;
  std::int64_t bytes_ = 0;
};

}  // namespace trainers
