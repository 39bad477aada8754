#include "launcher/run_folder/attempt_files.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/temp_directory.h"

namespace slipway::launcher {
namespace {

class AttemptFiles : public testing::Test {
 protected:
  void EndRank(int rank, const std::string& record, std::filesystem::file_time_type time) {
    const auto path = folder_ / ("rank-0000" + std::to_string(rank) + ".exit");
    std::ofstream(path) << record;
    std::filesystem::last_write_time(path, time);
  }

  test::TempDirectory folder_;
  std::filesystem::file_time_type then_{std::chrono::file_clock::from_sys(WallTime(std::chrono::hours(400'000)))};
};

TEST_F(AttemptFiles, TellHowAndWhenTheLastRankEnded) {
  EndRank(0, "0 0\n", then_ + std::chrono::seconds(7));
  EndRank(1, "3 0\n", then_);
  EXPECT_EQ(ReadEnd(folder_.path(), 2), (ExitStatus{3, 0}));
  EXPECT_EQ(TimeOfEnd(folder_.path(), 2), WallTime(std::chrono::hours(400'000)) + std::chrono::seconds(7));
}

TEST_F(AttemptFiles, TellOfNoEndBeforeAllHaveEnded) {
  EXPECT_EQ(TimeOfEnd(folder_.path(), 2), std::nullopt);
  EndRank(1, "0 0\n", then_);
  EXPECT_EQ(ReadEnd(folder_.path(), 2), std::nullopt);
}

TEST_F(AttemptFiles, TellWhetherARankLackedRoom) {
  EndRank(0, "0 0\n", then_);
  EndRank(1, "1 0\n", then_);
  EXPECT_FALSE(EndedOnFullDisk(folder_.path(), 2));
  EndRank(1, "1 0 disk-full\n", then_);
  EXPECT_TRUE(EndedOnFullDisk(folder_.path(), 2));
  EXPECT_EQ(ReadEnd(folder_.path(), 2), (ExitStatus{1, 0}));
}

TEST_F(AttemptFiles, CountStepsOnBehindEarlierAttempts) {
  const auto write = [this](const std::string& attempt, const std::string& metrics) {
    std::filesystem::create_directory(folder_ / attempt);
    std::ofstream(folder_ / attempt / "metrics.jsonl") << metrics;
  };
  const auto line = [](int step) {
    return R"({"step": )" + std::to_string(step) +
           R"(, "metrics": {"x": 1}})"
           "\n";
  };
  EXPECT_EQ(FirstCountedStep(folder_ / "attempt-1"), 0);
  EXPECT_EQ(FirstCountedStep(folder_ / "attempt-2"), 0);
  write("attempt-1", line(0) + line(1));
  EXPECT_EQ(FirstCountedStep(folder_ / "attempt-2"), 2);
  write("attempt-2", "");  // it ended before it had said anything
  EXPECT_EQ(FirstCountedStep(folder_ / "attempt-3"), 2);
  write("attempt-3", line(2));
  EXPECT_EQ(FirstCountedStep(folder_ / "attempt-4"), 3);
}

}  // namespace
}  // namespace slipway::launcher
