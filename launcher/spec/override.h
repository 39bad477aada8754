/// KEY=VALUE of the command line: one value to be laid over a tree.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/spec/source.h"
#include "launcher/spec/yaml_tree.h"

namespace slipway::launcher {

struct Override {
  std::string key;               ///< dotted
  std::vector<YamlEntry> parts;  ///< its names with their places, without values
  YamlNode value;
};

/// The names of a dotted key with their places in `source`, without values.
std::vector<YamlEntry> SplitKey(std::string_view key, int source);

/// Adds the text to `sources`. VALUE is YAML. Nothing when it is unusable; `report` then has the reason.
std::optional<Override> ParseOverride(const std::string& text, Sources& sources, Report& report);

/// Nested maps with the value inside.
YamlNode TreeOf(Override given);

}  // namespace slipway::launcher
