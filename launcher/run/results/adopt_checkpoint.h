/// Gives a trial that starts with another trial's weights its own checkpoint.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "launcher/run/results/stage_out_queue.h"

namespace slipway::launcher {

/// Publishes the newest checkpoint of `parent` also in `checkpoints`. The parent runs on meanwhile and removes old
/// checkpoints, so its files may vanish.
///
/// Returns its new directory; empty when the parent has none.
/// Cost:   the files are shared where the file system can, else copied; each is read once.
/// Errors: SystemError; Error(kEnvironment) when the parent's checkpoints repeatedly vanish before they can be
///         shared.
std::filesystem::path AdoptNewestCheckpoint(const AttemptPlace& parent, const std::filesystem::path& checkpoints);

/// What to tell the user of `trial` when the trial `parent` had none.
std::string NothingAdopted(std::int64_t trial, std::int64_t parent);

}  // namespace slipway::launcher
