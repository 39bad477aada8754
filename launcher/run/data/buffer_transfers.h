/// Carries out what the directives of a job script ask for, in the place of the batch system: for sites whose burst
/// buffer is a script.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "core/units.h"
#include "staging/out/stage_out.h"

namespace slipway::launcher {

/// `script`, here and below, is the text of a job script. Errors: those of ReadBufferRequest.
void CheckDirectives(const std::string& script);

/// Copies what is to be staged in into the directory `buffer`, checked (stage_out.h, copy_files.h).
/// Errors: those of ReadBufferRequest; Error(kEnvironment) when it is more than `capacity`, before the first byte;
/// those of copying, with the directive that they belong to.
void CopyIntoBuffer(const std::string& script, const std::filesystem::path& buffer, std::optional<Bytes> capacity,
                    const staging::StageOutOptions& options);

/// Copies what is to be staged out; what lies at the destination already stays unless it has the same name.
/// Result: all that can be copied is, and then the first error is thrown.
void CopyOutOfBuffer(const std::string& script, const std::filesystem::path& buffer,
                     const staging::StageOutOptions& options);

}  // namespace slipway::launcher
