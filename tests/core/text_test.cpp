#include "core/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/json_text.h"
#include "core/utf8_character.h"

namespace slipway {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(OnOneLine, HasASpaceForEachControlCharacter) {
  EXPECT_EQ(OnOneLine("a\nb\r\tc\x1b[31m\x7f"), "a b  c [31m ");
  EXPECT_EQ(OnOneLine("val loss/\xC3\xA9"), "val loss/\xC3\xA9");
}

TEST(FirstLine, EndsAtTheFirstLineBreak) {
  EXPECT_EQ(FirstLine("one\ntwo"), "one");
  EXPECT_EQ(FirstLine("one"), "one");
  EXPECT_EQ(FirstLine("\ntwo"), "");
}

TEST(LastLine, LeavesOutBlankLinesAndEarlierStatesOfALine) {
  EXPECT_EQ(LastLine("one\ntwo"), "two");
  EXPECT_EQ(LastLine("one\ntwo \r\n\n \n"), "two");
  EXPECT_EQ(LastLine("10 %\r20 %\r\n"), "20 %");
  EXPECT_EQ(LastLine("one"), "one");
  for (const char* blank : {"", "\n", " \r\n"}) EXPECT_EQ(LastLine(blank), "");
}

TEST(Counted, HasAPluralForAllButOne) {
  EXPECT_EQ(Counted(0, "node"), "0 nodes");
  EXPECT_EQ(Counted(1, "node"), "1 node");
  EXPECT_EQ(Counted(std::size_t{2}, "node"), "2 nodes");
}

TEST(JoinEach, HasTheSeparatorBetweenOnly) {
  const auto number = [](int each) { return std::to_string(each); };
  EXPECT_EQ(JoinEach(std::vector<int>{}, ", ", number), "");
  EXPECT_EQ(JoinEach(std::vector{7}, ", ", number), "7");
  EXPECT_EQ(JoinEach(std::vector{7, 8, 9}, ", ", number), "7, 8, 9");
  EXPECT_EQ(JoinEach(std::vector{1, 2}, ",", [](int) { return ""; }), ",") << "an empty text is one, too";
}

TEST(WholeCharacters, CutBeforeACharacterThatDoesNotFit) {
  EXPECT_EQ(WholeCharacters("ab\xC3\xA9", 4), "ab\xC3\xA9");
  EXPECT_EQ(WholeCharacters("ab\xC3\xA9", 3), "ab");
  EXPECT_EQ(WholeCharacters("ab\xC3\xA9", 2), "ab");
  EXPECT_EQ(WholeCharacters("\xC3\xA9", 1), "");
}

TEST(LinesOf, KeepsEmptyLinesWithinTheText) {
  EXPECT_THAT(LinesOf("a\n\nb\n"), ElementsAre("a", "", "b"));
  EXPECT_THAT(LinesOf("a"), ElementsAre("a"));
  EXPECT_THAT(LinesOf(""), IsEmpty());
}

TEST(Trim, TakesWhiteSpaceFromBothEndsOnly) {
  EXPECT_EQ(Trim(" \t\r\n\v\fa b\n"), "a b");
  EXPECT_EQ(Trim("a"), "a");
  EXPECT_EQ(Trim(" \n"), "");
  EXPECT_EQ(Trim(""), "");
}

TEST(LowerCase, LeavesOtherBytesAlone) { EXPECT_EQ(LowerCase("Node-7 \xc3\x84Z["), "node-7 \xc3\x84z["); }

TEST(JsonText, IsValidWhateverTheBytesAre) {
  EXPECT_EQ(JsonText(Json{{"a", "x\xff"}, {"b", 1}}), "{\"a\":\"x\xef\xbf\xbd\",\"b\":1}");
}

TEST(PlainText, QuotesNoText) {
  EXPECT_EQ(PlainText("a \"word\""), "a \"word\"");
  EXPECT_EQ(PlainText(nullptr), "null");
  EXPECT_EQ(PlainText(Json::array({1, "x"})), "[1,\"x\"]");
}

}  // namespace
}  // namespace slipway
