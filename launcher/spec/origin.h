/// Where a value comes from, in the words of SpecDocument::origins and Step::origins.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace slipway::launcher {

/// No file and no option gave the value.
inline constexpr std::string_view kDefaultOrigin = "default";

/// Whether a settings file or an option gave the value: neither a line of `file` nor the default.
inline bool ComesFromElsewhere(std::string_view origin, const std::filesystem::path& file) {
  return origin != kDefaultOrigin && !origin.starts_with(file.string() + ":");
}

}  // namespace slipway::launcher
