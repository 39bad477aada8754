#include "staging/generation/inventory.h"

#include <sys/stat.h>

#include <algorithm>
#include <tuple>

#include "core/documents.h"
#include "core/error.h"
#include "core/files.h"
#include "staging/dataset/manifest.h"
#include "staging/generation/generation.h"
#include "staging/plan/tiers.h"

namespace slipway::staging {
namespace fs = std::filesystem;
namespace {

std::optional<WallTime> ModificationTime(const fs::path& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return {};
  const auto since_epoch = std::chrono::seconds(info.st_mtim.tv_sec) + std::chrono::nanoseconds(info.st_mtim.tv_nsec);
  return WallTime(std::chrono::duration_cast<WallTime::duration>(since_epoch));
}

void TakeManifest(StoredGeneration& stored) {
  const auto manifest = ParseManifest(ReadFile(stored.directory / kManifestName));
  stored.dataset = manifest.name;
  stored.format = manifest.format;
  stored.verify = manifest.verify;
  stored.created = manifest.created;
  stored.files = manifest.files.size();
  stored.bytes = manifest.TotalBytes();
  stored.records = manifest.TotalRecords();
}

StoredGeneration LookAt(const fs::path& root, const std::string& name) {
  const Generation generation(root, name);
  StoredGeneration stored;
  stored.name = name;
  stored.directory = generation.Published();
  try {
    TakeManifest(stored);
  } catch (const Error& error) {
    stored.damage = error.message();
    stored.bytes = TakenBy(stored.directory).bytes;
  }
  auto used = ModificationTime(generation.LeaseLock());
  if (!used) used = ModificationTime(stored.directory / kManifestName);
  stored.used = used.value_or(WallTime());
  stored.leased_by = HoldersOf(generation.LeaseLock());
  stored.kept = IsKept(root, name);
  return stored;
}

/// A manifest that can be read and names another generation belongs to another staging.
bool IsOurs(const fs::path& root, const std::string& name) {
  try {
    return ParseManifest(ReadFile(root / name / kManifestName)).generation == name;
  } catch (const Error&) {
    return true;  // damaged, under a name that only Slipway makes
  }
}

std::vector<UnfinishedStaging> LookAtLeftovers(const fs::path& root) {
  std::vector<UnfinishedStaging> leftovers;
  for (const auto& entry : EntriesOf(root / ".staging")) {
    auto name = entry.filename().string();
    const Generation generation(root, GenerationOf(name));
    auto worker = generation.WhoStages();
    auto holders = worker ? HoldersOf(generation.StageLock()) : std::vector<LockHolder>();
    leftovers.push_back({std::move(name), TakenBy(entry).bytes, std::move(worker), std::move(holders)});
  }
  return leftovers;
}

}  // namespace

Inventory TakeInventory(const fs::path& root) {
  Inventory inventory;
  for (const auto& name : GenerationsIn(root)) {
    if (IsOurs(root, name)) inventory.generations.push_back(LookAt(root, name));
  }
  inventory.leftovers = LookAtLeftovers(root);
  return inventory;
}

std::vector<StoredGeneration> InOrderOfRemoval(std::vector<StoredGeneration> generations) {
  std::erase_if(generations, [](const StoredGeneration& generation) { return !generation.leased_by.empty(); });
  std::stable_sort(generations.begin(), generations.end(),
                   [](const auto& a, const auto& b) { return std::tie(a.kept, a.used) < std::tie(b.kept, b.used); });
  return generations;
}

}  // namespace slipway::staging
