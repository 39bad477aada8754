#include "core/terminal_text.h"

#include <gtest/gtest.h>

namespace slipway {
namespace {

TEST(TerminalText, LeavesTextAsItIs) {
  EXPECT_EQ(WithoutControls("lr\t0.1\nna\xc3\xafve \xe2\x9c\x93\n"), "lr\t0.1\nna\xc3\xafve \xe2\x9c\x93\n");
  EXPECT_EQ(WithoutControls(""), "");
}

TEST(TerminalText, ShowsThatBytesAreNoText) {
  EXPECT_EQ(WithoutControls("cut \xc2"), "cut \xef\xbf\xbd");
  EXPECT_EQ(WithoutControls("\xff\xfe"
                            "a\xc0\x80"
                            "b\xed\xa0\x80"),
            "\xef\xbf\xbd\xef\xbf\xbd"
            "a\xef\xbf\xbd\xef\xbf\xbd"
            "b\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
}

TEST(TerminalText, TakesSequencesOutAsAWhole) {
  EXPECT_EQ(WithoutControls("\x1b[1;31mred\x1b[0m"), "red");
  EXPECT_EQ(WithoutControls("a\x1b[2J\x1b[10;10Hb"), "ab");
  EXPECT_EQ(WithoutControls("a\x1b]0;title\x07"
                            "b\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\c"),
            "ablinkc");
  EXPECT_EQ(WithoutControls("a\x1b(Bb\x1b"
                            "7c\x1bPq#0\x1b\\d"),
            "abcd");
  EXPECT_EQ(WithoutControls("\x1b\xe2\x9c\x93"), "\xe2\x9c\x93");
}

TEST(TerminalText, SurvivesSequencesThatDoNotEnd) {
  EXPECT_EQ(WithoutControls("a\x1b"), "a");
  EXPECT_EQ(WithoutControls("a\x1b["), "a");
  EXPECT_EQ(WithoutControls("a\x1b[12"), "a");
  EXPECT_EQ(WithoutControls("a\x1b]0;no end\nb"), "a\nb");
  EXPECT_EQ(WithoutControls("a\x1b\x1b[31mb"), "ab");
  EXPECT_EQ(WithoutControls("a\x1b[\nb"), "a\nb");
}

TEST(TerminalText, TakesSingleControlsOut) {
  EXPECT_EQ(WithoutControls("a\x07\x08\x7f\x0b"
                            "b\xc2\x9b"
                            "c"),
            "abc");
}

TEST(TerminalText, KeepsTheLastStateOfALine) {
  EXPECT_EQ(WithoutControls("begin\n10%\r20%\r30%\nend"), "begin\n30%\nend");
  EXPECT_EQ(WithoutControls("dos\r\nlines\r\n"), "dos\nlines\n");
  EXPECT_EQ(WithoutControls("100%\r"), "100%");
  EXPECT_EQ(WithoutControls("99%\r100%\r\x1b[K"), "100%");
  EXPECT_EQ(WithoutControls("100%\r\x1b[K\nend\r"), "100%\nend");
}

}  // namespace
}  // namespace slipway
