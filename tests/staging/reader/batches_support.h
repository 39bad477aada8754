/// Datasets for the tests of the batch reader.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "staging/reader/batches.h"

namespace slipway::staging {

/// A JPEG file of one grey.
std::string GreyJpeg(int width, int height, int grey);

/// A picture of `bytes` bytes (label + place), its number as `label`, and three floats.
std::string NumberedExample(std::uint64_t number, std::size_t bytes = 6);

/// `counts[i]` numbered records in the file i; numbers run over all files.
void MakeNumberedFiles(const std::filesystem::path& directory, const std::vector<std::uint64_t>& counts);
/// The same as a staged generation: with manifest.json and, if wanted, records.index.
enum class WithIndex { kNo, kYes };
void MakeGeneration(const std::filesystem::path& directory, const std::vector<std::uint64_t>& counts, WithIndex index);
/// Writes manifest.json (and records.index) for the TFRecord files of the directory as they are now.
void DescribeGeneration(const std::filesystem::path& directory, WithIndex index);

/// Another records.index, with what the manifest says of it.
void ReplaceIndex(const std::filesystem::path& directory, const std::string& index);

/// Only labels, on one thread.
BatchOptions LabelOptions(std::uint64_t batch);

/// The labels of one epoch, batch by batch; -1 where padding is.
std::vector<std::int64_t> LabelsOfEpoch(BatchReader& reader);
std::vector<std::int64_t> LabelsOf(const Batch& batch);

}  // namespace slipway::staging
