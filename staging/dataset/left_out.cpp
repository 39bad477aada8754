#include "staging/dataset/left_out.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <vector>

#include "staging/dataset/utf8_name.h"

namespace slipway::staging {
namespace {

struct ReasonWords {
  LeftOutReason reason;
  std::string_view name;
  std::string_view one;
  std::string_view several;
};

constexpr std::array kReasons = {
    ReasonWords{LeftOutReason::kOtherContent, "other_content", "is of another format", "are of another format"},
    ReasonWords{LeftOutReason::kHidden, "hidden", "is hidden", "are hidden"},
    ReasonWords{LeftOutReason::kFolder, "folder", "is a folder", "are folders"},
    ReasonWords{LeftOutReason::kNoClass, "no_class", "is in no class folder", "are in no class folder"},
    ReasonWords{LeftOutReason::kLinkToFolder, "link_to_folder", "is a link to a folder", "are links to folders"},
    ReasonWords{LeftOutReason::kDanglingLink, "dangling_link", "is a dangling link", "are dangling links"},
    ReasonWords{LeftOutReason::kNotAFile, "not_a_file", "is a fifo, socket or device",
                "are fifos, sockets or devices"}};

const ReasonWords& WordsOf(LeftOutReason reason) { return *std::ranges::find(kReasons, reason, &ReasonWords::reason); }

/// "2 are of another format (README.md, notes.txt)"; empty when no file was left out for this reason.
std::string DescribeReason(const ReasonWords& words, std::span<const LeftOutFile> left_out) {
  constexpr std::size_t kMostNames = 5;
  std::size_t count = 0;
  std::vector<std::string> names;
  for (const auto& file : left_out) {
    if (file.reason != words.reason) continue;
    if (++count <= kMostNames) names.push_back(Utf8Name(file.path.filename().native()));
  }
  if (count == 0) return {};
  const auto more = count > kMostNames ? fmt::format(" and {} more", count - kMostNames) : "";
  return fmt::format("{} {} ({}{})", count, count == 1 ? words.one : words.several, fmt::join(names, ", "), more);
}

}  // namespace

std::string_view LeftOutReasonName(LeftOutReason reason) { return WordsOf(reason).name; }

std::string DescribeLeftOut(std::span<const LeftOutFile> left_out, std::size_t taken) {
  if (left_out.empty()) return {};
  std::vector<std::string> reasons;
  for (const auto& words : kReasons) reasons.push_back(DescribeReason(words, left_out));
  std::erase(reasons, "");
  return fmt::format("{} of {} files {} left out: {}", left_out.size(), left_out.size() + taken,
                     left_out.size() == 1 ? "is" : "are", fmt::join(reasons, ", "));
}

Json ToJson(std::span<const LeftOutFile> left_out) {
  Json list = Json::array();
  for (const auto& file : left_out) {
    list.push_back({{"path", Utf8Name(file.path.native())}, {"reason", LeftOutReasonName(file.reason)}});
  }
  return list;
}

}  // namespace slipway::staging
