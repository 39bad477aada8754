#include "launcher/ranks/monitor/rank_log.h"

#include <fmt/format.h>

#include "core/lines.h"

namespace slipway::launcher {

std::optional<int> RankOfLog(std::string_view name) {
  if (!name.starts_with("rank-") || !name.ends_with(".log")) return {};
  return ParseNumber<int>(name.substr(5, name.size() - 9));
}

std::string ShownLine(int rank, std::string_view line, LinePrefix prefix) {
  return prefix == LinePrefix::kRank ? fmt::format("[{}] {}", rank, line) : std::string(line);
}

}  // namespace slipway::launcher
