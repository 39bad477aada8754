#include "launcher/watch/plot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/terminal_columns.h"

namespace slipway::launcher::watch {
namespace {

using testing::HasSubstr;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::string Picture(const std::vector<Dot>& dots, Scale scale = Scale::kLinear) {
  Frame frame(5, 21);
  DrawPlot(frame, {0, 0, 5, 21}, {{dots, Style::kAccent}}, scale);
  return frame.Text();
}

TEST(APlot, RisesFromTheLowerLeftToTheUpperRight) {
  EXPECT_EQ(Picture({{0, 0}, {20, 16}}),
            "        16│       ⢀⠤⠊\n"
            "          │     ⡠⠔⠁\n"
            "          │  ⢀⠔⠊\n"
            "         0│⡠⠒⠁\n"
            "           0       20\n");
}

TEST(APlot, LeavesGapsWhereNothingIsFinite) {
  const auto text = Picture({{0, 1}, {1, kNaN}, {2, kInfinity}, {3, 2}});
  EXPECT_THAT(text, HasSubstr("2│"));
  EXPECT_THAT(Picture({{0, kNaN}, {1, -kInfinity}}), HasSubstr("no value to draw yet"));
  EXPECT_THAT(Picture({}), HasSubstr("no value to draw yet"));
}

TEST(APlot, DrawsTheLargestNumbersThereAre) {
  const double most = std::numeric_limits<double>::max();
  EXPECT_THAT(Picture({{0, -most}, {1, most}}), HasSubstr("1.7977e+3"));
  EXPECT_THAT(Picture({{-most, 1}, {most, 2}}), HasSubstr("│"));
}

TEST(APlot, DrawsPowersOfTenOnALogScale) {
  const auto text = Picture({{0, 0.001}, {1, 0}, {2, 1000}}, Scale::kLog);
  EXPECT_THAT(text, HasSubstr("1000│"));
  EXPECT_THAT(text, HasSubstr("0.001│"));
}

TEST(APlot, DrawsOneValueInTheMiddle) { EXPECT_THAT(Picture({{5, 3}}), HasSubstr("3│")); }

TEST(APlot, DrawsNothingWithoutRoom) {
  Frame frame(2, 10);
  DrawPlot(frame, {0, 0, 2, 10}, {{{{0, 0}, {1, 1}}, Style::kAccent}});
  EXPECT_EQ(frame.Text(), "\n\n");
}

TEST(ASparkline, ShowsEachLevel) {
  const std::vector<double> values = {0, 1, 2, 3, 4, 5, 6, 7, 8};
  EXPECT_EQ(Sparkline(values, 9), "▁▂▃▄▅▆▇██");
}

TEST(ASparkline, TakesMeansOfManyValuesAndSkipsWhatIsNotFinite) {
  std::vector<double> values(1000, 1.0);
  values[0] = kNaN;
  values.back() = 3;
  EXPECT_EQ(WidthOf(Sparkline(values, 12)), 12);
  EXPECT_EQ(Sparkline(std::vector<double>{kNaN, kInfinity}, 12), "");
  EXPECT_EQ(Sparkline(std::vector<double>{2}, 12), "▅");
}

TEST(ABar, StaysWithinItsColumns) {
  EXPECT_EQ(Bar(0.5, 4), "██░░");
  EXPECT_EQ(Bar(7, 4), "████");
  EXPECT_EQ(Bar(-1, 4), "░░░░");
}

}  // namespace
}  // namespace slipway::launcher::watch
