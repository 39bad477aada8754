/// Ranks and logs of a run, and what its plan says, for the screen.
#pragma once

#include <filesystem>
#include <vector>

#include "launcher/run_folder/run_folder.h"
#include "launcher/watch/watch_data.h"

namespace slipway::launcher::watch {

/// The ranks of the latest attempt: ends, times of steps, what the watch has found. `data` holds the run's view.
void ReadSingle(const RunFolder& folder, WatchData& data);
/// What of plan.json the view of a run does not hold; nothing of a file that cannot be read.
void ReadPlan(const RunFolder& folder, PlanGlance& plan);

/// The logs of all ranks of the latest attempt, at most 1,024.
std::vector<std::filesystem::path> RankLogsOf(const RunFolder& folder, const WatchData& data);
/// When each rank wrote last, and the latest line of times of the exchange.
void TakeSilence(const RunFolder& folder, WatchData& data);

/// The log that `interest` names.
std::filesystem::path LogFileOf(const RunFolder& folder, const Interest& interest, const WatchData& data);
/// Its end. Cost: 64 KiB.
LogTail ReadLog(const std::filesystem::path& file);

/// The rank that the others wait for: it waits least, and they wait for more than a twentieth of a step. Pure.
std::optional<int> Straggler(const StepsView& steps);

}  // namespace slipway::launcher::watch
