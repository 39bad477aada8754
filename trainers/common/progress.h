/// Where a training stands, as a checkpoint keeps it beside the weights.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

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

/// With the weights and the optimizer's state this is all there is: the order of the records is a function of seed and
/// epoch, and models draw no random numbers after their first weights.
struct Progress {
  std::int64_t epoch = 0;
  std::int64_t step_in_epoch = 0;
  std::int64_t step = 0;
  Sums train;  ///< of this epoch so far, over all ranks
  /// EpochPosition::shares, of what step_in_epoch counts in.
  std::uint32_t shares = 0;
};

/// A step inside an epoch says which records are done only where the nodes hold what they held.
/// Errors: std::runtime_error when it is inside one, and they hold something else now.
void RequireSameShares(const Progress& progress, std::uint32_t now);

/// Names and values that a checkpoint can only be continued with: another value would mean another program, model or
/// other records. The first is the "trainer". The first that differs is told.
using Course = std::vector<std::pair<std::string, std::string>>;

/// Errors: std::runtime_error naming the file.
void WriteProgress(const std::filesystem::path& file, const Progress& progress, const Course& course);
/// Errors: std::runtime_error naming the file when it is damaged, the program that wrote it when it is another one's,
/// and what differs from `course`.
Progress ReadProgress(const std::filesystem::path& file, const Course& course);

}  // namespace trainers
