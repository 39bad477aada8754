// Following files that grow.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "core/files.h"
#include "core/metrics_line.h"
#include "launcher/ranks/monitor/directory_watch.h"
#include "launcher/ranks/monitor/line_follower.h"
#include "launcher/ranks/monitor/log_tail.h"
#include "launcher/ranks/monitor/rank_log.h"
#include "tests/support/temp_directory.h"

namespace slipway::launcher {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class Follow : public testing::Test {
 protected:
  void Append(const std::string& text) const { std::ofstream(file_, std::ios::app) << text; }

  test::TempDirectory directory_;
  std::filesystem::path file_ = directory_ / "log";
  std::vector<std::string> lines_;
  LineFollower follower_{file_, [this](std::string_view line) { lines_.emplace_back(line); }};
};

TEST_F(Follow, DeliversCompleteLinesAndTheRestAtTheEnd) {
  follower_.Poll();  // not there yet
  Append("one\ntw");
  follower_.Poll();
  EXPECT_THAT(lines_, ElementsAre("one"));
  Append("o\nthree");
  follower_.Finish();
  EXPECT_THAT(lines_, ElementsAre("one", "two", "three"));
}

std::ptrdiff_t OpenFiles() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator());
}

TEST_F(Follow, ClosesItsFileAtTheEndAndMayGoOn) {
  Append("one\ntwo");
  const auto before = OpenFiles();
  follower_.Poll();
  EXPECT_EQ(OpenFiles(), before + 1);
  follower_.Finish();
  EXPECT_EQ(OpenFiles(), before);
  Append("\nthree\n");
  follower_.Poll();
  EXPECT_THAT(lines_, ElementsAre("one", "two", "", "three"));
}

TEST_F(Follow, CutsALineWithoutEnd) {
  Append(std::string(200'000, 'x'));
  follower_.Finish();
  ASSERT_EQ(lines_.size(), 4u);
  EXPECT_EQ(lines_[0].size(), 65536u);
}

TEST_F(Follow, CutsALineOfManyDrawingsBetweenTwo) {
  std::vector<std::string> drawings;
  for (int i = 0; i < 9000; ++i) {
    drawings.push_back("step " + std::to_string(i) + " loss=123456.5");
    Append("\r" + drawings.back());
    if (i % 100 == 0) follower_.Poll();
  }
  follower_.Finish();
  EXPECT_GT(lines_.size(), 2u);
  std::vector<std::string> found;
  for (const auto& line : lines_) {
    std::istringstream parts(line);
    for (std::string part; std::getline(parts, part, '\r');) found.push_back(part);
  }
  std::erase(found, "");
  EXPECT_EQ(found, drawings);
}

TEST_F(Follow, ShowsTheStartOfALineWithoutEnd) {
  Append("one\n\r1/3\r2/3");
  follower_.Poll();
  EXPECT_EQ(follower_.unfinished(), "\r1/3\r2/3");
  Append("\n");
  follower_.Poll();
  EXPECT_EQ(follower_.unfinished(), "");
  EXPECT_THAT(lines_, ElementsAre("one", "\r1/3\r2/3"));
}

TEST_F(Follow, StartsAgainWhenTheFileBecomesShorter) {
  Append("a long first line\n");
  follower_.Poll();
  std::filesystem::resize_file(file_, 0);
  Append("new\n");
  follower_.Poll();
  EXPECT_THAT(lines_, ElementsAre("a long first line", "new"));
}

TEST_F(Follow, SaysHowMuchWasRead) {
  Append(std::string(100'000, 'x') + "\n");
  std::uint64_t read = 0;
  LineFollower(
      file_, [](std::string_view) {}, [&](std::uint64_t bytes) { read += bytes; })
      .Finish();
  EXPECT_EQ(read, 100'001u);
}

TEST_F(Follow, DeliversLinesAcrossPieces) {
  std::vector<std::string> expected;
  for (std::size_t length : {65'000, 536, 0, 65'535, 65'536, 7, 30'000, 30'000, 30'000}) {
    expected.emplace_back(length, static_cast<char>('a' + length % 26));
    Append(expected.back() + "\r\n");
  }
  follower_.Finish();
  std::erase(lines_, "");  // also what a cut leaves of the longest line: its end
  std::erase(expected, "");
  EXPECT_EQ(lines_, expected);
}

TEST(DirectoryWatch, TellsTheNamesOfFilesThatChange) {
  const test::TempDirectory directory;
  EventLoop loop;
  DirectoryWatcher watcher(loop);
  std::vector<std::string> names;
  const auto until = [&](std::size_t count) {
    for (int i = 0; i < 3000 && names.size() < count; ++i) loop.RunOnce(std::chrono::milliseconds(20));
  };
  {
    const DirectoryWatch watch(watcher, directory.path(), [&](const std::string& name) { names.push_back(name); });
    WriteFile(directory / "a", "x");
    until(1);
    EXPECT_THAT(names, testing::Contains("a"));
  }
  names.clear();
  WriteFile(directory / "b", "x");
  loop.RunOnce(std::chrono::milliseconds(50));
  EXPECT_THAT(names, IsEmpty());
}

TEST(LastLines, GivesTheEndOfALog) {
  const test::TempDirectory directory;
  EXPECT_EQ(LastLines(directory / "missing", 3), "");
  WriteFile(directory / "log", "1\n2\n3\n4\n");
  EXPECT_EQ(LastLines(directory / "log", 2), "3\n4");
  EXPECT_EQ(LastLines(directory / "log", 9), "1\n2\n3\n4");
  WriteFile(directory / "log", std::string(1'000'000, 'x') + "\nend");
  EXPECT_EQ(LastLines(directory / "log", 1), "end");
}

TEST(ShownLastLines, CutLongLinesAtACharacter) {
  const test::TempDirectory directory;
  WriteFile(directory / "log", "x" + std::string(60'000, '.') + "\nshort\n");
  EXPECT_EQ(ShownLastLines(directory / "log", 2), "x" + std::string(499, '.') + "…\nshort");
  std::string wide;
  for (int i = 0; i < 300; ++i) wide += "é";
  WriteFile(directory / "log", "x" + wide + "\n");
  EXPECT_EQ(ShownLastLines(directory / "log", 1), "x" + wide.substr(0, 498) + "…");
  WriteFile(directory / "log", std::string(500, 'x') + "\n");
  EXPECT_EQ(ShownLastLines(directory / "log", 1), std::string(500, 'x'));
}

TEST(ShownLastLines, KeepTheLastStateOfALineThatIsRewritten) {
  const test::TempDirectory directory;
  std::string bar;
  for (int i = 1; i <= 1000; ++i) bar += "\rstep " + std::to_string(i);
  WriteFile(directory / "log", "\x1b[31mfailed\x1b[0m\n\n" + bar + "\n");
  EXPECT_EQ(ShownLastLines(directory / "log", 3), "failed\n\nstep 1000");
  EXPECT_EQ(ShownLastLines(directory / "missing", 3), "");
}

TEST(RankOfLog, KnowsLogsFromOtherFiles) {
  EXPECT_EQ(RankOfLog("rank-00012.log"), 12);
  for (const auto* name : {"rank-00012.exit", "rank-.log", "rank-1x.log", "launcher.log", "rank-00001.log.tmp"}) {
    EXPECT_EQ(RankOfLog(name), std::nullopt) << name;
  }
}

TEST(MetricsLine, SurvivesTheWayThroughAFile) {
  MetricsLine line;
  line.step = 7;
  line.epoch = 0.5;
  line.values = {{"loss", 0.25}, {"inf", INFINITY}, {"minus", -INFINITY}, {"nan", NAN}};
  const auto text = FormatMetricsLine(line, 1.5);
  EXPECT_EQ(text,
            "{\"time\":1.5,\"step\":7,\"epoch\":0.5,\"metrics\":{\"inf\":\"Infinity\",\"loss\":0.25,"
            "\"minus\":\"-Infinity\",\"nan\":\"NaN\"}}\n");
  const auto again = ParseMetricsLine(text);
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->step, 7);
  EXPECT_EQ(again->epoch, 0.5);
  EXPECT_EQ(again->values.at("minus"), -INFINITY);
  EXPECT_TRUE(std::isnan(again->values.at("nan")));
}

TEST(MetricsLine, MayHoldBareWordsForWhatIsNoNumber) {
  const auto line = ParseMetricsLine(
      R"({"step": 3, "epoch": NaN, "metrics": {"loss": NaN, "NaN \" NaN": -Infinity, "up": Infinity, "rest": 1}})");
  ASSERT_TRUE(line.has_value());
  EXPECT_EQ(line->step, 3);
  EXPECT_EQ(line->epoch, std::nullopt);
  EXPECT_TRUE(std::isnan(line->values.at("loss")));
  EXPECT_EQ(line->values.at("NaN \" NaN"), -INFINITY);
  EXPECT_EQ(line->values.at("up"), INFINITY);
  EXPECT_EQ(line->values.at("rest"), 1);
}

TEST(MetricsLine, HasNoStepWhereNoIntegerIsNear) {
  EXPECT_EQ(WholeStep(7.9), 7);
  EXPECT_EQ(WholeStep(-0x1p63), std::numeric_limits<std::int64_t>::min());
  for (const double step : std::initializer_list<double>{1e30, -1e30, 0x1p63, NAN, INFINITY, -INFINITY}) {
    EXPECT_EQ(WholeStep(step), std::nullopt) << step;
  }
  EXPECT_EQ(ParseMetricsLine(R"({"step":1e30,"metrics":{}})")->step, 0);
  EXPECT_EQ(ParseMetricsLine(R"({"step":18446744073709551615,"metrics":{}})")->step, 0);
  EXPECT_EQ(ParseMetricsLine(R"({"step":12.0,"metrics":{}})")->step, 12);
}

TEST(MetricsLine, IsNothingWhenTornOrForeign) {
  const std::string whole = "{\"time\":1,\"step\":7,\"epoch\":null,\"metrics\":{\"loss\":0.25}}";
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_FALSE(ParseMetricsLine(whole.substr(0, length)).has_value()) << length;
  }
  for (const auto* line : {"[]", "7", "{\"metrics\":3}", "hello"}) EXPECT_FALSE(ParseMetricsLine(line)) << line;
  EXPECT_EQ(WhyNotAllRead("hello"), "it is no JSON object");
  EXPECT_EQ(WhyNotAllRead(R"({"step":1})"), "it has no object 'metrics'");
  EXPECT_EQ(WhyNotAllRead(R"({"metrics":{"loss":"low","acc":0.5}})"), "'loss' is no number");
  EXPECT_EQ(WhyNotAllRead(R"({"metrics":{"loss":NaN}})"), "");
  EXPECT_EQ(WhyNotAllRead(" "), "");
}

}  // namespace
}  // namespace slipway::launcher
