/// What a source of `data convert` or `data reshard` stands for.
#pragma once

#include <filesystem>
#include <vector>

#include "staging/dataset/dataset_files.h"

namespace slipway::staging {

struct SourceFiles {
  std::vector<std::filesystem::path> paths;
  bool is_set = false;  ///< found by the name that Convert or Reshard wrote them under: one dataset
};

/// A path that exists stands for itself, a pattern for what it fits (MatchingPaths), a name for the files that were
/// written under it (FilesOfTarget). Any other path stands for itself, too: who opens it says what is wrong.
/// Errors: Error(kEnvironment) when nothing fits the pattern; those of FilesOfTarget.
SourceFiles ExpandSource(const std::filesystem::path& source);

/// The same for all `sources`, one after the other.
SourceFiles ExpandSources(const std::vector<std::filesystem::path>& sources);

/// Of one directory or file, or of several files. Errors: those of FindDatasetFiles and DescribeFiles.
DatasetFiles DatasetOf(const std::vector<std::filesystem::path>& paths);

}  // namespace slipway::staging
