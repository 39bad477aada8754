/// What the network says of the validation images, left behind for the selection of model ensembles.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>

#include "trainers/fashion/images.h"

namespace fashion {

/// Writes into `folder`, each file complete or not at all:
///   predictions.npy  float32 [records, 10]: `probabilities`, in the order of `records`
///   targets.npy      int64 [records]: the labels
///   predictions.json and targets.json: the hash of the record order, which is that of the record numbers
/// Errors: std::runtime_error naming the file.
void WritePredictions(const std::filesystem::path& folder, const Images& images, std::span<const std::uint64_t> records,
                      std::span<const double> probabilities);

}  // namespace fashion
