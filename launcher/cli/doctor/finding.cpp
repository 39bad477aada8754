#include "launcher/cli/doctor/finding.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/json_fields.h"

namespace slipway::launcher {
namespace {

std::size_t LongestAbout(const Findings& findings) {
  std::size_t longest = 0;
  for (const auto& finding : findings) longest = std::max(longest, finding.about.size());
  return longest;
}

}  // namespace

WordTable<Grade> WordsOf(Grade) {
  static constexpr Word<Grade> kWords[] = {{Grade::kOk, "ok"}, {Grade::kWarn, "warn"}, {Grade::kFail, "fail"}};
  return kWords;
}

template <class Visitor, MaybeConst<Finding> Struct>
void Visit(Visitor& visit, Struct& finding) {
  visit("grade", finding.grade);
  visit("about", finding.about);
  visit("text", finding.text);
  visit("remedy", finding.remedy);
}

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

Json ToJson(const Findings& findings) { return WriteFields(findings); }

Findings FindingsFromJson(const Json& document) {
  return ReadFields<Findings>(document, {"a list of findings", ErrorKind::kInternal});
}

std::string Describe(const Findings& findings) {
  const auto width = LongestAbout(findings);
  std::string text;
  for (const auto& finding : findings) {
    text += fmt::format("{:<4}  {:<{}}  {}\n", WordOf(finding.grade), finding.about, width, finding.text);
    if (!finding.remedy.empty()) text += fmt::format("{:<{}}  -> {}\n", "", width + 6, finding.remedy);
  }
  return text;
}

}  // namespace slipway::launcher
