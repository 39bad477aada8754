#include "launcher/plan/origins.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace slipway::launcher {
namespace {

/// The value at a dotted path; null for one that leads nowhere, as a path through a list does.
const Json* ValueAt(const Json& values, std::string_view path) {
  const Json* value = &values;
  while (!path.empty()) {
    const auto dot = std::min(path.find('.'), path.size());
    const std::string key(path.substr(0, dot));
    if (!value->is_object() || !value->contains(key)) return nullptr;
    value = &(*value)[key];
    path.remove_prefix(std::min(dot + 1, path.size()));
  }
  return value;
}

bool IsElsewhere(const SpecDocument& document, const std::string& origin) {
  return origin != "default" && !origin.starts_with(document.file.string() + ":");
}

std::string TextOf(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string DescribeOrigins(const SpecDocument& document) {
  std::string text;
  for (const auto& [path, origin] : document.origins) {
    const auto* value = ValueAt(*document.resolved, path);
    // A section stands in its fields' lines.
    if (value == nullptr || value->is_object() || !IsElsewhere(document, origin)) continue;
    text += fmt::format("  {}: {} ({})\n", path, TextOf(*value), origin);
  }
  return text.empty() ? text : "settings:\n" + text + "\n";
}

}  // namespace slipway::launcher
