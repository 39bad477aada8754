/// The words of a training command with the values of its arguments, and with what only the run knows.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ensemble/model/scalar.h"

namespace slipway::launcher {

/// The names in `{name}` placeholders of one word, in order. `{{name}}` and `${name}` are none.
std::vector<std::string> Placeholders(std::string_view word);

/// What `{slipway.NAME}` stands for: "slipway.workdir" -> "/runs/a-1/work".
using OwnValues = std::map<std::string, std::string, std::less<>>;

/// All names there are, "slipway.workdir" first.
const std::vector<std::string>& OwnNames();
/// The one that only trials have a value for.
inline constexpr std::string_view kOwnTrial = "slipway.trial";
/// Whether it begins as those do.
bool IsOwnName(std::string_view name);
/// The own names in any text, known or not.
std::vector<std::string> OwnPlaceholders(std::string_view text);
/// Replaces them in any text, where `{{slipway.trial}}` stands for `{slipway.trial}`; all other braces stay.
std::string ReplaceOwnNames(std::string_view text, const OwnValues& own);

/// With any placeholder of an argument in `command` each is replaced by its value and nothing is added; without,
/// `--name value` follows for every argument. Own names are replaced either way. `{{name}}` becomes `{name}`. Names
/// without a value stay as they are (LoadSpec has refused them).
std::vector<std::string> ExpandCommand(const std::vector<std::string>& command, const ensemble::Point& args,
                                       const OwnValues& own = {});

/// A value as one word: 0.001, sgd, true.
std::string ArgumentText(const ensemble::Scalar& value);

}  // namespace slipway::launcher
