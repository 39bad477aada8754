#include "launcher/run/data/staged_in.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "core/files.h"
#include "launcher/plan/promised_buffer.h"
#include "tests/support/temp_directory.h"

namespace slipway::launcher {
namespace {
namespace fs = std::filesystem;

class StagedInTest : public testing::Test {
 protected:
  StagedInTest() {
    ::unsetenv("SLURM_JOB_ID");
    for (const char* variable : {"DW_JOB_STRIPED", "BB_JOB_STRIPED", "SLIPWAY_TIER_BURST"}) ::unsetenv(variable);
    WriteFile(directory_ / "a.tfrecord", std::string(1000, 'x'));
    WriteFile(directory_ / "exp.yaml",
              "name: small\ntrain: {command: [/bin/true]}\n"
              "data: {train: {source: a.tfrecord, tier: [dir:" +
                  (directory_ / "other").string() +
                  ", burst]}}\n"
                  "launch: {engine: slurm, slurm: {burst_buffer: {type: datawarp}}}\n");
  }
  void TearDown() override {
    for (const char* variable : {"SLURM_JOB_ID", "DW_JOB_STRIPED", "SLIPWAY_STAGED_IN"}) ::unsetenv(variable);
  }

  /// From here on this process is in the job.
  void Begin() {
    MakeDirectories(directory_ / "buffer/staged/train");
    fs::copy_file(directory_ / "a.tfrecord", directory_ / "buffer/staged/train/a.tfrecord");
    ::setenv("SLURM_JOB_ID", "12", 1);
    ::setenv("DW_JOB_STRIPED", (directory_ / "buffer").c_str(), 1);
    ::setenv("SLIPWAY_STAGED_IN", (directory_ / "buffer/staged").c_str(), 1);
  }
  Plan PlanNow(const std::string& tiers = "burst") const {
    auto document = LoadSpec(directory_ / "exp.yaml", {"data.train.tier=" + tiers}, {});
    return MakePlan(std::move(document), directory_ / "runs");
  }

  test::TempDirectory directory_;
  const RunFolder folder_ = RunFolder::Create(directory_.path(), "small", false);
};

TEST_F(StagedInTest, WhatWasRecordedIsLookedForInTheJob) {
  RecordStagedIn(folder_, PlanNow());
  EXPECT_EQ(FoundFor(folder_, PlanNow().data[0]).directory, fs::path()) << "not in the job";
  Begin();
  const auto found = FoundFor(folder_, PlanNow().data[0]);
  EXPECT_EQ(found.directory, directory_ / "buffer/staged/train");
  EXPECT_TRUE(found.of_these_sources);
}

TEST_F(StagedInTest, ASourceThatChangedSinceTheSubmissionIsNoticed) {
  RecordStagedIn(folder_, PlanNow());
  Begin();
  WriteFile(directory_ / "a.tfrecord", std::string(1000, 'y'));
  const auto found = FoundFor(folder_, PlanNow().data[0]);
  EXPECT_NE(found.directory, fs::path());
  EXPECT_FALSE(found.of_these_sources);
}

TEST_F(StagedInTest, AnEarlierSubmissionsRecordGoes) {
  RecordStagedIn(folder_, PlanNow());
  RecordStagedIn(folder_, PlanNow("none"));
  Begin();
  EXPECT_EQ(FoundFor(folder_, PlanNow().data[0]).directory, fs::path());
}

TEST_F(StagedInTest, ADamagedRecordIsNone) {
  Begin();
  for (const auto text : {"", "[]", R"({"datasets": 3})", R"({"datasets": {"train": 7}})"}) {
    WriteFile(folder_.path() / "staged_in.json", text);
    EXPECT_EQ(FoundFor(folder_, PlanNow().data[0]).directory, fs::path()) << text;
  }
}

TEST_F(StagedInTest, StaysInTheBufferWhateverElseHasRoomNow) {
  const auto tiers = "[dir:" + (directory_ / "other").string() + ", burst]";
  EXPECT_NE(PlanNow(tiers).data[0].tier, "burst");
  Begin();
  EXPECT_EQ(PlanNow(tiers).data[0].tier, "burst");
}

TEST_F(StagedInTest, TakesItsRoomOnce) {
  Begin();
  staging::DatasetRequest request;
  request.name = "train";
  request.tiers = {"burst"};
  std::vector<staging::TierState> tiers(1);
  tiers[0].name = "burst";
  tiers[0].usable = true;
  PreferStagedIn(request, tiers);
  EXPECT_GE(tiers[0].available.count, 1000u);
  EXPECT_GE(tiers[0].free_inodes, 1u);
}

}  // namespace
}  // namespace slipway::launcher
