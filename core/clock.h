/// The clock port: everything that reads time or sleeps goes through it, so that tests can fake it.
#pragma once

#include <chrono>
#include <string>

namespace slipway {

using WallTime = std::chrono::system_clock::time_point;
using SteadyTime = std::chrono::steady_clock::time_point;

class Clock {
 public:
  virtual ~Clock() = default;
  virtual WallTime Now() = 0;
  virtual SteadyTime Steady() = 0;
  virtual void Sleep(std::chrono::nanoseconds duration) = 0;
};

/// The machine's clock.
Clock& SystemClock();

/// "2026-11-21T06:49:00.123Z".
std::string FormatUtc(WallTime time);
/// "2026-11-21 07:49:00" in the time zone of this process, for people.
std::string FormatLocal(WallTime time);
/// "20261121-064900" in UTC, for names of files and folders.
std::string FormatUtcCompact(WallTime time);
/// Seconds since 1970 with fraction, the form in JSON documents.
double UnixSeconds(WallTime time);

}  // namespace slipway
