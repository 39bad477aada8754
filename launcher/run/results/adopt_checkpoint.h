/// A trial that begins with the weights of another gets a checkpoint of its own.
#pragma once

#include <filesystem>

#include "launcher/run/results/stage_out_queue.h"

namespace slipway::launcher {

/// Publishes the newest checkpoint of `parent` among `checkpoints`, too. The parent goes on meanwhile and forgets its
/// older ones, so nothing there can be relied on.
///
/// Returns its new directory; empty when the parent has none.
/// Cost:   the files are shared where the file system can, else copied; each is read once.
/// Errors: SystemError; Error(kEnvironment) when the parent's checkpoints are gone again and again before they can be
///         shared.
std::filesystem::path AdoptNewestCheckpoint(const AttemptPlace& parent, const std::filesystem::path& checkpoints);

}  // namespace slipway::launcher
