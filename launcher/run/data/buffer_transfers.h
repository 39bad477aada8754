/// Carries out the directives of a job script instead of the batch system, for sites whose burst buffer is a script.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "core/units.h"
#include "staging/out/stage_out.h"

namespace slipway::launcher {

/// Checks the directives. `script`, here and below, is the text of a job script. Errors: those of ReadBufferRequest.
void CheckDirectives(const std::string& script);

/// Copies the files to stage in into the directory `buffer`, with checks (stage_out.h, copy_files.h).
/// Errors: those of ReadBufferRequest; Error(kEnvironment) before the first byte, when they exceed `capacity`; those of
/// copying, with their directive.
void CopyIntoBuffer(const std::string& script, const std::filesystem::path& buffer, std::optional<Bytes> capacity,
                    const staging::StageOutOptions& options);

/// Copies the files to stage out. Existing files at the destination stay unless they have the same name.
/// Result: everything that can be copied is copied, also of a directory with entries that cannot. Then one Error is
/// thrown for all transfers: it names the first few such entries, and each directive that failed.
void CopyOutOfBuffer(const std::string& script, const std::filesystem::path& buffer,
                     const staging::StageOutOptions& options);

}  // namespace slipway::launcher
