#include "staging/copy/bandwidth.h"

#include <gtest/gtest.h>

namespace slipway::staging {
namespace {

/// Time passes only while somebody sleeps.
class PatientClock : public Clock {
 public:
  WallTime Now() override { return {}; }
  SteadyTime Steady() override { return now_; }
  void Sleep(std::chrono::nanoseconds duration) override { now_ += duration; }
  void Pass(std::chrono::nanoseconds duration) { now_ += duration; }
  double seconds() const { return Seconds(now_.time_since_epoch()).count(); }

 private:
  SteadyTime now_{std::chrono::seconds(100)};
};

TEST(BandwidthLimit, HoldsTheRateFromTheFirstByte) {
  PatientClock clock;
  BandwidthLimit limit(Bytes{1000}, clock);
  for (int i = 0; i < 11; ++i) limit.Take(Bytes{500}, [] {});
  EXPECT_NEAR(clock.seconds(), 105, 1e-6) << "10 requests of half a second each before the last was granted";
}

TEST(BandwidthLimit, APauseIsNotMadeUpForByABurst) {
  PatientClock clock;
  BandwidthLimit limit(Bytes{1000}, clock);
  limit.Take(Bytes{1000}, [] {});
  clock.Pass(std::chrono::seconds(50));
  for (int i = 0; i < 3; ++i) limit.Take(Bytes{1000}, [] {});
  EXPECT_NEAR(clock.seconds(), 152, 1e-6);
}

TEST(BandwidthLimit, AWaitCanBeEnded) {
  PatientClock clock;
  BandwidthLimit limit(Bytes{1}, clock);
  limit.Take(Bytes{1'000'000}, [] {});
  EXPECT_THROW(limit.Take(Bytes{1}, [] { throw 1; }), int);
  EXPECT_LT(clock.seconds(), 101);
}

TEST(BandwidthLimit, ZeroIsNoLimit) {
  PatientClock clock;
  BandwidthLimit limit(Bytes{0}, clock);
  for (int i = 0; i < 10; ++i) limit.Take(Bytes{1u << 30}, [] { FAIL(); });
  EXPECT_NEAR(clock.seconds(), 100, 1e-6);
}

}  // namespace
}  // namespace slipway::staging
