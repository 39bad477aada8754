/// Checks of numbers, durations and sizes. CLI11's own checks print the range of all doubles, and accept -1 for an
/// unsigned number. CLI11 reads an empty text as the number 0.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace slipway::launcher {

inline CLI::Validator NumberCheck(bool (*is_right)(double), const std::string& wanted, const std::string& name) {
  const auto check = [=](const std::string& text) {
    double number = 0;
    const bool right = CLI::detail::lexical_cast(text, number) && is_right(number);
    return right ? std::string() : text + ": must be " + wanted;
  };
  return {check, name};
}

/// For durations and sizes; all numbers have it by RefuseEmptyNumbers.
inline const CLI::Validator kNotEmpty{
    [](const std::string& text) { return text.empty() ? "the value is empty: is a shell variable not set?" : ""; }, ""};

/// Of an option with a value, as CLI11 names the types: "INT:INT in [1 - 64]", "UINT", "FLOAT", "TEXT".
enum class NumberKind { kNone, kWhole, kAny };

inline NumberKind NumberKindOf(const CLI::Option& option) {
  const auto type = option.get_type_name();
  if (type.starts_with("FLOAT")) return NumberKind::kAny;
  return type.starts_with("INT") || type.starts_with("UINT") ? NumberKind::kWhole : NumberKind::kNone;
}

/// Every number of `app` and of its commands refuses an empty text, before all other checks.
inline void RefuseEmptyNumbers(CLI::App& app) {
  for (auto* option : app.get_options()) {
    if (NumberKindOf(*option) != NumberKind::kNone) option->transform(kNotEmpty);
  }
  for (auto* command : app.get_subcommands([](CLI::App*) { return true; })) RefuseEmptyNumbers(*command);
}

inline const CLI::Validator kPositive = NumberCheck([](double number) { return number > 0; }, "above 0", "POSITIVE");
inline const CLI::Validator kNotNegative =
    NumberCheck([](double number) { return number >= 0; }, "0 or more", "NONNEGATIVE");

}  // namespace slipway::launcher
