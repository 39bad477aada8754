/// Checks of numbers. CLI11's own checks print the range of all doubles, and accept -1 for an unsigned number.
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

inline const CLI::Validator kPositive = NumberCheck([](double number) { return number > 0; }, "above 0", "POSITIVE");
inline const CLI::Validator kNotNegative =
    NumberCheck([](double number) { return number >= 0; }, "0 or more", "NONNEGATIVE");

}  // namespace slipway::launcher
