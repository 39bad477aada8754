/// `${NAME}` and `${NAME:-default}` in the values of a spec.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "launcher/spec/fields.h"
#include "launcher/spec/yaml_tree.h"

namespace slipway::launcher {

/// Value of an environment variable, or nothing.
using LookUp = std::function<std::optional<std::string>(const std::string& name)>;
std::optional<std::string> LookUpInEnvironment(const std::string& name);

/// Why a spec or a step cannot set an environment variable; empty: it can.
std::string WhyNotSettable(std::string_view variable);

/// References that stay as they are, for those who look them up later. `$${` stays then, too.
struct KeptReferences {
  /// Whether this text inside of ${} is one. Null: none is.
  bool (*keep)(std::string_view reference) = nullptr;
  /// The message on a text that is neither one nor a variable that is set; empty: it does not look like one.
  std::string (*why_not)(std::string_view reference) = nullptr;
};

/// Replaces the references in all values (not in keys); `$${` becomes `${`. As in a shell, the default of `:-` also
/// applies to an empty variable. It cannot hold references itself. A value is typed after the replacement, so `epochs:
/// ${EPOCHS:-3}` is a number. `field` is the field of `node`: paths of tiers and secrets stay as they are. Null: the
/// field is unknown.
void ExpandReferences(YamlNode& node, const FieldNode* field, const Sources& sources, const LookUp& look_up,
                      Report& report, KeptReferences kept = {});

}  // namespace slipway::launcher
