/// What lies below a directory that is to be copied whole.
#pragma once

#include <filesystem>
#include <functional>
#include <vector>

#include "core/error.h"
#include "core/units.h"
#include "staging/plan/plan.h"

namespace slipway::staging {

struct TreeLink {
  std::filesystem::path name;    ///< relative to the tree
  std::filesystem::path target;  ///< relative to the link
};

/// An entry that cannot be copied.
struct Refused {
  std::filesystem::path name;  ///< relative to the tree
  Error why;                   ///< names the path
};

struct Tree {
  std::vector<SourceFile> files;                   ///< sorted by name
  std::vector<std::filesystem::path> directories;  ///< relative, parents before children
  std::vector<TreeLink> links;
  std::vector<Refused> refused;  ///< not among the others, nor what lies below
  Bytes total;
};

/// Lists everything below `root`. Files that are removed meanwhile are left out. Links are not followed. An absolute
/// link into the tree is made relative, so that it stays valid in a copy. Refused are a link that leaves the tree or
/// leads in a circle, a fifo, socket or device, a file or directory that cannot be read.
///
/// `skips`: whether an entry of `root` itself, by its name, is not of the tree.
/// Errors: SystemError when `root` is not a directory.
Tree ListTree(const std::filesystem::path& root,
              const std::function<bool(const std::filesystem::path& name)>& skips = {});

/// One error for all of them, of the kind of the first; names the first few. `refused` is not empty.
Error ErrorOf(const std::vector<Refused>& refused);

/// A link counts, wherever it leads.
bool IsThere(const std::filesystem::path& path);

}  // namespace slipway::staging
