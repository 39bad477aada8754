/// Reads a published generation again and lists the bytes that have changed since it was staged.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/units.h"
#include "staging/copy/copier.h"

namespace slipway::staging {

/// One thing that is wrong. A bad copy is not mended: it is removed and staged again, when no run uses it.
struct Damage {
  std::string file;          ///< relative to the generation
  std::uint64_t offset = 0;  ///< where the bad block begins; 0 where the whole file is meant
  Bytes bytes;               ///< length of the bad block; 0 where the whole file is meant
  std::string reason;        ///< "its bytes are not those that were staged (CRC32C)"
};

struct Verification {
  std::string generation;
  std::uint64_t files = 0;
  Bytes bytes;                 ///< read
  std::vector<Damage> damage;  ///< in the order of the manifest; empty: all is as it was staged
};

/// Compares a generation with its manifest: sizes, the CRC32C of every block, record counts and the record index.
/// TFRecords and HDF5 are also checked by their format, unless they were staged with `verify: off`. Reads from the
/// medium where the file system can (O_DIRECT). Files that were never read when they were staged (tier `none`, `verify:
/// off`) have no CRCs: only their size is compared.
///
/// Cost:   one read of everything, min(4, processors) files at once.
/// Errors: SystemError; Error(kEnvironment) when no manifest can be read; what `progress` throws.
Verification VerifyGeneration(const std::filesystem::path& directory,
                              const std::function<void(const StageProgress&)>& progress = {});

}  // namespace slipway::staging
