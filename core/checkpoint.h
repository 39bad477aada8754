/// Checkpoint directories: the one layout that trainers write and the launcher resumes from.
///
/// `<checkpoints>/step-000000001234/` holds any files and, written last, `manifest.json` with every file's size and
/// CRC32C. It is prepared as `.tmp-*` beside it and published by one rename. Only a directory with a valid
/// manifest counts.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.h"

namespace slipway {

struct CheckpointInfo {
  std::filesystem::path directory;
  std::uint64_t step = 0;
  double epoch = 0;
  int world_size = 1;
  std::string spec_hash;
  double seconds = 0;  ///< from the beginning until its files were safe; 0: not known
};

/// A file as a manifest names it.
struct CheckpointFile {
  std::filesystem::path name;  ///< relative; it lies within the checkpoint
  std::uint64_t bytes = 0;
  std::uint32_t crc32c = 0;
};

struct CheckpointManifest {
  CheckpointInfo info;
  std::vector<CheckpointFile> files;
};

/// The manifest of a directory, without a look at its files. Errors: Error saying why it does not count: missing, torn,
/// a member that is missing or of another type, a file outside.
CheckpointManifest LoadCheckpointManifest(const std::filesystem::path& directory);

/// The same; nothing when it does not count.
std::optional<CheckpointManifest> ReadCheckpointManifest(const std::filesystem::path& directory);

struct PublishedCheckpoint {
  std::uint64_t step = 0;
  std::filesystem::path directory;
};

/// Of its directory: "step-000000001234".
std::string CheckpointName(std::uint64_t step);

/// All that bear a checkpoint's name, newest first, valid or not.
std::vector<PublishedCheckpoint> PublishedCheckpoints(const std::filesystem::path& checkpoints);
/// The same for who decides by them what to remove: a directory that cannot be read is not an empty one. A missing one
/// is. Errors: SystemError.
std::vector<PublishedCheckpoint> AllPublishedCheckpoints(const std::filesystem::path& checkpoints);

/// A new private directory to write into. Leftovers of earlier, unfinished ones for the same step are removed.
std::filesystem::path BeginCheckpoint(const std::filesystem::path& checkpoints, std::uint64_t step);

/// Adds the manifest, syncs every file, publishes by rename and returns the final directory. `begun`: the start from
/// which the manifest's `seconds` are counted, instead of those of `info`. A checkpoint of the same step is replaced. A
/// crash meanwhile leaves one of the two, where the file system can exchange. Errors: Error: a link that leads out of
/// `prepared`, an epoch that is not finite, an unreadable file, a file's name that is not UTF-8; then nothing is
/// published.
std::filesystem::path CommitCheckpoint(const std::filesystem::path& prepared, const CheckpointInfo& info,
                                       std::optional<SteadyTime> begun = {});

/// Reads and verifies one directory; nothing when the manifest is missing, torn, or a file differs from it.
/// `on_piece` is called after every MiB that was read; an Error(kInterrupted) that it throws ends the reading.
std::optional<CheckpointInfo> ReadCheckpoint(const std::filesystem::path& directory,
                                             const std::function<void()>& on_piece = {});

/// Why ReadCheckpoint takes a directory for none: the file that is to blame. Empty for a valid one.
std::string DamageOf(const std::filesystem::path& directory);

/// For a checkpoint that is to be continued from. Errors: OtherVersionError that names it, when another version of
/// Slipway wrote its manifest. None for any other damage.
void RequireOwnVersion(const std::filesystem::path& directory);

/// The valid checkpoint with the highest step; older ones are tried when newer ones are torn.
std::optional<CheckpointInfo> NewestCheckpoint(const std::filesystem::path& checkpoints);
/// The same of several folders; of one step, that of the earlier folder. Cost: reads no older one than it returns.
std::optional<CheckpointInfo> NewestCheckpointOfAll(const std::vector<std::filesystem::path>& folders);

/// Removes what is older than the `keep` newest valid ones (at least one is kept), and unfinished leftovers. Torn ones
/// among the newest stay: a file that cannot be read now may be readable later.
///
/// Cost: reads the `keep` newest ones whole.
void PruneCheckpoints(const std::filesystem::path& checkpoints, int keep);

}  // namespace slipway
