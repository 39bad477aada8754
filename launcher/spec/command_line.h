/// Expands a training command with the values of its arguments and of the run.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/json.h"
#include "ensemble/model/scalar.h"

namespace slipway::launcher {

/// The value of an argument: one, or a list for an option that takes several words.
using ArgumentValue = std::variant<ensemble::Scalar, std::vector<ensemble::Scalar>>;
/// In the order of the spec.
using ProgramArguments = std::vector<std::pair<std::string, ArgumentValue>>;

/// An object: name -> value.
Json ToJson(const ProgramArguments& args);
/// Errors: Error(kUsage) when it is not an object of scalars and lists of scalars.
ProgramArguments ArgumentsFromJson(const Json& json);

/// The names in `{name}` placeholders of one word, in order. `{{name}}` and `${name}` are no placeholders.
std::vector<std::string> Placeholders(std::string_view word);

/// The values of `{slipway.NAME}`: "slipway.workdir" -> "/runs/a-1/work".
using OwnValues = std::map<std::string, std::string, std::less<>>;

/// All existing names, "slipway.workdir" first, but those of datasets.
const std::vector<std::string>& OwnNames();
/// "slipway.data.train": the folder of that dataset, where all ranks have the same.
std::string OwnNameOfDataset(std::string_view dataset);
/// The name that has a value only for trials.
inline constexpr std::string_view kOwnTrial = "slipway.trial";
/// Whether it begins with "slipway.".
bool IsOwnName(std::string_view name);
/// The own names in any text, known or not.
std::vector<std::string> OwnPlaceholders(std::string_view text);
/// Replaces them in any text, where `{{slipway.trial}}` stands for `{slipway.trial}`; all other braces stay.
std::string ReplaceOwnNames(std::string_view text, const OwnValues& own);

/// Expands `command`. If it has a placeholder of an argument, all placeholders are replaced and nothing is added. Else
/// every argument follows: as `--name value`, a list as `--name` and a word for each element, and one that is named in
/// `flags` as `--name` where it is true and as nothing where it is false. A word that is only the placeholder of a list
/// becomes its elements; that of a flag becomes `--name`, or nothing where it is false or has no value. Own names are
/// always replaced. `{{name}}` becomes `{name}`. Other names without a value stay as they are.
std::vector<std::string> ExpandCommand(const std::vector<std::string>& command, const ProgramArguments& args,
                                       const std::vector<std::string>& flags = {}, const OwnValues& own = {});

/// The name in a word that is one placeholder and nothing else; empty: it is none.
std::string OnlyPlaceholder(std::string_view word);

}  // namespace slipway::launcher
