/// Reads the times that FormatUtc writes.
#pragma once

#include <optional>
#include <string>

#include "core/clock.h"

namespace slipway {

/// "2026-11-21T06:49:00.123Z", to the millisecond. Nothing for any other text.
std::optional<WallTime> ParseUtc(const std::string& text);
/// The same in seconds since 1970.
std::optional<double> UnixSecondsIn(const std::string& text);

}  // namespace slipway
