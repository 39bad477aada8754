#include "launcher/ranks/monitor/unmatched_pattern.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "core/likeness.h"
#include "core/terminal_text.h"
#include "core/text.h"
#include "launcher/ranks/monitor/line_follower.h"
#include "launcher/ranks/monitor/log_tail.h"

namespace slipway::launcher {
namespace {

constexpr std::size_t kLinesLookedAt = 1000;
constexpr std::size_t kLinesQuoted = 3;
constexpr std::size_t kMostOfALine = 200;
constexpr std::size_t kShortestWord = 2;  // letters

bool IsLetter(char letter) { return std::isalpha(static_cast<unsigned char>(letter)) != 0; }

/// Its literal words and the names of its groups, without classes such as \S.
std::set<std::string> WordsOf(const std::string& pattern) {
  std::set<std::string> words;
  std::string word;
  for (std::size_t i = 0; i <= pattern.size(); ++i) {
    const bool is_letter = i < pattern.size() && IsLetter(pattern[i]);
    if (is_letter) {
      word += pattern[i];
      continue;
    }
    if (word.size() >= kShortestWord) words.insert(LowerCase(word));
    word.clear();
    if (i < pattern.size() && pattern[i] == '\\') ++i;
  }
  return words;
}

bool HasDigit(std::string_view line) {
  return std::ranges::any_of(line, [](unsigned char letter) { return std::isdigit(letter) != 0; });
}

std::size_t Nearness(const std::set<std::string>& words, const std::string& line) {
  const auto lower = LowerCase(line);
  const auto in_common =
      std::ranges::count_if(words, [&](const std::string& word) { return lower.find(word) != std::string::npos; });
  return 2 * static_cast<std::size_t>(in_common) + (HasDigit(line) ? 1 : 0);
}

std::vector<std::string> LastLinesOf(const std::filesystem::path& log) {
  auto lines = LinesOf(WithoutControls(LastLines(log, kLinesLookedAt)));
  for (auto& line : lines) line = line.substr(0, kMostOfALine);
  return lines;
}

}  // namespace

std::vector<std::string> NearestLines(const std::string& pattern, const std::vector<std::string>& lines) {
  const auto words = WordsOf(pattern);
  std::vector<std::pair<std::size_t, const std::string*>> rated;
  std::set<std::string> known;
  for (const auto& line : lines) {
    const auto nearness = Nearness(words, line);
    if (nearness > 0 && known.insert(WithoutPathsAndNumbers(line)).second) rated.emplace_back(nearness, &line);
  }
  std::ranges::stable_sort(rated, [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<std::string> nearest;
  for (const auto& [nearness, line] : rated) {
    if (nearest.size() == kLinesQuoted || nearness + 1 < rated.front().first) break;
    nearest.push_back(*line);
  }
  return nearest;
}

std::optional<UnmatchedPattern> FindUnmatched(const std::string& pattern, const std::filesystem::path& log) {
  PatternMetrics metrics(pattern);
  LineFollower(log, [&](std::string_view line) { metrics.Take(line); }).Finish();
  if (WhatIsWrong(metrics.tally()).empty()) return std::nullopt;
  return UnmatchedPattern{pattern, metrics.tally(), NearestLines(pattern, LastLinesOf(log))};
}

Json ToJson(const UnmatchedPattern& unmatched) {
  return Json{{"pattern", unmatched.pattern},
              {"lines", unmatched.tally.lines},
              {"matched", unmatched.tally.matched},
              {"why", WhatIsWrong(unmatched.tally)},
              {"nearest", unmatched.nearest}};
}

}  // namespace slipway::launcher
