// Text from elsewhere on a screen: harmless, measured, cut.

#include "launcher/watch/frame.h"

#include <gtest/gtest.h>

#include "core/terminal_columns.h"

namespace slipway::launcher::watch {
namespace {

TEST(AFrame, PassesNoEscapeSequenceOn) {
  Frame frame(1, 40);
  frame.Put(0, 0,
            "\x1b[31mred\x1b[0m \x1b]0;title\x07tail\x07\r\n\x9b"
            "2J");
  EXPECT_EQ(frame.Line(0),
            "red tail \xef\xbf\xbd"
            "2J");
}

TEST(AFrame, LeavesOutMarksThatTurnTextAround) {
  Frame frame(1, 40);
  frame.Put(0, 0,
            "a\u202e\u2066b\u200b\ufeff"
            "c");
  EXPECT_EQ(frame.Line(0), "abc");
}

TEST(AFrame, CountsColumnsOfWideCharacters) {
  EXPECT_EQ(WidthOf("漢字"), 4);
  Frame frame(1, 6);
  EXPECT_EQ(frame.Put(0, 0, "漢字x"), 5);
  EXPECT_EQ(frame.at(0, 1).glyph[0], U'\0') << "the second half of a wide character";
  EXPECT_EQ(frame.Line(0), "漢字x");
}

TEST(AFrame, CutsNoWideCharacterInHalf) {
  Frame frame(1, 10);
  EXPECT_EQ(frame.Put(0, 0, "漢字漢字", Style::kPlain, 4), 3) << "a half one would not fit beside the ellipsis";
  EXPECT_EQ(frame.Line(0), "漢…");
}

TEST(AFrame, KeepsCombiningCharactersWithTheirs) {
  Frame frame(1, 4);
  EXPECT_EQ(frame.Put(0, 0, "e\u0301x"), 2);
  EXPECT_EQ(frame.Line(0), "e\u0301x");
}

TEST(AFrame, IgnoresWhatLiesOutside) {
  Frame frame(2, 4);
  frame.Put(5, 0, "below");
  frame.Put(-1, 0, "above");
  frame.Put(0, 9, "right");
  frame.Set(0, -3, U'x', Style::kPlain);
  frame.Paint(7, Style::kTitle);
  EXPECT_EQ(frame.Text(), "\n\n");
}

TEST(AFrame, HasAnAsciiForm) {
  Frame frame(1, 10);
  frame.Put(0, 0, "│▁█⣿⠁…é");
  frame.UseAscii();
  EXPECT_EQ(frame.Line(0), "|_@:.~é");
}

}  // namespace
}  // namespace slipway::launcher::watch
