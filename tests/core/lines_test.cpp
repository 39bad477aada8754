#include "core/lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

namespace slipway {
namespace {

using testing::ElementsAre;

std::vector<std::string> LinesIn(LineBuffer& lines) {
  std::vector<std::string> found;
  for (std::string_view line; lines.Next(line);) found.emplace_back(line);
  return found;
}

TEST(LineBuffer, GivesOutWholeLinesOnly) {
  LineBuffer lines;
  lines.Add("started 12 0\nexi");
  EXPECT_THAT(LinesIn(lines), ElementsAre("started 12 0"));
  lines.Add("ted 0 9\n\n");
  EXPECT_THAT(LinesIn(lines), ElementsAre("exited 0 9", ""));
  EXPECT_THAT(LinesIn(lines), ElementsAre());
}

TEST(LineBuffer, EndsAtALineThatIsTooLong) {
  LineBuffer lines(4);
  lines.Add("1234\n12345");
  EXPECT_THAT(LinesIn(lines), ElementsAre("1234"));
  EXPECT_TRUE(lines.overlong()) << "it need not come to its end";
  lines.Add("\nab\n");
  EXPECT_THAT(LinesIn(lines), ElementsAre());
}

RC_GTEST_PROP(LineBuffer, FindsTheSameLinesHoweverTheyArrive, ()) {
  const auto text = *rc::gen::container<std::string>(rc::gen::element('a', ' ', '\n', '\0', '7'));
  LineBuffer whole;
  whole.Add(text);
  LineBuffer torn;
  std::vector<std::string> found;
  for (std::size_t at = 0; at < text.size();) {
    const auto size = *rc::gen::inRange<std::size_t>(1, 6);
    torn.Add(std::string_view(text).substr(at, size));
    for (auto& line : LinesIn(torn)) found.push_back(std::move(line));
    at += size;
  }
  RC_ASSERT(found == LinesIn(whole));
}

TEST(LineWords, ReadsWordsAndNumbers) {
  LineWords words("exited 7 -9 1.5 ff node 3");
  EXPECT_EQ(words.Word(), "exited");
  EXPECT_EQ(words.Take<std::uint64_t>(), 7u);
  EXPECT_EQ(words.Take<int>(), -9);
  EXPECT_EQ(words.Take<double>(), 1.5);
  EXPECT_EQ(words.Take<std::uint32_t>(16), 255u);
  EXPECT_EQ(words.rest(), "node 3");
  EXPECT_FALSE(words.AtEnd());
  EXPECT_TRUE(words.good());
}

TEST(LineWords, RefusesWhatIsNoNumberAndStaysSo) {
  for (const auto* text : {"", "x", "1x", "+1", " 1", "0x1", "2147483648", "-2147483649", "1.0"}) {
    LineWords words(text);
    EXPECT_EQ(words.Take<int>(), 0) << text;
    EXPECT_FALSE(words.good()) << text;
  }
  LineWords words("x 2");
  words.Take<int>();
  EXPECT_EQ(words.Take<int>(), 0) << "nothing behind a wrong word counts";
  EXPECT_FALSE(words.AtEnd());
}

TEST(LineWords, KnowsTheEnd) {
  LineWords words("a 1");
  words.Word();
  EXPECT_FALSE(words.AtEnd());
  words.Take<int>();
  EXPECT_TRUE(words.AtEnd());
  words.Word();
  EXPECT_FALSE(words.good()) << "there is no third word";
}

TEST(ParseNumber, TakesNothingBesideTheNumber) {
  for (const auto* text : {"", "5 ", " 5", "5\n", "+5", "5x"}) {
    int value = 1;
    EXPECT_FALSE(ParseNumber(text, value)) << text;
    EXPECT_EQ(value, 1) << text;
    EXPECT_EQ(ParseNumber<int>(text), std::nullopt) << text;
  }
  EXPECT_EQ(ParseNumber<int>("1f", 16), 31);
}

RC_GTEST_PROP(LineWords, TakesEveryNumberThatIsWritten, (std::int64_t number)) {
  std::int64_t value = 0;
  RC_ASSERT(ParseNumber(std::to_string(number), value));
  RC_ASSERT(value == number);
}

}  // namespace
}  // namespace slipway
