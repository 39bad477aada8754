#include "core/parse_utc.h"

#include <cstdio>
#include <ctime>

namespace slipway {

std::optional<WallTime> ParseUtc(const std::string& text) {
  std::tm fields{};
  int milliseconds = 0;
  int length = 0;
  const int read =
      std::sscanf(text.c_str(), "%4d-%2d-%2dT%2d:%2d:%2d.%3dZ%n", &fields.tm_year, &fields.tm_mon, &fields.tm_mday,
                  &fields.tm_hour, &fields.tm_min, &fields.tm_sec, &milliseconds, &length);
  if (read != 7 || static_cast<std::size_t>(length) != text.size()) return std::nullopt;
  fields.tm_year -= 1900;
  fields.tm_mon -= 1;
  const WallTime second = std::chrono::system_clock::from_time_t(::timegm(&fields));
  const WallTime time = second + std::chrono::milliseconds(milliseconds);
  return FormatUtc(time) == text ? std::optional(time) : std::nullopt;  // no month 13
}

std::optional<double> UnixSecondsIn(const std::string& text) {
  const auto time = ParseUtc(text);
  return time ? std::optional(UnixSeconds(*time)) : std::nullopt;
}

WallTime WallTimeAt(double unix_seconds) {
  return WallTime(std::chrono::duration_cast<WallTime::duration>(std::chrono::duration<double>(unix_seconds)));
}

}  // namespace slipway
