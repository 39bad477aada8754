/// Expands a training command with the values of its arguments and of the run.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ensemble/model/scalar.h"

namespace slipway::launcher {

/// The names in `{name}` placeholders of one word, in order. `{{name}}` and `${name}` are no placeholders.
std::vector<std::string> Placeholders(std::string_view word);

/// The values of `{slipway.NAME}`: "slipway.workdir" -> "/runs/a-1/work".
using OwnValues = std::map<std::string, std::string, std::less<>>;

/// All existing names, "slipway.workdir" first.
const std::vector<std::string>& OwnNames();
/// The name that has a value only for trials.
inline constexpr std::string_view kOwnTrial = "slipway.trial";
/// Whether it begins with "slipway.".
bool IsOwnName(std::string_view name);
/// The own names in any text, known or not.
std::vector<std::string> OwnPlaceholders(std::string_view text);
/// Replaces them in any text, where `{{slipway.trial}}` stands for `{slipway.trial}`; all other braces stay.
std::string ReplaceOwnNames(std::string_view text, const OwnValues& own);

/// Expands `command`. If it has a placeholder of an argument, all placeholders are replaced and nothing is added. Else
/// `--name value` follows for every argument. Own names are always replaced. `{{name}}` becomes `{name}`. Names without
/// a value stay as they are (LoadSpec has refused them).
std::vector<std::string> ExpandCommand(const std::vector<std::string>& command, const ensemble::Point& args,
                                       const OwnValues& own = {});

/// A value as one word: 0.001, sgd, true.
std::string ArgumentText(const ensemble::Scalar& value);

}  // namespace slipway::launcher
