/// Reads the folder of a past attempt: its metrics, and the end of each rank.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "core/clock.h"
#include "core/json.h"
#include "core/metrics_line.h"
#include "core/process.h"
#include "launcher/spec/spec.h"

namespace slipway::launcher {

/// The first step of the attempt in `directory` when steps of printed metrics are counted. It follows the last step of
/// the earlier attempts, so the steps of a run are continuous.
std::int64_t FirstCountedStep(const std::filesystem::path& directory);

/// All metrics of the attempt in `directory`, from metrics.jsonl or from what rank 0 printed.
std::vector<MetricsLine> ReadMetrics(const std::filesystem::path& directory, const MetricsSpec& source);

/// The number of ranks in a plan.json. Errors: Error(kEnvironment) for one that no machine has: each rank is a file to
/// look for.
int PlannedRanks(const Json& plan);

/// How each rank of the attempt in `directory` ended; nothing for a rank that did not end by itself.
std::vector<std::optional<ExitStatus>> ReadEnds(const std::filesystem::path& directory, int ranks);

/// The log of a rank of the attempt in `directory`.
std::filesystem::path RankLog(const std::filesystem::path& directory, int rank);

/// How the attempt ended, if all its ranks ended by themselves: a failed rank's status, else success.
std::optional<ExitStatus> ReadEnd(const std::filesystem::path& directory, int ranks);

/// Whether the disk of a rank that ended by itself was full at its end.
bool EndedOnFullDisk(const std::filesystem::path& directory, int ranks);

/// When the last rank ended that ended by itself, by the clock of the file system; nothing when none did.
std::optional<WallTime> TimeOfEnd(const std::filesystem::path& directory, int ranks);

}  // namespace slipway::launcher
