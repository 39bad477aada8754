/// Reads a workflow file and the files that it includes into one tree.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "launcher/spec/source.h"
#include "launcher/spec/yaml_tree.h"

namespace slipway::launcher {

struct WorkflowFiles {
  YamlNode tree;                                ///< a map; `include` is taken out
  std::string source;                           ///< the text of the file itself
  std::vector<std::filesystem::path> included;  ///< absolute
};

/// Maps are merged by key; everything else is replaced.
void MergeByKey(YamlNode& base, YamlNode overlay);

/// A file's values lie above those of the files that it includes; a later one lies above an earlier one. References to
/// environment variables are replaced. What is wrong is in `report`.
/// Errors: kUsage when the file itself cannot be read.
WorkflowFiles ReadWorkflowFiles(const std::filesystem::path& file, Sources& sources, Report& report);

}  // namespace slipway::launcher
