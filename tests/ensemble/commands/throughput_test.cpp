#include "launcher/trials/throughput.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/mllog.h"
#include "tests/support/temp_directory.h"

namespace slipway::launcher {
namespace {

constexpr std::int64_t kMinute = 60'000;

LoggedRun Trained(std::int64_t start_min, std::optional<std::int64_t> stop_min, bool converged,
                  std::int64_t scale = 128) {
  LoggedRun run;
  run.scale = scale;
  run.start = start_min * kMinute;
  if (stop_min) run.stop = *stop_min * kMinute;
  run.converged = converged;
  return run;
}

TEST(Throughput, CountsTheModelsThatConvergedInTheTimeFromTheFirstStartToTheirLastEnd) {
  const auto result = MeasureThroughput({Trained(0, 10, true), Trained(1, 16, true), Trained(1, 40, false),
                                         Trained(2, std::nullopt, false), Trained(2, 20, true)},
                                        {640, 68});
  EXPECT_EQ(result.system_scale, 640);
  EXPECT_EQ(result.instance_scale, 128);
  EXPECT_EQ(result.models, 5U);
  EXPECT_EQ(result.converged, 3U);
  EXPECT_EQ(result.time_to_train_all_s, 20 * 60);
  EXPECT_DOUBLE_EQ(*result.models_per_minute, 3.0 / 20);
  EXPECT_EQ(result.staging_s, 68);
  EXPECT_EQ(result.start_spread_s, 120);
  EXPECT_EQ(result.fastest_s, 600);
  EXPECT_EQ(result.median_s, 900);
  EXPECT_EQ(result.slowest_s, 18 * 60);
  EXPECT_EQ(result.remark, "");
}

TEST(Throughput, OfTrialsThatAreJobsHasTheMostThatRanAtATimeAsItsScale) {
  const auto result = MeasureThroughput({Trained(0, 10, true), Trained(5, 15, true), Trained(10, 20, true)}, {});
  EXPECT_EQ(result.system_scale, 256);  // one ends when the third begins
}

TEST(Throughput, SaysWhatTheRulesWouldNotHave) {
  EXPECT_EQ(MeasureThroughput({Trained(0, 10, true)}, {256, 0}).remark, "T must lie between S = 128 and M x S = 128");
  EXPECT_EQ(MeasureThroughput({Trained(0, 10, true), Trained(0, 10, true, 64)}, {192, 0}).remark,
            "not all instances are of the same scale");
  const auto none = MeasureThroughput({Trained(0, 10, false)}, {128, 0});
  EXPECT_EQ(none.remark, "no model has converged");
  EXPECT_FALSE(none.models_per_minute);
}

TEST(Throughput, CountsATrialFromTheFirstOfItsLogs) {
  const test::TempDirectory folder;
  const auto trial = folder.path() / "trials/00003";
  std::filesystem::create_directories(trial);
  const auto at = [](std::int64_t time_ms) { return WallTime(std::chrono::milliseconds(time_ms)); };
  MllogFile(trial / "mllog-1.txt").Write(MllogEvent::kStart, "run_start", nullptr, {}, at(1000));
  MllogFile log(trial / "mllog.txt");
  log.Write(MllogEvent::kPoint, "instance", 3, {});
  log.Write(MllogEvent::kPoint, "number_of_nodes", 2, {});
  log.Write(MllogEvent::kPoint, "accelerators_per_node", 4, {});
  log.Write(MllogEvent::kStart, "run_start", nullptr, {}, at(5000));
  log.Write(MllogEvent::kStop, "run_stop", nullptr, Json{{"status", "success"}}, at(9000));
  std::filesystem::create_directories(folder.path() / "trials/00004");  // has no log
  const auto runs = ReadLoggedRuns(folder.path());
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].number, 3);
  EXPECT_EQ(runs[0].scale, 8);
  EXPECT_EQ(runs[0].start, 1000);
  EXPECT_EQ(runs[0].stop, 9000);
  EXPECT_TRUE(runs[0].converged);
  EXPECT_FALSE(ReadLoggedSystem(folder.path()).scale);
}

}  // namespace
}  // namespace slipway::launcher
