#include "launcher/cli/usage_error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "core/lines.h"
#include "core/nearest_word.h"
#include "launcher/cli/arguments.h"
#include "launcher/cli/numbers.h"

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

std::string NameOf(const CLI::Option& option) {
  return option.nonpositional() ? option.get_name() : fmt::format("argument '{}'", option.get_name());
}

bool IsFlag(const CLI::Option& option) { return option.get_items_expected_max() == 0; }

/// CLI11's errors do not say which option they mean: the first of these that fits the error is named. `word` is what
/// the command line has of it, "--limit=3", and `next` what follows; empty at the end.
using Complaint = std::string (*)(const CLI::Option& option, const std::string& word, const std::string& next);

std::string FirstComplaint(const CLI::App& command, const std::vector<std::string>& words, Complaint complaint) {
  const auto options = OptionsOf(command);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto name = words[i].substr(0, words[i].find('='));
    const auto found = std::ranges::find_if(
        options, [&](const auto* option) { return option->nonpositional() && option->check_name(name); });
    if (found == options.end()) continue;
    auto text = complaint(**found, words[i], i + 1 < words.size() ? words[i + 1] : "");
    if (!text.empty()) return text;
  }
  return {};
}

std::string TooMany(const CLI::App& command) {
  for (const auto* option : OptionsOf(command)) {
    const auto most = option->get_items_expected_max();
    const auto given = option->results().size();
    if (IsFlag(*option) || given <= static_cast<std::size_t>(most)) continue;
    return fmt::format("{} takes {} value{}, but {} are given", NameOf(*option), most, most == 1 ? "" : "s at most",
                       given);
  }
  return {};
}

std::string LacksValue(const CLI::Option& option, const std::string& word, const std::string& next) {
  const auto equals = word.find('=');
  const bool has_one = equals == std::string::npos ? !next.empty() && !IsOption(next) : equals + 1 < word.size();
  return has_one || IsFlag(option) ? "" : fmt::format("{} needs a value", NameOf(option));
}

std::string HasWrongValue(const CLI::Option& option, const std::string& word, const std::string&) {
  if (IsFlag(option)) return word.find('=') == std::string::npos ? "" : NameOf(option) + " takes no value";
  const auto kind = NumberKindOf(option);
  if (kind == NumberKind::kNone) return {};
  const bool any_number = kind == NumberKind::kAny;
  double number = 0;
  std::int64_t whole = 0;
  for (const auto& value : option.results()) {
    if (any_number ? ParseNumber(value, number) : ParseNumber(value, whole)) continue;
    return fmt::format("{}: '{}' is not {}, or too large", NameOf(option), value,
                       any_number ? "a number" : "a whole number");
  }
  return {};
}

/// Empty: neither kind of error, or no option is found for it.
std::string AboutAnOption(const CLI::App& command, const CLI::ParseError& error,
                          const std::vector<std::string>& words) {
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    const auto text = TooMany(command);
    return text.empty() ? FirstComplaint(command, words, LacksValue) : text;
  }
  const bool conversion = dynamic_cast<const CLI::ConversionError*>(&error) != nullptr;
  return conversion ? FirstComplaint(command, words, HasWrongValue) : "";
}

std::string TextOf(const CLI::App& app, const CLI::App& command, const CLI::ParseError& error,
                   const std::vector<std::string>& words) {
  const auto text = AboutAnOption(command, error, words);
  if (!text.empty()) return text;
  if (command.get_require_subcommand_min() > 0) return NoCommand(command, app.remaining(true));
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) return Unexpected(command, app.remaining(true));
  return error.what();
}

}  // namespace

Error UsageError(const CLI::App& app, const CLI::ParseError& error, const std::vector<std::string>& words) {
  std::string path = app.get_name();
  const auto* command = &app;
  while (!command->get_subcommands().empty()) {
    command = command->get_subcommands().front();
    path += " " + command->get_name();
  }
  return {ErrorKind::kUsage, TextOf(app, *command, error, words), path + " --help"};
}

}  // namespace slipway::launcher
