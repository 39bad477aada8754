/// What lies below a directory that is to be copied whole.
#pragma once

#include <filesystem>
#include <vector>

#include "core/units.h"
#include "staging/plan/plan.h"

namespace slipway::staging {

struct TreeLink {
  std::filesystem::path name;    ///< relative to the tree
  std::filesystem::path target;  ///< relative to the link
};

struct Tree {
  std::vector<SourceFile> files;                   ///< sorted by name
  std::vector<std::filesystem::path> directories;  ///< relative, parents before children
  std::vector<TreeLink> links;
  Bytes total;
};

/// Lists everything below `root`. Files that are removed meanwhile are left out. Links are not followed. An absolute
/// link into the tree is made relative, so that it stays valid in a copy.
///
/// Errors: Error(kEnvironment) naming the path: a link that leaves the tree, a fifo, socket or device, an unreadable
///         path. SystemError when `root` is not a directory.
Tree ListTree(const std::filesystem::path& root);

/// A link counts, wherever it leads.
bool IsThere(const std::filesystem::path& path);

}  // namespace slipway::staging
