/// What processes cost without Slipway: the limits that Slipway's trials are compared with.
#pragma once

#include <filesystem>
#include <string>

namespace slipway::bench {

/// posix_spawn and waitpid, `parallel` at a time; processes a second.
double BareSpawnRate(const std::string& program, int processes, int parallel);

/// The same, with everything that a trial leaves behind but without supervision. Each process gets its eight files and
/// folders in `folder`. A durable commit to SQLite separates the ends of some from the starts of the next.
double SpawnRateWithFiles(const std::string& program, const std::filesystem::path& folder, int processes, int parallel);

}  // namespace slipway::bench
