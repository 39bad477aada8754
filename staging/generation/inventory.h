/// The content of a tier: published generations, their users, and leftovers.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/lock_holders.h"
#include "core/units.h"
#include "staging/dataset/verify_mode.h"
#include "staging/formats/stream_check.h"

namespace slipway::staging {

/// A published generation, by its manifest.
struct StoredGeneration {
  std::string name;
  std::filesystem::path directory;
  std::string damage;  ///< why its manifest cannot be read; then the following is empty, except `bytes`
  std::string dataset;
  DataFormat format = DataFormat::kRaw;
  VerifyMode verify = VerifyMode::kFormat;
  std::string created;  ///< UTC, ISO 8601
  std::size_t files = 0;
  Bytes bytes;  ///< of its files; of a damaged one what it takes on the disk
  std::optional<std::uint64_t> records;
  WallTime used;                      ///< when it was last taken into use
  std::vector<LockHolder> leased_by;  ///< processes of this machine
  bool kept = false;                  ///< outlives the runs that use it (MarkKept)
};

/// Something in .staging: at work, or interrupted.
struct UnfinishedStaging {
  std::string name;
  Bytes bytes;                        ///< on the disk
  std::optional<std::string> worker;  ///< the process that works on it, in words; nothing: a leftover
  std::vector<LockHolder> staged_by;  ///< the processes of this machine among them
};

struct Inventory {
  std::vector<StoredGeneration> generations;  ///< by name
  std::vector<UnfinishedStaging> leftovers;   ///< by name
};

/// Reads without locking or changing anything; a root that does not exist holds nothing.
/// Cost: reads every manifest, walks through the leftovers.
Inventory TakeInventory(const std::filesystem::path& root);

/// The generations without a user, in the order in which they are removed to free space. Those without the mark of kept
/// ones come first; among them those last used longest ago. Pure.
std::vector<StoredGeneration> InOrderOfRemoval(std::vector<StoredGeneration> generations);

}  // namespace slipway::staging
