/// Diagnostic log for developers and bug reports, on stderr when SLIPWAY_LOG is debug, info or warn (default: off).
/// What a user must read goes through the Output port instead.
#pragma once

#include <fmt/core.h>

#include <string_view>

namespace slipway::log {

enum class Level { kDebug, kInfo, kWarn };

/// Errors: Error(kUsage) when SLIPWAY_LOG is no level.
void RequireKnownLevel();

/// Cheap when the level is off: nothing is formatted.
bool IsOn(Level level);
void Write(Level level, std::string_view line);

template <class... Values>
void Debug(fmt::format_string<Values...> format, Values&&... values) {
  if (IsOn(Level::kDebug)) Write(Level::kDebug, fmt::format(format, std::forward<Values>(values)...));
}

template <class... Values>
void Info(fmt::format_string<Values...> format, Values&&... values) {
  if (IsOn(Level::kInfo)) Write(Level::kInfo, fmt::format(format, std::forward<Values>(values)...));
}

template <class... Values>
void Warn(fmt::format_string<Values...> format, Values&&... values) {
  if (IsOn(Level::kWarn)) Write(Level::kWarn, fmt::format(format, std::forward<Values>(values)...));
}

}  // namespace slipway::log
