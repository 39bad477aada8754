// watch.json as the runtime writes it, and as a broken or hostile program may.

#include "launcher/ranks/monitor/watch_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "core/files.h"
#include "tests/support/temp_directory.h"

namespace slipway::launcher {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

constexpr auto kReport = R"({"schema":"slipway.watch/1","time":1.5,"kind":"stalled","message":"rank 2 is stopped",
  "seen_by":0,"ranks":[{"rank":2,"host":"n1","pid":123,"state":"stopped","last":"slipway_average","step":17}]})";

class WatchReports : public testing::Test {
 protected:
  std::optional<WatchFinding> Find() const { return FindWatchReport(directory_.path()); }
  std::optional<WatchFinding> FindText(const std::string& text) const {
    WriteFile(directory_ / "watch.json", text);
    return Find();
  }
  /// Why the file that holds `text` is ignored.
  std::string ProblemOf(const std::string& text) const {
    const auto found = FindText(text);
    return !found ? "nothing found" : found->report ? "taken" : found->problem;
  }

  test::TempDirectory directory_;
};

TEST_F(WatchReports, AreThereOrNot) {
  EXPECT_FALSE(Find().has_value());
  EXPECT_FALSE(FindWatchReport(directory_ / "missing").has_value());
}

TEST_F(WatchReports, AreReadWhole) {
  const auto found = FindText(kReport);
  ASSERT_TRUE(found && found->report);
  EXPECT_EQ(ToJson(*found->report).dump(),
            R"({"kind":"stalled","message":"rank 2 is stopped","ranks":[)"
            R"({"rank":2,"host":"n1","pid":123,"state":"stopped","last":"slipway_average","step":17}]})");
}

TEST_F(WatchReports, AreOfAKindThatMayBeNewer) {
  const auto kind_of = [&](const std::string& word) {
    return FindText(R"({"schema":"slipway.watch/1","message":"m","kind":")" + word + "\"}")->report->kind;
  };
  for (const auto kind : AllOf<WatchKind>()) EXPECT_EQ(kind_of(std::string(WordOf(kind))), kind);
  EXPECT_EQ(kind_of("overheated"), WatchKind::kOther);
  EXPECT_TRUE(IsHang(WatchKind::kLeft));
  EXPECT_TRUE(IsHang(WatchKind::kDead) && IsHang(WatchKind::kStalled) && IsHang(WatchKind::kStart));
  EXPECT_FALSE(IsHang(WatchKind::kMismatch) || IsHang(WatchKind::kNotFinite));
}

TEST_F(WatchReports, AreTakenWithoutRanks) {
  const auto found = FindText(R"({"schema":"slipway.watch/1","message":"m","ranks":{"rank":1}})");
  ASSERT_TRUE(found && found->report);
  EXPECT_TRUE(found->report->ranks.empty());
}

TEST_F(WatchReports, AreIgnoredWhenTheyAreTornOrOfAnotherKind) {
  const std::string whole = kReport;
  for (std::size_t length = 0; length < whole.size(); ++length) {
    ASSERT_THAT(ProblemOf(whole.substr(0, length)), HasSubstr("watch.json' is ignored: it is torn")) << length;
  }
  EXPECT_THAT(ProblemOf("[]"), HasSubstr("no JSON object"));
  EXPECT_THAT(ProblemOf(std::string("\xff\xfe\0\0", 4)), HasSubstr("torn"));
  EXPECT_THAT(ProblemOf("{}"), HasSubstr("schema"));
  EXPECT_THAT(ProblemOf(R"({"schema":7,"message":"m"})"), HasSubstr("schema"));
  EXPECT_THAT(ProblemOf(R"({"schema":"slipway.watch/1"})"), HasSubstr("no message"));
  EXPECT_THAT(ProblemOf(R"({"schema":"slipway.watch/1","message":["m"]})"), HasSubstr("no message"));
  EXPECT_THAT(ProblemOf(R"({"schema":"slipway.watch/1","message":"\n\t "})"), HasSubstr("no message"));
}

TEST_F(WatchReports, AreIgnoredWhenTheyAreTooLarge) {
  EXPECT_THAT(ProblemOf(std::string(2 << 20, ' ') + kReport), HasSubstr("larger than 1048576 bytes"));
}

TEST_F(WatchReports, SurviveAnyDepth) {
  const std::string deep(500000, '[');
  EXPECT_THAT(ProblemOf(deep), HasSubstr("torn"));
  EXPECT_THAT(ProblemOf(deep + std::string(500000, ']')), HasSubstr("no JSON object"));
  const auto found = FindText(R"({"schema":"slipway.watch/1","message":"m","ranks":[)" + std::string(400000, '[') +
                              std::string(400000, ']') + "]}");
  EXPECT_TRUE(found && found->report);
}

TEST_F(WatchReports, AreOnlyReadFromAFile) {
  const auto file = directory_ / "watch.json";
  ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
  EXPECT_THAT(Find()->problem, HasSubstr("it is not a file"));
  ::unlink(file.c_str());
  WriteFile(directory_ / "elsewhere", kReport);
  ASSERT_EQ(::symlink("elsewhere", file.c_str()), 0);
  EXPECT_THAT(Find()->problem, HasSubstr("it is a link"));
  ::unlink(file.c_str());
  MakeDirectories(file);
  EXPECT_THAT(Find()->problem, HasSubstr("it is not a file"));
}

TEST_F(WatchReports, GiveTheTerminalNoOrders) {
  const auto found = FindText(
      "{\"schema\":\"slipway.watch/1\",\"message\":\"a\\u001b[2Jb\\u0000c\\u009bd\\ne\",\"kind\":\"k\\u0007\"}");
  ASSERT_TRUE(found && found->report);
  EXPECT_EQ(found->report->message, "a [2Jb c  d e");
  EXPECT_EQ(found->report->kind, WatchKind::kOther);
}

TEST_F(WatchReports, AreCutToALength) {
  std::string message;
  while (message.size() < 5000) message += "\xc3\xa9";  // an e with an accent: two bytes that stay together
  Json document{{"schema", "slipway.watch/1"}, {"message", "x" + message}, {"ranks", Json::array()}};
  for (int rank = 0; rank < 2000; ++rank) document["ranks"].push_back({{"rank", rank}, {"host", message}});
  const auto found = FindText(document.dump().substr(0, 900000));
  EXPECT_FALSE(found->report.has_value());
  document["ranks"] = Json::array();
  for (int rank = 0; rank < 2000; ++rank)
    document["ranks"].push_back({{"rank", rank}, {"host", "n"}, {"step", nullptr}});
  const auto taken = FindText(document.dump());
  ASSERT_TRUE(taken && taken->report);
  EXPECT_LE(taken->report->message.size(), 2003u);
  EXPECT_THAT(taken->report->message, EndsWith("\xc3\xa9..."));
  EXPECT_EQ(taken->report->ranks.size(), 256u);
  EXPECT_FALSE(taken->report->ranks[0].step.has_value());
}

}  // namespace
}  // namespace slipway::launcher
