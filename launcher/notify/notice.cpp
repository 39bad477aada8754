#include "launcher/notify/notice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/json_text.h"
#include "launcher/spec/notice_template.h"
#include "launcher/spec/secrets.h"

namespace slipway::launcher {
namespace {

std::map<std::string, std::string> NoticeFieldsOf(const Notice& notice) {
  return {{"run", notice.run},     {"name", notice.name},     {"event", std::string(WordOf(notice.event))},
          {"state", notice.state}, {"reason", notice.reason}, {"best", notice.best},
          {"trial", notice.trial}, {"folder", notice.folder}, {"host", notice.host}};
}

/// JSON has no word for NaN and the infinities.
Json NoticeMetric(double value) { return std::isfinite(value) ? Json(value) : Json(std::to_string(value)); }

}  // namespace

std::string TextOf(const Notice& notice) {
  if (notice.event == NotifyOn::kBest)
    return fmt::format("{}: best {} (trial {})", notice.run, notice.best, notice.trial);
  auto text = fmt::format("{}: {}", notice.run, notice.event == NotifyOn::kHang ? "ranks hang" : notice.state);
  if (!notice.reason.empty()) text += ": " + notice.reason;
  if (!notice.best.empty()) text += "; best " + notice.best;
  return text;
}

Json ToJson(const Notice& notice) {
  Json document{{"schema", "slipway.notification/1"}, {"text", TextOf(notice)}, {"time", notice.time}};
  for (const auto& [name, value] : NoticeFieldsOf(notice)) document[name] = value;
  document["metrics"] = Json::object();
  for (const auto& [name, value] : notice.metrics) document["metrics"][name] = NoticeMetric(value);
  return document;
}

std::string BodyFor(const NotifySpec& entry, const Notice& notice) {
  if (!entry.body.empty()) return FillTemplate(entry.body, NoticeFieldsOf(notice));
  return JsonText(ToJson(notice));
}

std::vector<std::pair<std::string, std::string>> VariablesFor(const Notice& notice) {
  return {{"SLIPWAY_EVENT", std::string(WordOf(notice.event))},
          {"SLIPWAY_RUN", notice.run},
          {"SLIPWAY_RUN_NAME", notice.name},
          {"SLIPWAY_RUN_DIR", notice.folder},
          {"SLIPWAY_STATE", notice.state},
          {"SLIPWAY_REASON", notice.reason},
          {"SLIPWAY_BEST", notice.best},
          {"SLIPWAY_BEST_TRIAL", notice.trial}};
}

std::optional<NotifyOn> EventFor(const NotifySpec& entry, const std::vector<NotifyOn>& events) {
  const auto found = std::ranges::find_if(
      events, [&](NotifyOn event) { return std::ranges::find(entry.on, event) != entry.on.end(); });
  return found == events.end() ? std::nullopt : std::optional(*found);
}

std::string Describe(const NotifySpec& entry) {
  if (!entry.webhook) return fmt::format("command '{}'", entry.command.front());
  if (entry.webhook->url.empty()) return "webhook $" + entry.webhook->variable;
  return "webhook " + MaskedUrl(entry.webhook->url);
}

}  // namespace slipway::launcher
