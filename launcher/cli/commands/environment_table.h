/// The environment variables that users see: who reads or sets each, and its meaning.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace slipway::launcher {

enum class VariableUse {
  kCommands,      ///< read by `slipway`
  kProgram,       ///< set for the ranks of a training program
  kNotification,  ///< set for the command of a notification
  kLibraries      ///< read by libslipway, the batch reader and their helpers, in a run or outside of one
};

struct EnvironmentVariable {
  std::string_view name;  ///< <NAME> stands for the upper-case name of a dataset
  VariableUse use;
  std::string_view meaning;
};

/// In the order in which they are documented. A repo rule compares it with the sources.
std::span<const EnvironmentVariable> EnvironmentVariables();

/// docs/reference/environment.md. Pure.
std::string EnvironmentPage();

}  // namespace slipway::launcher
