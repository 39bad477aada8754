/// Manifests beside source files: of datasets that Slipway has written or staged there.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>

#include "staging/dataset/manifest.h"
#include "staging/plan/plan.h"

namespace slipway::staging {

/// Reads each manifest once.
class SourceManifests {
 public:
  /// The entry of the file in the manifest of its directory. Null without a manifest, with an unreadable one, or when
  /// the sizes differ. Valid as long as this object.
  const ManifestFile* Find(const SourceFile& file);

 private:
  using Promises = std::map<std::string, ManifestFile>;

  std::unordered_map<std::string, Promises> known_;
  const Promises* promises_ = nullptr;
  std::string last_;  // of files that are sorted by name, most lie where the one before does
};

}  // namespace slipway::staging
