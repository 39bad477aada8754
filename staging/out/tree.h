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

/// Looks at everything below `root`; what goes while it looks was never there. Links are not followed; an absolute link
/// into the tree is made relative, so that it still leads there in a copy.
///
/// Errors: Error(kEnvironment) naming the path: a link that leaves the tree, a fifo, socket or device, what cannot be
///         read; SystemError when `root` is no directory.
Tree ListTree(const std::filesystem::path& root);

/// A link counts, wherever it leads.
bool IsThere(const std::filesystem::path& path);

}  // namespace slipway::staging
