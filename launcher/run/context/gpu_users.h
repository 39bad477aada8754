/// Whether the processes on a GPU are those of a run.
#pragma once

#include <sys/types.h>

#include <string>

namespace slipway::launcher {

/// Whether this run, or one of its trials, has started the process: its SLIPWAY_RUN_DIR, or that of an ancestor, says
/// so. `run`: an id, or "ID/trials/3". False for processes that are gone or of another user.
/// Cost: two small files for each ancestor.
bool BelongsToRun(pid_t process, const std::string& run);

/// Whether processes have here the numbers by which the driver knows them. A container that numbers its processes by
/// itself gives them others.
bool SeesNumbersOfDriver();

}  // namespace slipway::launcher
