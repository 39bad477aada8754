#include "core/output.h"

#include <gmock/gmock.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "core/progress.h"
#include "core/text_table.h"
#include "tests/support/forked_child.h"

namespace slipway {
namespace {

using namespace std::chrono_literals;
using test::ErrorsTo;
using test::PrintedBy;
using testing::HasSubstr;
using testing::Not;

test::Printed Printed(OutputMode mode, const std::function<void(Output&)>& use, ErrorsTo errors = ErrorsTo::kPipe) {
  return PrintedBy([&] { use(*MakeConsoleOutput(mode)); }, errors);
}

const Json& Document() {
  static const Json document{{"schema", "slipway.thing/1"}, {"name", "x"}};
  return document;
}

TEST(Output, PrintsTheFormOfItsMode) {
  const auto print = [](Output& output) { output.Print({Document(), "for people", "brief"}); };
  EXPECT_EQ(Printed(OutputMode::kHuman, print).output, "for people\n");
  EXPECT_EQ(Printed(OutputMode::kQuiet, print).output, "brief\n");
  EXPECT_EQ(Json::parse(Printed(OutputMode::kJson, print).output), Document());
}

TEST(Output, PeopleReadNothingThatATerminalWouldObey) {
  const auto print = [](Output& output) {
    output.Print({Document(), "a\033[2Jb", "a\033[2Jb"});
    output.Say("c\033[Ad");
    output.Warn("e\a");
    output.Fail(Error(ErrorKind::kUsage, "f\033[Ag"));
    output.Stream(Document(), "\033[1mas it is");
  };
  const auto printed = Printed(OutputMode::kHuman, print);
  EXPECT_EQ(printed.output, "ab\n\033[1mas it is\n");
  EXPECT_THAT(printed.errors, HasSubstr("cd\nwarning: e\nerror: fg\n"));
  EXPECT_EQ(Printed(OutputMode::kQuiet, print).output, "a\033[2Jb\n");
}

TEST(Output, StreamsOneJsonLineForEachElement) {
  const auto stream = [](Output& output) {
    output.Stream(Document(), "first");
    output.Stream(Document(), "second");
  };
  EXPECT_EQ(Printed(OutputMode::kHuman, stream).output, "first\nsecond\n");
  EXPECT_EQ(Printed(OutputMode::kQuiet, stream).output, "");
  const auto line = Document().dump() + "\n";
  EXPECT_EQ(Printed(OutputMode::kJson, stream).output, line + line);
}

TEST(Output, TalkGoesToStderrAndResultsDoNot) {
  const auto talk = [](Output& output) {
    output.Say("on the way");
    output.Warn("careful");
    output.Progress("half");
  };
  for (const auto mode : {OutputMode::kHuman, OutputMode::kJson, OutputMode::kQuiet}) {
    const auto printed = Printed(mode, talk);
    EXPECT_EQ(printed.output, "");
    EXPECT_THAT(printed.errors, HasSubstr("warning: careful\n"));
    EXPECT_EQ(printed.errors.find("on the way") == std::string::npos, mode == OutputMode::kQuiet);
  }
}

TEST(Output, AnErrorIsTextAndUnderJsonADocumentToo) {
  const auto fail = [](Output& output) { output.Fail(Error(ErrorKind::kUsage, "no such run", "slipway ls")); };
  EXPECT_EQ(Printed(OutputMode::kHuman, fail).errors, "error: no such run\n  next: slipway ls\n");
  EXPECT_EQ(Printed(OutputMode::kHuman, fail).output, "");
  EXPECT_EQ(Json::parse(Printed(OutputMode::kJson, fail).output)["schema"], "slipway.error/1");
}

TEST(Output, JsonStaysValidWhateverBytesItHolds) {
  const Json document{{"path", "bad \xff byte"}};
  const auto printed = Printed(OutputMode::kJson, [&](Output& output) { output.Print({document, "", ""}); });
  EXPECT_TRUE(Json::accept(printed.output)) << printed.output;
}

TEST(Output, ColoursOnATerminalOnlyAndNotWithNoColor) {
  ::setenv("TERM", "xterm", 1);
  ::unsetenv("NO_COLOR");
  const auto warn = [](Output& output) { output.Warn("careful"); };
  EXPECT_THAT(Printed(OutputMode::kHuman, warn, ErrorsTo::kTerminal).errors, HasSubstr("\033[33m"));
  EXPECT_THAT(Printed(OutputMode::kHuman, warn).errors, Not(HasSubstr("\033")));
  ::setenv("NO_COLOR", "1", 1);
  EXPECT_EQ(Printed(OutputMode::kHuman, warn, ErrorsTo::kTerminal).errors, "warning: careful\r\n");
  ::unsetenv("NO_COLOR");
}

TEST(Output, ProgressIsOneLineOnATerminalAndRareElsewhere) {
  ::setenv("TERM", "xterm", 1);
  const auto progress = [](Output& output) {
    output.Progress("10%");
    output.Progress("20%");
    output.Say("done");
  };
  const auto terminal = Printed(OutputMode::kHuman, progress, ErrorsTo::kTerminal).errors;
  EXPECT_EQ(terminal, "\r\033[K10%\r\033[K20%\r\033[Kdone\r\n");
  EXPECT_EQ(Printed(OutputMode::kHuman, progress).errors, "10%\ndone\n");
  EXPECT_EQ(Printed(OutputMode::kJson, progress, ErrorsTo::kTerminal).errors, "done\r\n");
}

TEST(Output, ADumbTerminalGetsLinesWithoutEscapes) {
  ::setenv("TERM", "dumb", 1);
  const auto progress = [](Output& output) {
    output.Progress("10%");
    output.Progress("20%");
    output.Warn("careful");
  };
  EXPECT_EQ(Printed(OutputMode::kHuman, progress, ErrorsTo::kTerminal).errors, "10%\r\nwarning: careful\r\n");
}

TEST(Output, AnswersToAPipeAreNotCut) {
  const auto columns = [](Output& output) { output.Say(output.Columns() ? "cut" : "whole"); };
  EXPECT_EQ(Printed(OutputMode::kHuman, columns).errors, "whole\n");
  EXPECT_EQ(Printed(OutputMode::kHuman, columns, ErrorsTo::kTerminal).errors, "whole\r\n") << "its errors do not count";
}

TEST(Output, ProgressIsCutToTheTerminal) {
  ::setenv("TERM", "xterm", 1);
  const auto progress = [](Output& output) {
    const struct winsize narrow { .ws_row = 5, .ws_col = 10, .ws_xpixel = 0, .ws_ypixel = 0 };
    ::ioctl(STDERR_FILENO, TIOCSWINSZ, &narrow);
    output.Progress("123456789");
    output.Progress("1234567890");
    output.Progress("漢字漢字漢字");
  };
  EXPECT_EQ(Printed(OutputMode::kHuman, progress, ErrorsTo::kTerminal).errors,
            "\r\033[K123456789\r\033[K12345678…\r\033[K漢字漢字…");
}

TEST(ProgressText, SaysHowFarHowFastAndHowLongStill) {
  EXPECT_EQ(ProgressText("staging train", Bytes{10'000'000}, Bytes{40'000'000}, 2s, "train-0"),
            "staging train   25%  10.0 MB of 40.0 MB  5.00 MB/s  6.0 s left  train-0");
  EXPECT_EQ(ProgressText("x", Bytes{0}, Bytes{10}, 1s, ""), "x    0%  0 B of 10 B");
  EXPECT_EQ(ProgressText("x", Bytes{10}, Bytes{10}, 1s, ""), "x  100%  10 B of 10 B  10 B/s");
  EXPECT_EQ(ProgressText("x", Bytes{0}, Bytes{0}, 0s, ""), "x  100%  0 B of 0 B");
}

TEST(TextTable, AlignsNumbersRightAndWordsLeft) {
  TextTable table({"trial", "status", "accuracy"});
  table.AddRow({"7", "running", "-"});
  table.AddRow({"12", "done", "0.91"});
  EXPECT_EQ(table.Render(),
            "trial  status   accuracy\n"
            "    7  running         -\n"
            "   12  done         0.91\n");
}

TEST(TextTable, CountsTheColumnsOfWideCharacters) {
  TextTable table({"name", "state"});
  table.AddRow({"漢字", "done"});
  table.AddRow({"größe", "done"});
  EXPECT_EQ(table.Render(),
            "name   state\n"
            "漢字   done\n"
            "größe  done\n");
}

TEST(TextTable, CountsCharactersNotBytes) {
  TextTable table({"a", "b"});
  table.AddRow({"äöü", "x"});
  table.AddRow({"abcd", "y"});
  EXPECT_EQ(table.Render(), "a     b\näöü   x\nabcd  y\n");
}

TEST(TextTable, CutsOneColumnToFit) {
  TextTable table({"trial", "parameters", "state"});
  table.AddRow({"1", "learning_rate=0.001 width=12", "done"});
  table.AddRow({"2", "learning_rate=1", "done"});
  const auto whole = table.Render();
  for (const auto columns : {std::optional<int>(), std::optional(42), std::optional(100)}) {
    table.CutToFit("parameters", columns);
    EXPECT_EQ(table.Render(), whole);
  }
  table.CutToFit("others", 10);
  EXPECT_EQ(table.Render(), whole) << "there is no such column";
  table.CutToFit("parameters", 34);
  EXPECT_EQ(table.Render(),
            "trial  parameters            state\n"
            "    1  learning_rate=0.001…  done\n"
            "    2  learning_rate=1       done\n");
  table.CutToFit("parameters", 5);
  EXPECT_EQ(table.Render(),
            "trial  parameters    state\n"
            "    1  learning_ra…  done\n"
            "    2  learning_ra…  done\n")
      << "something stays";
}

TEST(TextTable, FillsShortRowsAndShowsAHeaderAlone) {
  TextTable table({"a", "b"});
  EXPECT_EQ(table.Render(), "a  b\n");
  table.AddRow({"x"});
  EXPECT_EQ(table.Render(), "a  b\nx\n");
}

}  // namespace
}  // namespace slipway
