#include "core/clock.h"

#include <gtest/gtest.h>
#include <sched.h>

#include "core/error.h"
#include "core/files.h"
#include "core/parse_utc.h"
#include "tests/support/privileges.h"

namespace slipway {
namespace {

using namespace std::chrono_literals;
using std::chrono::sys_days;

TEST(Clock, WritesUtcWithMilliseconds) {
  const WallTime time = sys_days(2026y / 11 / 21) + 6h + 49min + 123ms;
  EXPECT_EQ(FormatUtc(time), "2026-11-21T06:49:00.123Z");
  EXPECT_EQ(FormatUtcCompact(time), "20261121-064900");
}

TEST(Clock, RoundsDownAlsoBefore1970) {
  EXPECT_EQ(FormatUtc(WallTime(999'999us)), "1970-01-01T00:00:00.999Z");
  EXPECT_EQ(FormatUtc(WallTime(-1ms)), "1969-12-31T23:59:59.999Z");
}

TEST(Clock, DoesNotDependOnTheTimeZone) {
  ::setenv("TZ", "Asia/Tokyo", 1);
  ::tzset();
  EXPECT_EQ(FormatUtc(WallTime(0s)), "1970-01-01T00:00:00.000Z");
  ::unsetenv("TZ");
  ::tzset();
}

TEST(Clock, WritesTheLocalTimeForPeople) {
  ::setenv("TZ", "JST-9", 1);
  ::tzset();
  EXPECT_EQ(FormatLocal(sys_days(2026y / 11 / 21) + 16h + 49min + 999ms), "2026-11-22 01:49:00");
  ::unsetenv("TZ");
  ::tzset();
}

TEST(Clock, ReadsWhatItHasWritten) {
  const WallTime time = sys_days(2026y / 11 / 21) + 6h + 49min + 123ms;
  EXPECT_EQ(ParseUtc(FormatUtc(time)), time);
  for (const char* text : {"", "2026-11-21", "2026-13-21T06:49:00.123Z", "2026-11-21T06:49:00.123Z and more", "soon"}) {
    EXPECT_EQ(ParseUtc(text), std::nullopt) << text;
    EXPECT_EQ(UnixSecondsIn(text), std::nullopt) << text;
  }
  EXPECT_EQ(UnixSecondsIn("1970-01-01T00:00:02.500Z"), 2.5);
}

TEST(Clock, SecondsCarryTheirFraction) { EXPECT_DOUBLE_EQ(UnixSeconds(WallTime(1500ms)), 1.5); }

/// In a child of this process the machine was booted so much earlier. False where that is not allowed.
bool BootEarlier(std::chrono::seconds seconds) {
  constexpr int kNewTime = 0x80;  // CLONE_NEWTIME
  if (::unshare(kNewTime) != 0 && ::unshare(kNewTime | CLONE_NEWUSER) != 0) return false;
  try {
    WriteFile("/proc/self/timens_offsets", "boottime " + std::to_string(seconds.count()) + " 0");
  } catch (const SystemError&) {
    return false;
  }
  return true;
}

/// A machine that has slept counts less by the monotonic clock than by that of its boot.
TEST(Clock, CountsTheTimeThatTheMachineSleeps) {
  constexpr auto kAsleep = std::chrono::hours(1000);
  const auto before = SystemClock().Steady();
  if (!BootEarlier(kAsleep)) GTEST_SKIP() << "time namespaces are not allowed here";
  EXPECT_TRUE(test::Succeeded(test::InChild([&] {
    const auto passed = SystemClock().Steady() - before;
    return passed >= kAsleep && passed < kAsleep + std::chrono::minutes(1);
  })));
}

TEST(Clock, SleepsAtLeastAsLongAsAsked) {
  const auto start = SystemClock().Steady();
  SystemClock().Sleep(5ms);
  EXPECT_GE(SystemClock().Steady() - start, 5ms);
}

}  // namespace
}  // namespace slipway
