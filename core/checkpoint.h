/// Checkpoint directories: the one layout that trainers write and the launcher resumes from.
///
/// `<checkpoints>/step-000000001234/` holds any files and, written last, `manifest.json` with every file's size and
/// CRC32C. It is prepared as `.tmp-*` beside it and published by one rename. Only a directory with a valid
/// manifest counts.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace slipway {

struct CheckpointInfo {
  std::filesystem::path directory;
  std::uint64_t step = 0;
  double epoch = 0;
  int world_size = 1;
  std::string spec_hash;
};

/// A new private directory to write into. Leftovers of earlier, unfinished ones for the same step are removed.
std::filesystem::path BeginCheckpoint(const std::filesystem::path& checkpoints, std::uint64_t step);

/// Adds the manifest, syncs every file, publishes by rename and returns the final directory.
/// An existing valid checkpoint of the same step is replaced.
std::filesystem::path CommitCheckpoint(const std::filesystem::path& prepared, const CheckpointInfo& info);

/// Reads and verifies one directory; nothing when the manifest is missing, torn, or a file differs from it.
std::optional<CheckpointInfo> ReadCheckpoint(const std::filesystem::path& directory);

/// The valid checkpoint with the highest step; older ones are tried when newer ones are torn.
std::optional<CheckpointInfo> NewestCheckpoint(const std::filesystem::path& checkpoints);

/// Removes all but the `keep` newest valid ones (at least one is kept), and unfinished leftovers.
void PruneCheckpoints(const std::filesystem::path& checkpoints, int keep);

}  // namespace slipway
