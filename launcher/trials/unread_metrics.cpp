#include "launcher/trials/unread_metrics.h"

#include <fmt/format.h>

#include <array>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/files.h"
#include "core/metrics_line.h"
#include "core/text.h"

namespace slipway::launcher {
namespace {

/// As long as the pieces in which the manager takes a line (launcher/ranks/monitor/line_follower.cpp).
constexpr std::size_t kLongestQuotedLine = 64 * 1024;

/// Of a line that is longer than a piece.
std::string SkipRest(std::ifstream& lines) {
  lines.clear();
  lines.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  return fmt::format("it is longer than {} KiB", kLongestQuotedLine / 1024);
}

UnreadMetrics UnreadOf(const std::filesystem::path& file, const ensemble::AttemptRecord& attempt) {
  UnreadMetrics unread;
  unread.attempt = attempt.number;
  if (!IsRegularFile(file)) return unread;  // the open of a pipe would wait for its writer
  std::ifstream lines(file);
  std::array<char, kLongestQuotedLine + 1> line;
  for (std::int64_t number = 1; lines.getline(line.data(), line.size()) || lines.gcount() > 0; ++number) {
    if (lines.eof() && !attempt.ended) break;
    auto why = lines.fail() ? SkipRest(lines) : WhyNotAllRead(line.data());
    if (why.empty()) continue;
    if (++unread.lines > 1) continue;
    unread.first = number;
    unread.why = std::move(why);
  }
  return unread;
}

}  // namespace

std::vector<UnreadMetrics> FindUnreadMetrics(const std::filesystem::path& trial_folder,
                                             const std::vector<ensemble::AttemptRecord>& attempts) {
  std::vector<UnreadMetrics> all;
  for (const auto& attempt : attempts) {
    auto unread = UnreadOf(trial_folder / fmt::format("attempt-{}", attempt.number) / "metrics.jsonl", attempt);
    if (unread.lines > 0) all.push_back(std::move(unread));
  }
  return all;
}

std::string Describe(const UnreadMetrics& unread) {
  return fmt::format("{} of attempt {}'s metrics.jsonl could not be read; line {}: {}", Counted(unread.lines, "line"),
                     unread.attempt, unread.first, unread.why);
}

Json ToJson(const std::vector<UnreadMetrics>& all) {
  Json list = Json::array();
  for (const auto& unread : all) {
    list.push_back(
        {{"attempt", unread.attempt}, {"lines", unread.lines}, {"first", unread.first}, {"why", unread.why}});
  }
  return list;
}

}  // namespace slipway::launcher
