/// The progress of a training: what a checkpoint keeps beside the weights.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "trainers/common/loss_scale.h"

namespace trainers {

/// Sums over records; ranks add theirs up. `measures` are those of the task, in its order.
struct Sums {
  double loss = 0;
  std::vector<double> measures;
  double records = 0;

  /// NaN when there are no records.
  double MeanLoss() const { return loss / records; }
  double Mean(std::size_t measure) const { return measures[measure] / records; }
};

/// How far a training is. With the weights and the optimizer's state this is the complete state. The order of the
/// records is a function of seed and epoch. Models draw no random numbers after their first weights.
struct Progress {
  std::int64_t epoch = 0;
  std::int64_t step_in_epoch = 0;
  std::int64_t step = 0;
  Sums train;  ///< of this epoch so far, over all ranks
  /// EpochPosition::shares, of what step_in_epoch counts in.
  std::uint32_t shares = 0;
  /// Updates of the averaged weights; nothing where weights are not averaged.
  std::optional<std::int64_t> average_updates;
  /// Nothing where losses are not scaled.
  std::optional<LossScale> loss_scale;
};

/// The step inside an epoch says which records are done only while the nodes hold the same records.
/// Errors: std::runtime_error when the step is inside an epoch and the nodes now hold other records.
void RequireSameShares(const Progress& progress, std::uint32_t now);

/// Names and values that must not change when a checkpoint is continued. Another value would mean another program,
/// model or set of records. The first entry is "trainer". Errors name the first entry that differs.
using Course = std::vector<std::pair<std::string, std::string>>;

/// Errors: std::runtime_error naming the file.
void WriteProgress(const std::filesystem::path& file, const Progress& progress, const Course& course);
/// Errors: std::runtime_error naming the file when it is damaged, and its program when another one wrote it. Otherwise
///         it names what differs from `course`.
Progress ReadProgress(const std::filesystem::path& file, const Course& course);

}  // namespace trainers
