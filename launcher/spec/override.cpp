#include "launcher/spec/override.h"

#include <algorithm>

namespace slipway::launcher {
namespace {

/// More than any field has; a tree of any depth could not even be destroyed.
constexpr std::ptrdiff_t kMostDots = 16;

}  // namespace

std::vector<YamlEntry> SplitKey(std::string_view key, int source) {
  std::vector<YamlEntry> parts;
  std::size_t start = 0;
  while (true) {
    const std::size_t end = std::min(key.find('.', start), key.size());
    const Place place{source, 1, static_cast<int>(start), static_cast<int>(end - start)};
    parts.push_back({std::string(key.substr(start, end - start)), place, {}});
    if (end == key.size()) return parts;
    start = end + 1;
  }
}

std::optional<Override> ParseOverride(const std::string& text, Sources& sources, Report& report) {
  const int source = sources.AddOverride(text);
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    report.Error({source, 1, 0, static_cast<int>(text.size())}, "expected KEY=VALUE, such as launch.nodes=2");
    return {};
  }
  const auto key_end = text.begin() + static_cast<std::ptrdiff_t>(equals);
  if (std::count(text.begin(), key_end, '.') > kMostDots) {
    report.Error({source, 1, 0, static_cast<int>(equals)}, "no field has such a long path");
    return {};
  }
  auto value = ParseYaml(sources, source, report, {equals + 1});
  if (!value) return {};
  Override result{text.substr(0, equals), SplitKey(std::string_view(text).substr(0, equals), source),
                  std::move(*value)};
  if (result.value.kind == YamlNode::Kind::kNull) result.value.place = result.parts.back().key_place;
  return result;
}

YamlNode TreeOf(Override given) {
  auto value = std::move(given.value);
  for (auto part = given.parts.rbegin(); part != given.parts.rend(); ++part) {
    YamlNode map;
    map.kind = YamlNode::Kind::kMap;
    map.place = part->key_place;
    part->value = std::move(value);
    map.entries.push_back(std::move(*part));
    value = std::move(map);
  }
  return value;
}

}  // namespace slipway::launcher
