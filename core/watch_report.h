/// watch.json in an attempt's folder: why the job ended. The ranks write it, and for other nodes their manager.
#pragma once

#include <filesystem>
#include <string>

#include "core/json.h"

namespace slipway {

/// What becomes of a report that is there already.
enum class EarlierReport { kStays, kGoes };

/// Writes `members` with their schema and the time. Readers find a whole report or none. `writer`: no other process
/// that may write at the same time has it. Errors: SystemError.
void WriteWatchReport(const std::filesystem::path& path, const std::string& writer, const Json& members,
                      EarlierReport earlier = EarlierReport::kStays);

}  // namespace slipway
