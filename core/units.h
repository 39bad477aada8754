/// Bytes and durations as users write and read them.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace slipway {

using Seconds = std::chrono::duration<double>;

/// A number of bytes.
struct Bytes {
  std::uint64_t count = 0;
  auto operator<=>(const Bytes&) const = default;
};

/// "64", "10 KiB", "1.5GB", "2GiB": KiB, MiB, GiB, TiB count 1024; K, M, G, T too; KB, MB, GB, TB count 1000.
/// Nothing for an unknown unit, a negative number, or one that does not fit 64 bits.
std::optional<Bytes> ParseBytes(std::string_view text);

/// "250ms", "30s", "20m", "2h", "1d", "1h30m", "90" (seconds), "01:30:00". Nothing for anything else.
std::optional<Seconds> ParseDuration(std::string_view text);

/// "512 B", "30.9 MB": decimal units, three digits.
std::string FormatBytes(Bytes bytes);
/// "0.8 ms", "12.3 s", "4m05s", "2h03m".
std::string FormatDuration(Seconds duration);
/// "1.4 GB/s".
std::string FormatRate(Bytes bytes, Seconds duration);

}  // namespace slipway
