#include "launcher/cli/doctor/finding.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "core/error.h"

namespace slipway::launcher {
namespace {

/// In the order of Grade.
constexpr std::array<std::string_view, 3> kFindingNames = {"ok", "warn", "fail"};

Grade GradeOf(const std::string& name) {
  const auto* const found = std::find(kFindingNames.begin(), kFindingNames.end(), name);
  if (found == kFindingNames.end())
    throw Error(ErrorKind::kInternal, fmt::format("'{}' is no grade of a finding", name));
  return static_cast<Grade>(found - kFindingNames.begin());
}

std::size_t LongestAbout(const Findings& findings) {
  std::size_t longest = 0;
  for (const auto& finding : findings) longest = std::max(longest, finding.about.size());
  return longest;
}

}  // namespace

std::string_view NameOf(Grade grade) { return kFindingNames[static_cast<std::size_t>(grade)]; }

Finding Ok(std::string about, std::string text) { return {Grade::kOk, std::move(about), std::move(text), ""}; }

Finding Warn(std::string about, std::string text, std::string remedy) {
  return {Grade::kWarn, std::move(about), std::move(text), std::move(remedy)};
}

Finding Fail(std::string about, std::string text, std::string remedy) {
  return {Grade::kFail, std::move(about), std::move(text), std::move(remedy)};
}

Grade WorstOf(const Findings& findings) {
  auto worst = Grade::kOk;
  for (const auto& finding : findings) worst = std::max(worst, finding.grade);
  return worst;
}

Json ToJson(const Finding& finding) {
  return Json{
      {"grade", NameOf(finding.grade)}, {"about", finding.about}, {"text", finding.text}, {"remedy", finding.remedy}};
}

Finding FindingFromJson(const Json& document) try {
  return {GradeOf(document.at("grade").get<std::string>()), document.at("about").get<std::string>(),
          document.at("text").get<std::string>(), document.at("remedy").get<std::string>()};
} catch (const Json::exception& error) {
  throw Error(ErrorKind::kInternal, fmt::format("a finding is damaged: {}", error.what()));
}

std::string Describe(const Findings& findings) {
  const auto width = LongestAbout(findings);
  std::string text;
  for (const auto& finding : findings) {
    text += fmt::format("{:<4}  {:<{}}  {}\n", NameOf(finding.grade), finding.about, width, finding.text);
    if (!finding.remedy.empty()) text += fmt::format("{:<{}}  -> {}\n", "", width + 6, finding.remedy);
  }
  return text;
}

}  // namespace slipway::launcher
