#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "core/nearest_word.h"
#include "launcher/spec/checks.h"
#include "launcher/spec/notice_template.h"
#include "launcher/spec/tags.h"

namespace slipway::launcher {
namespace {

constexpr std::size_t kLongestTemplate = 16'384;
constexpr std::size_t kMostNotifications = 16;

void CheckDescription(Report& report, const Draft& draft) {
  const Json& text = draft.At("description");
  if (!text.is_string()) return;
  const auto why = WhyNoDescription(text.get<std::string>());
  if (!why.empty()) report.Error(draft.PlaceOf("description"), why);
}

void CheckTags(Report& report, const Draft& draft) {
  const Json& tags = draft.At("tags");
  if (!tags.is_array()) return;
  if (tags.size() > kMostTags) {
    report.Error(draft.PlaceOf("tags"), fmt::format("a run has at most {} tags, here are {}", kMostTags, tags.size()));
  }
  std::set<std::string> seen;
  for (std::size_t i = 0; i < tags.size(); ++i) {
    const auto place = draft.PlaceOf(fmt::format("tags[{}]", i));
    const auto tag = tags[i].get<std::string>();
    if (!IsTag(tag)) report.Error(place, DescribeTag());
    if (!seen.insert(tag).second) report.Error(place, fmt::format("the tag '{}' stands here twice", tag));
  }
}

/// Every placeholder is a field, and stands within a text.
void CheckTemplate(Report& report, const Place& place, const std::string& body) {
  if (body.size() > kLongestTemplate) {
    report.Error(place, fmt::format("a template has at most {} bytes", kLongestTemplate));
    return;
  }
  for (const auto& word : PlaceholdersIn(body)) {
    if (std::ranges::find(NoticeFields(), word) != NoticeFields().end()) continue;
    report.Error(place, fmt::format("a notification has no {{{}}}", word), NearestWord(word, NoticeFields()));
  }
  std::map<std::string, std::string> samples;
  for (const auto& field : NoticeFields()) samples[field] = "x";
  if (Json::parse(FillTemplate(body, samples), nullptr, false).is_discarded()) {
    report.Error(place,
                 "the template is no JSON once its placeholders are replaced; write for example '{\"text\": \"{run} "
                 "{state}\"}'");
  }
}

void CheckNotification(Report& report, const Draft& draft, const Json& entry, const std::string& path) {
  const auto has = [&](const char* field) { return entry.contains(field) && !entry[field].is_null(); };
  if (has("on") && entry["on"].empty()) report.Error(draft.PlaceOf(path + ".on"), "a notification about nothing");
  if (draft.failed.count(path + ".command") + draft.failed.count(path + ".webhook") > 0) return;
  if (has("command") == has("webhook")) {
    report.Error(draft.PlaceOf(path), "a notification has either a command or a webhook");
  }
  if (has("command") && (entry["command"].empty() || entry["command"][0] == "")) {
    report.Error(draft.PlaceOf(path + ".command"), "an empty command");
  }
  if (!has("template")) return;
  if (has("command")) report.Error(draft.PlaceOf(path + ".template"), "only a webhook has a template");
  CheckTemplate(report, draft.PlaceOf(path + ".template"), entry["template"].get<std::string>());
}

}  // namespace

void CheckNotes(Report& report, const Draft& draft) {
  CheckDescription(report, draft);
  CheckTags(report, draft);
  const Json& notify = draft.At("notify");
  if (!notify.is_array()) return;
  if (notify.size() > kMostNotifications) {
    report.Error(draft.PlaceOf("notify"), fmt::format("at most {} notifications are possible", kMostNotifications));
    return;
  }
  for (std::size_t i = 0; i < notify.size(); ++i) {
    if (notify[i].is_object()) CheckNotification(report, draft, notify[i], fmt::format("notify[{}]", i));
  }
}

}  // namespace slipway::launcher
