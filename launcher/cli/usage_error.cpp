#include "launcher/cli/usage_error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "core/nearest_word.h"
#include "launcher/cli/arguments.h"

namespace slipway::launcher {
namespace {

bool IsOption(const std::string& word) { return word.starts_with('-'); }

/// Those of the command and of the commands above it.
std::vector<const CLI::Option*> OptionsOf(const CLI::App& command) {
  std::vector<const CLI::Option*> options;
  for (const auto* app = &command; app != nullptr; app = app->get_parent()) {
    const auto own = app->get_options();
    options.insert(options.end(), own.begin(), own.end());
  }
  return options;
}

std::string UnknownOption(const CLI::App& command, const std::string& written) {
  std::vector<std::string> names;
  for (const auto* option : OptionsOf(command)) {
    if (option->get_group().empty()) continue;
    for (const auto& name : option->get_lnames()) names.push_back("--" + name);
  }
  const auto word = written.substr(0, written.find('='));
  const auto nearest = NearestWord(word, names);
  return fmt::format("unknown option '{}'{}", word,
                     nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest));
}

/// When a command of `parent` is missing, or one of `words` is no known command.
std::string NoCommand(const CLI::App& parent, const std::vector<std::string>& words) {
  const auto word = std::ranges::find_if_not(words, IsOption);
  if (word == words.end()) return words.empty() ? "a command is missing" : UnknownOption(parent, words.front());
  std::vector<std::string> names;
  for (const auto* command : parent.get_subcommands(IsForUsers)) names.push_back(command->get_name());
  return fmt::format("unknown command '{}'{}", *word, SuggestWord(*word, names));
}

std::string Unexpected(const CLI::App& command, const std::vector<std::string>& words) {
  const auto option = std::ranges::find_if(words, IsOption);
  if (option != words.end()) return UnknownOption(command, *option);
  return fmt::format("unexpected argument '{}'", fmt::join(words, " "));
}

/// The option with whose name, after `before`, the parser's words begin.
const CLI::Option* OptionIn(const CLI::App& command, const CLI::ParseError& error, const std::string& before,
                            const std::string& after) {
  const std::string_view words = error.what();
  const auto options = OptionsOf(command);
  const auto found = std::ranges::find_if(
      options, [&](const auto* option) { return words.starts_with(before + option->get_name() + after); });
  return found == options.end() ? nullptr : *found;
}

std::string NameOf(const CLI::Option& option) {
  return option.nonpositional() ? option.get_name() : fmt::format("argument '{}'", option.get_name());
}

std::string WrongCount(const CLI::Option& option) {
  const auto most = option.get_items_expected_max();
  const auto given = option.results().size();
  if (given <= static_cast<std::size_t>(most)) return fmt::format("{} needs a value", NameOf(option));
  return fmt::format("{} takes {} value{}, but {} are given", NameOf(option), most, most == 1 ? "" : "s at most",
                     given);
}

std::string WrongType(const CLI::Option& option) {
  if (option.get_items_expected_max() == 0) return fmt::format("{} takes no value", NameOf(option));
  const auto kind = option.get_type_name().starts_with("FLOAT") ? "a number" : "a whole number";
  return fmt::format("{}: '{}' is not {}, or too large", NameOf(option), fmt::join(option.results(), " "), kind);
}

std::string TextOf(const CLI::App& app, const CLI::App& command, const CLI::ParseError& error) {
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    if (const auto* option = OptionIn(command, error, "", ": ")) return WrongCount(*option);
  }
  if (dynamic_cast<const CLI::ConversionError*>(&error) != nullptr) {
    if (const auto* option = OptionIn(command, error, "Could not convert: ", " = ")) return WrongType(*option);
  }
  if (command.get_require_subcommand_min() > 0) return NoCommand(command, app.remaining(true));
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) return Unexpected(command, app.remaining(true));
  return error.what();
}

}  // namespace

Error UsageError(const CLI::App& app, const CLI::ParseError& error) {
  std::string path = app.get_name();
  const auto* command = &app;
  while (!command->get_subcommands().empty()) {
    command = command->get_subcommands().front();
    path += " " + command->get_name();
  }
  return {ErrorKind::kUsage, TextOf(app, *command, error), path + " --help"};
}

}  // namespace slipway::launcher
