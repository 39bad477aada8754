/// What processes cost without Slipway: the limits that its trials are held against.
#pragma once

#include <filesystem>
#include <string>

namespace slipway::bench {

/// posix_spawn and waitpid, `parallel` at a time; processes a second.
double BareSpawnRate(const std::string& program, int processes, int parallel);

/// The same with all that outlives a trial, and nothing that watches over one: its eight files and folders in `folder`,
/// and a durable commit to SQLite between the ends of some and the starts of the next.
double SpawnRateWithFiles(const std::string& program, const std::filesystem::path& folder, int processes, int parallel);

}  // namespace slipway::bench
