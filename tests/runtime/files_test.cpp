// What a job leaves and finds in its run folder. The names are set by mpi_main.cpp, on rank 0.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <regex>
#include <sstream>
#include <string>

#include "tests/runtime/ranks.h"

namespace slipway::test {
namespace {

namespace fs = std::filesystem;

constexpr auto kNotANumber = std::numeric_limits<double>::quiet_NaN();
constexpr auto kInfinity = std::numeric_limits<double>::infinity();

/// As rank 0 has it. Collective.
fs::path Variable(const char* name) { return TextOf(0, std::getenv(name)); }

std::string Content(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

void Write(const fs::path& path, const std::string& text) { std::ofstream(path) << text; }

TEST(Stop, IsSeenByAllRanksAtTheSameCall) {
  int requested = -1;
  ASSERT_EQ(slipway_stop_requested(&requested), SLIPWAY_OK);
  EXPECT_EQ(requested, 0);
  const auto file = Variable("SLIPWAY_STOP_FILE");
  int calls = 0;
  const double start = MPI_Wtime();
  while (requested == 0 && MPI_Wtime() < start + 20) {
    if (++calls == 5 && Rank() == 0) Write(file, R"({"reason":"pruned"})");
    ASSERT_EQ(slipway_stop_requested(&requested), SLIPWAY_OK);
  }
  EXPECT_EQ(requested, 1);
  EXPECT_GE(calls, 5);
  EXPECT_TRUE(SameOnAllRanks(&calls, sizeof calls)) << calls << " calls on rank " << Rank();
  ASSERT_EQ(slipway_barrier(SLIPWAY_ALL), SLIPWAY_OK);
  if (Rank() == 0) {
    EXPECT_TRUE(fs::remove(file.native() + ".seen")) << "the launcher learns that it was heard";
    fs::remove(file);
  }
  ASSERT_EQ(slipway_stop_requested(&requested), SLIPWAY_OK);
  EXPECT_EQ(requested, 1);  // what was asked for once stays
}

TEST(Metrics, AreWrittenByRankZeroOneLineEach) {
  ASSERT_EQ(slipway_report(3, "loss", 0.5 + Rank()), SLIPWAY_OK);
  ASSERT_EQ(slipway_report_epoch(4, 1.25, "accuracy", 1), SLIPWAY_OK);
  ASSERT_EQ(slipway_report(5, "loss", kNotANumber), SLIPWAY_OK);
  ASSERT_EQ(slipway_report(5, "best", kInfinity), SLIPWAY_OK);
  ASSERT_EQ(slipway_report(5, "a \"worst\"", -kInfinity), SLIPWAY_OK);
  ASSERT_EQ(slipway_barrier(SLIPWAY_ALL), SLIPWAY_OK);
  const auto text = Content(Variable("SLIPWAY_METRICS"));
  EXPECT_EQ(std::regex_replace(text, std::regex(R"("time":[0-9]{10}(\.[0-9]+)?,)"), "TIME,"),
            R"({TIME,"step":3,"epoch":null,"metrics":{"loss":0.5}}
{TIME,"step":4,"epoch":1.25,"metrics":{"accuracy":1.0}}
{TIME,"step":5,"epoch":null,"metrics":{"loss":"NaN"}}
{TIME,"step":5,"epoch":null,"metrics":{"best":"Infinity"}}
{TIME,"step":5,"epoch":null,"metrics":{"a \"worst\"":"-Infinity"}}
)");
  EXPECT_FALSE(fs::exists("/nonexistent"));
}

TEST(RunLog, IsWrittenByRankZeroAndStatesAFactOnce) {
  ASSERT_EQ(slipway_mllog(SLIPWAY_MLLOG_POINT, "global_batch_size", "64", nullptr), SLIPWAY_OK);
  ASSERT_EQ(slipway_mllog(SLIPWAY_MLLOG_POINT, "global_batch_size", "64", "{}"), SLIPWAY_OK);
  ASSERT_EQ(slipway_mllog(SLIPWAY_MLLOG_START, "epoch_start", nullptr, R"({"epoch_num": 1})"), SLIPWAY_OK);
  ASSERT_EQ(slipway_mllog(SLIPWAY_MLLOG_STOP, "epoch_stop", nullptr, R"({"epoch_num": 1})"), SLIPWAY_OK);
  ASSERT_EQ(slipway_barrier(SLIPWAY_ALL), SLIPWAY_OK);
  EXPECT_EQ(
      std::regex_replace(Content(Variable("SLIPWAY_MLLOG")), std::regex(R"("time_ms":[0-9]{13},)"), "TIME,"),
      R"(:::MLLOG {"namespace":"",TIME,"event_type":"POINT_IN_TIME","key":"global_batch_size","value":64,"metadata":{}}
:::MLLOG {"namespace":"",TIME,"event_type":"INTERVAL_START","key":"epoch_start","value":null,"metadata":{"epoch_num":1}}
:::MLLOG {"namespace":"",TIME,"event_type":"INTERVAL_END","key":"epoch_stop","value":null,"metadata":{"epoch_num":1}}
)");
}

/// Every rank writes its part; the published directory.
fs::path WriteCheckpoint(std::int64_t step) {
  char path[4096];
  EXPECT_EQ(slipway_checkpoint_begin(step, path, sizeof path), SLIPWAY_OK) << slipway_error_message();
  EXPECT_TRUE(SameOnAllRanks(path));
  Write(fs::path(path) / ("part-" + std::to_string(Rank())), "rank " + std::to_string(Rank()));
  EXPECT_EQ(slipway_checkpoint_commit(step, 0.5), SLIPWAY_OK) << slipway_error_message();
  const auto name = std::to_string(step);
  return Variable("SLIPWAY_CHECKPOINT_DIR") / ("step-" + std::string(12 - name.size(), '0') + name);
}

TEST(Checkpoint, HoldsThePartsOfAllRanks) {
  const auto directory = WriteCheckpoint(3);
  for (int rank = 0; rank < Ranks(); ++rank) {
    EXPECT_EQ(Content(directory / ("part-" + std::to_string(rank))), "rank " + std::to_string(rank));
  }
  const auto manifest = Content(directory / "manifest.json");
  EXPECT_NE(manifest.find("\"world_size\": " + std::to_string(Ranks())), std::string::npos) << manifest;
  EXPECT_NE(manifest.find("\"spec_hash\": \"abc\""), std::string::npos) << manifest;
}

TEST(Checkpoint, KeepsAsManyAsConfigured) {
  const auto first = WriteCheckpoint(4);
  const auto second = WriteCheckpoint(5);
  const auto third = WriteCheckpoint(6);
  EXPECT_FALSE(fs::exists(first));
  EXPECT_TRUE(fs::exists(second));
  EXPECT_TRUE(fs::exists(third));
  ASSERT_EQ(slipway_barrier(SLIPWAY_ALL), SLIPWAY_OK);
}

TEST(Checkpoint, IsResumedFromWhenItIsWhole) {
  char path[4096] = "unchanged";
  ExpectRefused(slipway_resume_from(path, sizeof path), SLIPWAY_ERROR_IO, "is missing or damaged");
  const auto directory = WriteCheckpoint(7);
  ASSERT_EQ(slipway_resume_from(path, sizeof path), SLIPWAY_OK) << slipway_error_message();
  EXPECT_EQ(path, directory.string());
  ASSERT_EQ(slipway_barrier(SLIPWAY_ALL), SLIPWAY_OK);
  if (Rank() == 0) Write(directory / "part-0", "rank X");
  ExpectRefused(slipway_resume_from(path, sizeof path), SLIPWAY_ERROR_IO, "is missing or damaged");
  if (Rank() == 0) Write(directory / "manifest.json", R"({"schema": "slipway.checkpoint/2"})");
  ExpectRefused(slipway_resume_from(path, sizeof path), SLIPWAY_ERROR_IO, "use the version of Slipway that wrote it");
}

TEST(Checkpoint, IsNotCommittedWithoutBegin) {
  char path[4096];
  ExpectRefused(slipway_checkpoint_commit(8, 0), SLIPWAY_ERROR_STATE, "step 8 has no slipway_checkpoint_begin");
  ASSERT_EQ(slipway_checkpoint_begin(8, path, sizeof path), SLIPWAY_OK);
  ExpectRefused(slipway_checkpoint_commit(9, 0), SLIPWAY_ERROR_STATE, "step 9 has no slipway_checkpoint_begin");
  ASSERT_EQ(slipway_checkpoint_commit(8, 0), SLIPWAY_OK) << slipway_error_message();
  ExpectRefused(slipway_checkpoint_commit(8, 0), SLIPWAY_ERROR_STATE, "step 8 has no slipway_checkpoint_begin");
}

TEST(Checkpoint, RefusesWhatIsWrongOnOneRank) {
  char path[4096];
  const bool last = Rank() == Ranks() - 1;
  ExpectRefused(slipway_checkpoint_begin(-1, path, sizeof path), SLIPWAY_ERROR_ARGUMENT, "the step is negative: -1");
  ExpectRefused(slipway_checkpoint_begin(10, path, last ? 3 : sizeof path), SLIPWAY_ERROR_ARGUMENT, "too small");
  ExpectRefused(slipway_checkpoint_begin(10, last ? nullptr : path, sizeof path), SLIPWAY_ERROR_ARGUMENT, "null");
  ASSERT_EQ(slipway_checkpoint_begin(11, path, sizeof path), SLIPWAY_OK);
  ExpectRefused(slipway_checkpoint_commit(11, kNotANumber), SLIPWAY_ERROR_ARGUMENT, "not a finite number");
  if (Ranks() == 1) return;
  ExpectRefused(slipway_checkpoint_begin(last ? 13 : 12, path, sizeof path), SLIPWAY_ERROR_MISMATCH,
                "step 13, but step 12 on rank 0");
}

TEST(Checkpoint, ThatCannotBeWrittenFailsOnAllRanks) {
  char path[4096];
  ASSERT_EQ(slipway_checkpoint_begin(14, path, sizeof path), SLIPWAY_OK);
  ASSERT_EQ(slipway_barrier(SLIPWAY_ALL), SLIPWAY_OK);
  if (Rank() == 0) fs::remove_all(path);
  ExpectRefused(slipway_checkpoint_commit(14, 0), SLIPWAY_ERROR_IO, path);
}

}  // namespace
}  // namespace slipway::test
