#include "core/mllog.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "core/files.h"
#include "tests/support/temp_directory.h"

namespace slipway {
namespace {

using testing::SizeIs;

constexpr auto kLine =
    ":::MLLOG {\"namespace\":\"\",\"time_ms\":1600000000123,\"event_type\":\"INTERVAL_END\",\"key\":\"run_stop\","
    "\"value\":null,\"metadata\":{\"status\":\"success\"}}\n";

WallTime At(std::int64_t time_ms) { return WallTime(std::chrono::milliseconds(time_ms)); }

class MllogTest : public testing::Test {
 protected:
  test::TempDirectory folder_;
  std::filesystem::path log_ = MllogIn(folder_.path());
};

TEST_F(MllogTest, IsOneLineAnEventInTheLayoutOfTheBenchmark) {
  MllogFile(log_).Write(MllogEvent::kStop, "run_stop", nullptr, Json{{"status", "success"}}, At(1600000000123));
  EXPECT_EQ(ReadFile(log_), kLine);
  const auto line = ParseMllogLine(kLine);
  ASSERT_TRUE(line);
  EXPECT_EQ(line->event, MllogEvent::kStop);
  EXPECT_EQ(line->time_ms, 1600000000123);
  EXPECT_EQ(line->key, "run_stop");
  EXPECT_EQ(line->value, "null");
  EXPECT_EQ(line->metadata, R"({"status":"success"})");
}

TEST_F(MllogTest, StatesAFactOnceAlsoAcrossWriters) {
  MllogFile(log_).Write(MllogEvent::kPoint, "seed", 1, {});
  MllogFile again(log_);
  again.Write(MllogEvent::kPoint, "seed", 1, {});
  again.Write(MllogEvent::kPoint, "seed", 2, {});  // it has changed
  again.Write(MllogEvent::kPoint, "eval_error", 1, Json{{"epoch_num", 1}});
  again.Write(MllogEvent::kPoint, "eval_error", 1, Json{{"epoch_num", 1}});
  EXPECT_THAT(ReadMllog(log_), SizeIs(4));
}

TEST_F(MllogTest, SkipsWhatIsNoLine) {
  for (const auto* text :
       {"", "epoch 1", ":::MLLOG ", ":::MLLOG {", ":::MLLOG []", ":::MLLOG {\"key\":\"a\"}",
        ":::MLLOG {\"time_ms\":\"x\",\"event_type\":\"POINT_IN_TIME\",\"key\":\"a\",\"value\":1,"
        "\"metadata\":{}}",
        ":::MLLOG {\"time_ms\":1,\"event_type\":\"SOMETIMES\",\"key\":\"a\",\"value\":1,\"metadata\":{}}"}) {
    EXPECT_FALSE(ParseMllogLine(text)) << text;
  }
  WriteFile(log_, std::string("noise\n") + kLine + ":::MLLOG {\"torn");
  EXPECT_THAT(ReadMllog(log_), SizeIs(1));
}

TEST_F(MllogTest, IsSetAsideUnderTheNextNumber) {
  EXPECT_FALSE(SetMllogAside(folder_.path()));
  for (const auto* name : {"mllog-1.txt", "mllog-2.txt"}) {
    WriteFile(log_, name);
    EXPECT_EQ(SetMllogAside(folder_.path()), folder_.path() / name);
  }
  EXPECT_THAT(PastMllogsIn(folder_.path()), SizeIs(2));
  EXPECT_EQ(ReadFile(folder_.path() / "mllog-1.txt"), "mllog-1.txt");
  EXPECT_FALSE(std::filesystem::exists(log_));
}

TEST_F(MllogTest, OfAFolderThatIsNotThereHasNoLines) { EXPECT_THAT(ReadMllog("/nowhere/mllog.txt"), SizeIs(0)); }

}  // namespace
}  // namespace slipway
