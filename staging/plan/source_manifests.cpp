#include "staging/plan/source_manifests.h"

#include "core/error.h"
#include "core/files.h"

namespace slipway::staging {
namespace fs = std::filesystem;
namespace {

std::map<std::string, ManifestFile> PromisesIn(const fs::path& directory) try {
  std::map<std::string, ManifestFile> promises;
  const auto text = ReadFileIfPresent(directory / kManifestName);
  if (!text) return promises;
  for (auto& file : ParseManifest(*text).files) {
    auto path = file.path;
    promises.insert_or_assign(std::move(path), std::move(file));
  }
  return promises;
} catch (const Error&) {
  return {};
}

}  // namespace

const ManifestFile* SourceManifests::Find(const SourceFile& file) {
  const auto path = file.path.native();
  const auto directory = std::string_view(path).substr(0, path.rfind('/') + 1);
  if (promises_ == nullptr || directory != last_) {
    const auto [entry, fresh] = known_.try_emplace(std::string(directory));
    if (fresh) entry->second = PromisesIn(directory);
    promises_ = &entry->second;
    last_ = directory;
  }
  if (promises_->empty()) return nullptr;
  const auto promise = promises_->find(file.path.filename().string());
  return promise != promises_->end() && promise->second.bytes == file.size ? &promise->second : nullptr;
}

}  // namespace slipway::staging
