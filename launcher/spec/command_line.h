/// The words of a training command with the values of its arguments.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ensemble/scalar.h"

namespace slipway::launcher {

/// The names in `{name}` placeholders of one word, in order. `{{name}}` and `${name}` are none.
std::vector<std::string> Placeholders(std::string_view word);

/// With any placeholder in `command` each is replaced by its value and nothing is added; without, `--name value`
/// follows for every argument. `{{name}}` becomes `{name}`. Names without a value stay as they are
/// (LoadSpec has refused them).
std::vector<std::string> ExpandCommand(const std::vector<std::string>& command, const ensemble::Point& args);

/// A value as one word: 0.001, sgd, true.
std::string ArgumentText(const ensemble::Scalar& value);

}  // namespace slipway::launcher
