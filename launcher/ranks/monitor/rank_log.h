/// The name of a rank's log.
#pragma once

#include <optional>
#include <string_view>

namespace slipway::launcher {

/// 3 for "rank-00003.log"; nothing for any other name.
std::optional<int> RankOfLog(std::string_view name);

}  // namespace slipway::launcher
