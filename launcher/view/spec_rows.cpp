#include "launcher/view/spec_rows.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "launcher/spec/changes.h"

namespace slipway::launcher {
namespace {

Json ValueOf(const Json& spec, std::string_view key) {
  const auto* value = ValueAt(spec, key);
  return value == nullptr ? Json() : *value;
}

Json AsObject(const Json& spec) { return spec.is_object() ? spec : Json::object(); }

}  // namespace

std::vector<SpecRow> DifferingFields(const std::vector<Json>& specs) {
  std::vector<std::string> keys;
  for (std::size_t i = 1; i < specs.size(); ++i) {
    for (const auto& change : ChangesBetween(AsObject(specs.front()), AsObject(specs[i]))) {
      if (std::ranges::find(keys, change.key) == keys.end()) keys.push_back(change.key);
    }
  }
  std::vector<SpecRow> rows;
  for (const auto& key : keys) {
    rows.push_back({key, {}});
    for (const auto& spec : specs) rows.back().values.push_back(ValueOf(AsObject(spec), key));
  }
  return rows;
}

}  // namespace slipway::launcher
