#include "launcher/run/results/adopt_checkpoint.h"

#include <fmt/format.h>

#include "core/checkpoint.h"
#include "core/error.h"
#include "core/files.h"

namespace slipway::launcher {
namespace fs = std::filesystem;

namespace {

constexpr int kAdoptTries = 10;

/// False when it is gone.
bool ShareFile(const fs::path& from, const fs::path& to) {
  MakeDirectories(to.parent_path());
  std::error_code error;
  fs::create_hard_link(from, to, error);
  if (error) fs::copy_file(from, to, error);  // another file system, or one without links
  if (!error) return true;
  if (!fs::exists(from)) return false;
  throw SystemError(error.value(), fmt::format("cannot copy '{}' to '{}'", from.string(), to.string()));
}

bool ShareFiles(const fs::path& checkpoint, const fs::path& into) {
  const auto manifest = ReadCheckpointManifest(checkpoint);
  if (!manifest) return false;
  for (const auto& file : manifest->files) {
    if (!ShareFile(checkpoint / file.name, into / file.name)) return false;
  }
  return true;
}

}  // namespace

fs::path AdoptNewestCheckpoint(const AttemptPlace& parent, const fs::path& checkpoints) {
  MakeDirectories(checkpoints);
  for (int tries = 0; tries < kAdoptTries; ++tries) {
    const auto newest = NewestCheckpointOf(parent);
    RequireOwnVersions(parent, newest);
    if (!newest) return {};
    const auto prepared = BeginCheckpoint(checkpoints, newest->step);
    if (ShareFiles(newest->directory, prepared)) return CommitCheckpoint(prepared, *newest);
    fs::remove_all(prepared);
  }
  throw Error(
      ErrorKind::kEnvironment,
      fmt::format("the checkpoints in '{}' are replaced before they can be copied", parent.checkpoints.string()),
      "keep more of them: checkpoint.keep");
}

std::string NothingAdopted(std::int64_t trial, std::int64_t parent) {
  return fmt::format(
      "trial {} begins without the weights of trial {}: 'pbt' copies checkpoints that were written with "
      "slipway.checkpoint or slipway_checkpoint_commit, and there is none yet",
      trial, parent);
}

}  // namespace slipway::launcher
