/// Datasets of Examples whose records can be told apart, and readers that note what they saw.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "staging/plan/plan.h"
#include "staging/reader/batches.h"

namespace slipway::staging {

/// `files` TFRecord files in `directory` with files[i] Examples each, their `id` counted over all files.
/// With a manifest beside them the numbers of records are known before they are read.
void MakeNumberedFiles(const std::filesystem::path& directory, const std::vector<int>& files, std::size_t filling = 0);
void MakeManifest(const std::filesystem::path& directory, const std::vector<int>& files);

/// Reads `id` in the windowed order.
BatchOptions NumberedOptions(int rank, int world, std::uint64_t epochs, std::uint64_t seed = 7);
/// All ids of all epochs, in order; what is read of every batch is appended, and `on_batch` called.
std::vector<std::int64_t> ReadIds(const std::filesystem::path& path, const BatchOptions& options,
                                  const std::function<void()>& on_batch = {});

}  // namespace slipway::staging
