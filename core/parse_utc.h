/// Reads times: as FormatUtc writes them, and as seconds since 1970.
#pragma once

#include <optional>
#include <string>

#include "core/clock.h"

namespace slipway {

/// "2026-11-21T06:49:00.123Z", to the millisecond. Nothing for any other text.
std::optional<WallTime> ParseUtc(const std::string& text);
/// The same in seconds since 1970.
std::optional<double> UnixSecondsIn(const std::string& text);
/// The reverse of UnixSeconds.
WallTime WallTimeAt(double unix_seconds);

}  // namespace slipway
