/// Manifests that lie beside source files: of datasets that Slipway has written or staged there.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>

#include "staging/dataset/manifest.h"
#include "staging/plan/plan.h"

namespace slipway::staging {

/// Reads each of them once.
class SourceManifests {
 public:
  /// What the manifest in the file's directory says of it; null without one, with one that cannot be read, and when it
  /// is of a file of another size. Valid as long as this object.
  const ManifestFile* Find(const SourceFile& file);

 private:
  using Promises = std::map<std::string, ManifestFile>;

  std::unordered_map<std::string, Promises> known_;
  const Promises* promises_ = nullptr;
  std::string last_;  // of files that are sorted by name, most lie where the one before does
};

}  // namespace slipway::staging
