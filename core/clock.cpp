#include "core/clock.h"

#include <fmt/format.h>

#include <ctime>
#include <thread>

namespace slipway {
namespace {

/// Counts on while the machine sleeps, and is never set.
std::chrono::nanoseconds SinceBoot() {
  timespec time{};
  ::clock_gettime(CLOCK_BOOTTIME, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

class MachineClock final : public Clock {
 public:
  WallTime Now() override { return std::chrono::system_clock::now(); }
  SteadyTime Steady() override { return SteadyTime(SinceBoot()); }
  void Sleep(std::chrono::nanoseconds duration) override { std::this_thread::sleep_for(duration); }
};

std::time_t WholeSeconds(WallTime time) {
  return std::chrono::system_clock::to_time_t(std::chrono::floor<std::chrono::seconds>(time));
}

std::tm UtcFields(WallTime time) {
  const auto seconds = WholeSeconds(time);
  std::tm fields{};
  gmtime_r(&seconds, &fields);
  return fields;
}

}  // namespace

Clock& SystemClock() {
  static MachineClock clock;
  return clock;
}

std::string FormatUtc(WallTime time) {
  const auto fields = UtcFields(time);
  const auto since_second = time - std::chrono::floor<std::chrono::seconds>(time);
  const auto millis = std::chrono::duration_cast<std::chrono::milliseconds>(since_second).count();
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", fields.tm_year + 1900, fields.tm_mon + 1,
                     fields.tm_mday, fields.tm_hour, fields.tm_min, fields.tm_sec, millis);
}

std::string FormatLocal(WallTime time) {
  const auto seconds = WholeSeconds(time);
  std::tm fields{};
  localtime_r(&seconds, &fields);
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02}", fields.tm_year + 1900, fields.tm_mon + 1, fields.tm_mday,
                     fields.tm_hour, fields.tm_min, fields.tm_sec);
}

std::string FormatUtcCompact(WallTime time) {
  const auto fields = UtcFields(time);
  return fmt::format("{:04}{:02}{:02}-{:02}{:02}{:02}", fields.tm_year + 1900, fields.tm_mon + 1, fields.tm_mday,
                     fields.tm_hour, fields.tm_min, fields.tm_sec);
}

double UnixSeconds(WallTime time) { return std::chrono::duration<double>(time.time_since_epoch()).count(); }

}  // namespace slipway
