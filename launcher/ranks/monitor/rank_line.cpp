#include "launcher/ranks/monitor/rank_line.h"

#include <fmt/format.h>

namespace slipway::launcher {

std::string ShownLine(int rank, std::string_view line, LinePrefix prefix) {
  return prefix == LinePrefix::kRank ? fmt::format("[{}] {}", rank, line) : std::string(line);
}

}  // namespace slipway::launcher
