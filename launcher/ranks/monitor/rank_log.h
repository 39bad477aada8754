/// The name of a rank's log, and how its lines are shown.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace slipway::launcher {

/// 3 for "rank-00003.log"; nothing for any other name.
std::optional<int> RankOfLog(std::string_view name);

enum class LinePrefix { kRank, kNone };

/// "[3] line", or the bare line.
std::string ShownLine(int rank, std::string_view line, LinePrefix prefix);

}  // namespace slipway::launcher
