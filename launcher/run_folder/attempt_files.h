/// What the folder of a past attempt tells: its metrics, and whether it had ended by itself.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "core/clock.h"
#include "core/metrics_line.h"
#include "core/process.h"
#include "launcher/spec/spec.h"

namespace slipway::launcher {

/// Where the attempt in `directory` begins to count the steps of metrics found in the output: behind the last one of
/// the attempts before, so that a run that goes on has one line of steps.
std::int64_t FirstCountedStep(const std::filesystem::path& directory);

/// All metrics of the attempt in `directory`, from metrics.jsonl or from what rank 0 printed.
std::vector<MetricsLine> ReadMetrics(const std::filesystem::path& directory, const MetricsSpec& source);

/// How each of the ranks of the attempt in `directory` ended; nothing for one that has not ended by itself.
std::vector<std::optional<ExitStatus>> ReadEnds(const std::filesystem::path& directory, int ranks);

/// The log of a rank of the attempt in `directory`.
std::filesystem::path RankLog(const std::filesystem::path& directory, int rank);

/// How the attempt ended, if every one of its ranks had ended by itself: a failed rank's status, else success.
std::optional<ExitStatus> ReadEnd(const std::filesystem::path& directory, int ranks);

/// Whether a rank that had ended by itself may have done so for want of room on the disk.
bool EndedOnFullDisk(const std::filesystem::path& directory, int ranks);

/// When the last of the ranks that had ended by themselves did, by the clock of the file system; nothing: none did.
std::optional<WallTime> TimeOfEnd(const std::filesystem::path& directory, int ranks);

}  // namespace slipway::launcher
