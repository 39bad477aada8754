/// The outputs of a network for the validation records, stored for selecting model ensembles.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <variant>

namespace trainers {

/// The true values: labels, int64 [records]; or values, float32 [records, outputs].
using TargetValues = std::variant<std::span<const std::int64_t>, std::span<const float>>;

/// Writes these files into `folder`, each complete or not at all:
/// - predictions.npy: float32 [records, outputs], `predictions` in the order of `records`
/// - targets.npy: `targets` in that order
/// - predictions.json and targets.json: the hash of the record order, computed from the record numbers
///
/// Errors: std::runtime_error naming the file.
void WritePredictions(const std::filesystem::path& folder, std::span<const std::uint64_t> records,
                      std::span<const float> predictions, const TargetValues& targets);

}  // namespace trainers
