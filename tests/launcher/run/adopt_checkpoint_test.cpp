#include "launcher/run/results/adopt_checkpoint.h"

#include <gtest/gtest.h>

#include "core/checkpoint.h"
#include "core/files.h"
#include "core/json_fields.h"
#include "tests/support/temp_directory.h"

namespace slipway::launcher {
namespace {
namespace fs = std::filesystem;

class AdoptCheckpoint : public testing::Test {
 protected:
  AdoptCheckpoint() {
    parent_.run = folder_ / "parent";
    parent_.checkpoints = parent_.run / "checkpoints";
    MakeDirectories(parent_.checkpoints);
  }

  fs::path Publish(std::uint64_t step, const std::string& weights) {
    const auto prepared = BeginCheckpoint(parent_.checkpoints, step);
    MakeDirectories(prepared / "rank-0");
    WriteFile(prepared / "rank-0/model.pt", weights);
    return CommitCheckpoint(prepared, {{}, step, 1.5, 2, "0123"});
  }
  fs::path Adopt() { return AdoptNewestCheckpoint(parent_, folder_ / "child/checkpoints"); }

  test::TempDirectory folder_;
  AttemptPlace parent_;
};

TEST_F(AdoptCheckpoint, TheChildKeepsWhatTheParentForgets) {
  Publish(5, "old");
  Publish(10, "new");
  const auto adopted = Adopt();
  fs::remove_all(parent_.run);
  const auto info = ReadCheckpoint(adopted);
  ASSERT_TRUE(info);
  EXPECT_EQ(info->step, 10u);
  EXPECT_EQ(info->epoch, 1.5);
  EXPECT_EQ(info->world_size, 2);
  EXPECT_EQ(info->spec_hash, "0123");
  EXPECT_EQ(ReadFile(adopted / "rank-0/model.pt"), "new");
  EXPECT_EQ(NewestCheckpoint(folder_ / "child/checkpoints")->directory, adopted);
}

TEST_F(AdoptCheckpoint, SharesTheFilesOfOneFileSystem) {
  const auto original = Publish(3, std::string(1 << 20, 'w'));
  EXPECT_TRUE(fs::equivalent(original / "rank-0/model.pt", Adopt() / "rank-0/model.pt"));
}

TEST_F(AdoptCheckpoint, WithoutOneThereIsNothingToAdopt) { EXPECT_EQ(Adopt(), fs::path()); }

TEST_F(AdoptCheckpoint, ADamagedOneIsPassedOver) {
  Publish(3, "good");
  WriteFile(Publish(6, "damaged") / "rank-0/model.pt", "other bytes");
  EXPECT_EQ(ReadFile(Adopt() / "rank-0/model.pt"), "good");
}

TEST_F(AdoptCheckpoint, MayBeDoneAgain) {
  Publish(3, "first");
  const auto first = Adopt();
  EXPECT_EQ(Adopt(), first);
  EXPECT_TRUE(ReadCheckpoint(first));
}

TEST_F(AdoptCheckpoint, OfAnotherVersionIsNotPassedOver) {
  Publish(5, "old");
  const auto newer = Publish(10, "new");
  WriteFile(newer / "manifest.json", "{");
  EXPECT_EQ(ReadCheckpoint(Adopt())->step, 5u) << "a damaged one is passed over";
  WriteFile(newer / "manifest.json", R"({"schema": "slipway.checkpoint/2"})");
  EXPECT_THROW(Adopt(), OtherVersionError);
}

}  // namespace
}  // namespace slipway::launcher
