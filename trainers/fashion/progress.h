/// Where a training stands, as a checkpoint keeps it beside the weights.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace fashion {

/// Sums over images; ranks add theirs up.
struct Sums {
  double loss = 0;
  double correct = 0;
  double images = 0;

  /// NaN when there are no images.
  double MeanLoss() const { return loss / images; }
  double Accuracy() const { return correct / images; }
};

/// With the weights and the optimizer's state this is all there is: the order of the images is a function of seed and
/// epoch, and the model draws no random numbers after its first weights.
struct Progress {
  std::int64_t epoch = 0;
  std::int64_t step_in_epoch = 0;
  std::int64_t step = 0;
  Sums train;  ///< of this epoch so far, over all ranks
};

/// What a checkpoint can only be continued with: another value would mean another model or other images.
struct Course {
  int channels = 0;
  std::string optimizer;
  std::int64_t global_batch_size = 0;
  std::int64_t seed = 0;
  std::int64_t train_images = 0;  ///< after the split and the limit
  std::uint64_t validation_seed = 0;
};

/// Errors: std::runtime_error naming the file.
void WriteProgress(const std::filesystem::path& file, const Progress& progress, const Course& course);
/// Errors: std::runtime_error naming the file when it is missing or damaged, and what differs from `course`.
Progress ReadProgress(const std::filesystem::path& file, const Course& course);

}  // namespace fashion
