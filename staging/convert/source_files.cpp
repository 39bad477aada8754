#include "staging/convert/source_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "core/documents.h"
#include "core/error.h"
#include "staging/convert/shard_names.h"

namespace slipway::staging {
namespace fs = std::filesystem;

SourceFiles ExpandSource(const fs::path& source) {
  std::error_code unreadable;
  if (fs::symlink_status(source, unreadable).type() != fs::file_type::not_found) return {{source}};
  if (HasWildcard(source.native())) {
    auto paths = MatchingPaths(source.native());
    if (!paths.empty()) return {std::move(paths)};
    throw Error(ErrorKind::kEnvironment, fmt::format("no file matches the pattern '{}'", source.string()),
                "check the path and the pattern");
  }
  auto written = FilesOfTarget(source);
  if (written.empty()) return {{source}};
  return {std::move(written), true};
}

SourceFiles ExpandSources(const std::vector<fs::path>& sources) {
  SourceFiles all;
  for (const auto& source : sources) {
    auto files = ExpandSource(source);
    std::ranges::move(files.paths, std::back_inserter(all.paths));
    all.is_set = all.is_set || files.is_set;
  }
  return all;
}

DatasetFiles DatasetOf(const std::vector<fs::path>& paths) {
  return paths.size() == 1 ? FindDatasetFiles(paths[0]) : DescribeFiles(paths);
}

}  // namespace slipway::staging
