#include "launcher/ranks/monitor/rank_log.h"

#include <fmt/format.h>

#include <charconv>

namespace slipway::launcher {

std::optional<int> RankOfLog(std::string_view name) {
  if (!name.starts_with("rank-") || !name.ends_with(".log")) return {};
  const auto digits = name.substr(5, name.size() - 9);
  int rank = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), rank);
  if (error != std::errc() || end != digits.data() + digits.size()) return {};
  return rank;
}

std::string ShownLine(int rank, std::string_view line, LinePrefix prefix) {
  return prefix == LinePrefix::kRank ? fmt::format("[{}] {}", rank, line) : std::string(line);
}

}  // namespace slipway::launcher
