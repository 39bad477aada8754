/// What a shim has written of its program's end: for a manager that was not connected, or that lost the shim before its
/// last line.
#pragma once

#include <filesystem>
#include <optional>

#include "core/process.h"

namespace slipway::launcher {

struct ExitRecord {
  ExitStatus status;
  bool disk_full = false;
};

/// That of `rank` in the folder of an attempt. Nothing where the program has not ended by itself, or the record is
/// torn. Errors: SystemError when it cannot be read. Source: WriteExitRecord (launcher/ranks/shim/ending.h).
std::optional<ExitRecord> ReadExitRecord(const std::filesystem::path& directory, int rank);

/// FORMAT with the folder and the number of the rank: kExitName, kLogName of launcher/ranks/shim/protocol.h.
std::filesystem::path FileOfRank(const char* format, const std::filesystem::path& directory, int rank);

}  // namespace slipway::launcher
