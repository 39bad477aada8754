/// One step for each value of `foreach`.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "launcher/spec/source.h"
#include "launcher/spec/yaml_tree.h"
#include "launcher/workflow/reference.h"

namespace slipway::launcher {

/// A value of the file, or one that an earlier step will have.
using Item = std::variant<YamlNode, Reference>;

/// At most so many steps come from one `foreach`.
inline constexpr int kMostItems = 10'000;

/// The values of `foreach`. `instances` gives the number of steps of a group; nothing: it has no foreach.
/// Reports what is wrong; then it is empty.
std::vector<Item> ItemsOf(const YamlNode& foreach, Report& report,
                          const std::function<std::optional<int>(const std::string& group)>& instances);

/// Replaces `${item...}` and `${index}` in all values of a step.
void PutItem(YamlNode& tree, const Item& item, int index, Report& report);

/// Reports `${item...}` and `${index}` in a step without foreach.
void RefuseItems(const YamlNode& tree, Report& report);

}  // namespace slipway::launcher
