/// Carries out a staging plan: copy, check, publish, lease.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/files.h"
#include "core/units.h"
#include "staging/copy/copier.h"
#include "staging/formats/hdf5.h"
#include "staging/generation/found_files.h"
#include "staging/generation/generation.h"
#include "staging/plan/plan.h"

namespace slipway::staging {

struct StagedDataset {
  std::string name;
  std::filesystem::path directory;
  std::filesystem::path manifest;
  bool adopted = false;                 ///< it was there already
  Bytes copied;                         ///< read from the sources into the tier; 0 when adopted or read in place
  Bytes kept;                           ///< not copied: left by an earlier run that was interrupted, or found
  bool found = false;                   ///< there were files to be taken over (StageOptions::found)
  std::vector<MendedFile> mended = {};  ///< files that were missing or damaged, in the order of the plan
  std::optional<Hdf5Verification> own_sums = {};  ///< VerifyMode::kFull: what was compared inside HDF5 files
  Seconds elapsed{};
  std::optional<FileLock> lease;  ///< shared: keeps the generation from being removed while it is held
};

/// Stages `plan`, or adopts the generation when it is there and complete. Waits for another run that stages the same.
/// Files in StageOptions::found are moved there and checked (found_files.h); only what is missing or damaged is copied.
///
/// Result: a directory with the files and, written last, manifest.json. With tier `none` the files are links to the
///         sources. These are read and checked once (not with VerifyMode::kOff); `link_root` is required.
/// Cost:   one read of each source and one write; kFull reads the copy again. One syncfs where the tier is a disk.
/// Errors: Error(kEnvironment) naming the file or the tier: changed since the plan was made, damaged, no space.
///         Error(kInterrupted) when cancelled. Error(kBusy): a damaged copy that another run still uses. Also when
///         another machine stages the same, where locks do not count between machines. After any error nothing new is
///         published. A bad source or a full tier leaves nothing behind. Leftovers of kill -9, a cancel or a failing
///         network are taken over by the next Stage of the same plan; it reads only the missing blocks (resume.h).
///         Other leftovers are removed after kLeftoverAge, or earlier when space is short.
StagedDataset Stage(const StagingPlan& plan, const StageOptions& options = {});

}  // namespace slipway::staging
