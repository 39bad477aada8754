/// How a line of a rank's log is shown.
#pragma once

#include <string>
#include <string_view>

namespace slipway::launcher {

enum class LinePrefix { kRank, kNone };

/// "[3] line", or the bare line.
std::string ShownLine(int rank, std::string_view line, LinePrefix prefix);

}  // namespace slipway::launcher
