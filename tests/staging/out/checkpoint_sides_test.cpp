#include "staging/out/checkpoint_sides.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "core/checkpoint.h"
#include "core/error.h"
#include "core/files.h"
#include "staging/out/out_place.h"
#include "tests/staging/staging_support.h"

namespace slipway::staging {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;

std::vector<std::uint64_t> StepsOfTorn(const OutReport& report) {
  std::vector<std::uint64_t> steps;
  for (const auto& torn : report.torn) steps.push_back(torn.step);
  return steps;
}

class CheckpointDirectoriesTest : public ::testing::Test {
 protected:
  fs::path Write(std::uint64_t step, const std::string& content = "weights") const {
    const auto prepared = BeginCheckpoint(place_.checkpoints(), step);
    Put(prepared / "weights.bin", content + std::to_string(step));
    Put(prepared / "rank/0", "state");
    return CommitCheckpoint(prepared, {{}, step, 0, 1, "hash"});
  }
  /// As slipway.checkpoint.save does with keep.best.
  void WriteWithLoss(std::uint64_t step, double loss) const {
    const auto manifest = Write(step) / "manifest.json";
    auto text = ReadFile(manifest);
    text.insert(text.find('{') + 1, fmt::format(R"("metrics": {{"loss": {}, "other": null}},
      "keep_best": {{"metric": "loss", "goal": "minimize"}},)",
                                                loss));
    WriteFileDurably(manifest, text);
  }
  static std::string Name(std::uint64_t step) { return "step-00000000000" + std::to_string(step); }
  std::vector<std::string> Shared() const { return NamesOf(shared_); }
  std::vector<std::string> Tier() const { return NamesOf(place_.checkpoints()); }
  OutPlaceMover Mover(int keep = 2, StageOutOptions options = {}) const { return {place_, keep, std::move(options)}; }

  TemporaryDirectory files_;
  OutPlace place_{files_ / "tier/run", files_ / "runs/run"};
  fs::path shared_ = files_ / "runs/run/checkpoints";
};

TEST_F(CheckpointDirectoriesTest, MovesTheNewestAndKeepsSoManyOnBothSides) {
  auto mover = Mover(2);
  for (const std::uint64_t step : {1, 2, 3, 4}) {
    Write(step);
    const auto report = mover.Round();
    EXPECT_FALSE(report.failure) << report.failure->what();
    ASSERT_EQ(report.moved.size(), 1u);
    EXPECT_EQ(report.moved[0].step, step);
  }
  EXPECT_THAT(Shared(), ElementsAre(Name(3), Name(4)));
  EXPECT_THAT(Tier(), ElementsAre(Name(3), Name(4)));
  EXPECT_EQ(NewestCheckpoint(shared_)->step, 4u);
}

TEST_F(CheckpointDirectoriesTest, SkipsThoseThatWereSuperseded) {
  for (const std::uint64_t step : {1, 2, 3, 4}) Write(step);
  auto mover = Mover(2);
  mover.Round();
  EXPECT_THAT(Shared(), ElementsAre(Name(4)));
  EXPECT_TRUE(mover.Round().moved.empty());
}

TEST_F(CheckpointDirectoriesTest, KeepsTheBestOneByTheMetricThatTheProgramNames) {
  auto mover = Mover(1);
  const std::vector<double> losses{0.5, 0.1, 0.3, 0.4};
  for (std::uint64_t step = 1; step <= losses.size(); ++step) {
    WriteWithLoss(step, losses[step - 1]);
    EXPECT_FALSE(mover.Round().failure);
  }
  EXPECT_THAT(Shared(), ElementsAre(Name(2), Name(4)));
  EXPECT_THAT(Tier(), ElementsAre(Name(2), Name(4)));
  WriteWithLoss(5, 0.05);
  mover.Round();
  EXPECT_THAT(Shared(), ElementsAre(Name(5)));
  Write(6);  // by a program that names no metric
  mover.Round();
  EXPECT_THAT(Shared(), ElementsAre(Name(6)));
}

TEST_F(CheckpointDirectoriesTest, BringsTheBestOneEvenIfItWasSuperseded) {
  WriteWithLoss(1, 0.9);
  WriteWithLoss(2, 0.1);
  WriteWithLoss(3, 0.5);
  EXPECT_FALSE(Mover(1).Settle().failure);
  EXPECT_THAT(Shared(), ElementsAre(Name(2), Name(3)));
}

TEST_F(CheckpointDirectoriesTest, LeavesABetterOneOfAnEarlierAttemptTheBest) {
  WriteWithLoss(1, 0.1);
  Mover(1).Round();
  RemoveTree(place_.checkpoints());
  WriteWithLoss(2, 0.4);
  WriteWithLoss(3, 0.5);
  auto mover = Mover(1);
  mover.Round();
  EXPECT_TRUE(mover.Round().moved.empty()) << "the tier's best is not the best";
  EXPECT_THAT(Shared(), ElementsAre(Name(1), Name(3)));
}

TEST_F(CheckpointDirectoriesTest, NeverTakesATornOneForAGoodOne) {
  Write(1);
  fs::remove(Write(3) / "manifest.json");  // published without a manifest
  FlipBit(Write(4) / "weights.bin", 2);
  fs::remove(Write(5) / "rank/0");
  auto mover = Mover();
  const auto report = mover.Round();
  EXPECT_FALSE(report.failure);
  EXPECT_THAT(StepsOfTorn(report), ElementsAre(5, 4));
  EXPECT_EQ(report.torn[0].reason, "'rank/0' is missing");
  EXPECT_THAT(report.torn[1].reason, StartsWith("'weights.bin' has the CRC32C "));
  EXPECT_THAT(Shared(), ElementsAre(Name(1)));
  EXPECT_THAT(StepsOfTorn(mover.Settle()), ElementsAre(5, 4, 3));
  EXPECT_THAT(Shared(), ElementsAre(Name(1), "torn-" + Name(3), "torn-" + Name(4), "torn-" + Name(5)));
  EXPECT_EQ(NewestCheckpoint(shared_)->step, 1u);
}

TEST_F(CheckpointDirectoriesTest, KeepsWhatIsTornAndSaysWhy) {
  Put(Write(2) / "weights.bin", "longer than it was");
  Put(place_.checkpoints() / Name(3) / "w.bin", "weights");
  Put(place_.checkpoints() / Name(3) / "manifest.json",
      R"({"schema": "slipway.checkpoint/1", "step": 3, "files": []})");
  Put(place_.checkpoints() / Name(4) / "w.bin", "weights");
  EXPECT_EQ(Mover().Remaining().files, 3u) << "the newest and what has no manifest";
  const auto report = Mover().Settle();
  EXPECT_FALSE(report.failure);
  ASSERT_THAT(StepsOfTorn(report), ElementsAre(4, 3, 2));
  EXPECT_EQ(report.torn[0].reason, "'manifest.json' is missing");
  EXPECT_EQ(report.torn[1].reason, "'manifest.json' is damaged: it has no 'epoch'");
  EXPECT_EQ(report.torn[2].reason, "'weights.bin' has 18 bytes instead of 8");
  EXPECT_EQ(report.torn[1].kept_in, shared_ / ("torn-" + Name(3)));
  EXPECT_EQ(ReadFile(report.torn[1].kept_in / "w.bin"), "weights");
  EXPECT_EQ(ReadFile(report.torn[2].kept_in / "weights.bin"), "longer than it was");
  EXPECT_FALSE(NewestCheckpoint(shared_));
  EXPECT_EQ(Mover().Remaining().files, 0u);
  Put(report.torn[1].kept_in / "mark", "");
  EXPECT_FALSE(Mover().Settle().failure);
  EXPECT_TRUE(fs::exists(report.torn[1].kept_in / "mark")) << "what is copied is not copied again";
  Put(place_.checkpoints() / Name(3) / "w.bin", "another");
  EXPECT_EQ(Mover().Remaining().files, 2u) << "it is another one now";
  EXPECT_FALSE(Mover().Settle().failure);
  EXPECT_EQ(ReadFile(report.torn[1].kept_in / "w.bin"), "another");
}

TEST_F(CheckpointDirectoriesTest, ATornOneThatCannotBeCopiedIsAFailure) {
  Put(place_.checkpoints() / Name(4) / "w.bin", "weights");
  fs::create_symlink("/etc/hostname", place_.checkpoints() / Name(4) / "outside");
  EXPECT_TRUE(Mover().Settle().failure) << "so the tier stays";
}

TEST_F(CheckpointDirectoriesTest, SaysBeforehandWhichCheckpointsItWouldRefuse) {
  WriteWithLoss(1, 0.1);
  WriteWithLoss(2, 0.3);
  WriteWithLoss(3, 0.2);
  WriteWithLoss(4, 0.4);
  ASSERT_EQ(::mkfifo((place_.checkpoints() / Name(4) / "pipe").c_str(), 0600), 0);
  Put(place_.checkpoints() / Name(5) / "w.bin", "torn");
  fs::create_symlink("/etc/hostname", place_.checkpoints() / Name(5) / "outside");
  const auto remaining = Mover().Remaining();
  EXPECT_EQ(remaining.files, 6u) << "steps 3 and 1, which is the best one";
  ASSERT_EQ(remaining.refused.size(), 2u);
  EXPECT_THAT(remaining.refused[0].why.message(), testing::HasSubstr("pipe' is neither a file"));
  EXPECT_THAT(remaining.refused[1].why.message(), testing::HasSubstr("outside' is a link that leads out"));
}

TEST_F(CheckpointDirectoriesTest, DropsATornOneThatIsOlderThanAGoodOne) {
  fs::remove(Write(1) / "manifest.json");
  FlipBit(Write(2) / "weights.bin", 2);
  Write(3);
  const auto report = Mover().Settle();
  EXPECT_FALSE(report.failure);
  EXPECT_THAT(report.torn, IsEmpty());
  EXPECT_THAT(Shared(), ElementsAre(Name(3)));
}

TEST_F(CheckpointDirectoriesTest, LeavesUnfinishedOnesAlone) {
  Put(place_.checkpoints() / ".tmp-step-000000000009-77/weights.bin", "half");
  auto mover = Mover();
  EXPECT_FALSE(mover.Settle().failure);
  EXPECT_THAT(Shared(), IsEmpty());
}

TEST_F(CheckpointDirectoriesTest, ReplacesAStepThatWasWrittenAgainAndHealsADamagedOne) {
  Write(1, "first");
  Mover().Round();
  Write(1, "second");
  Mover().Round();
  EXPECT_EQ(ReadFile(shared_ / Name(1) / "weights.bin"), "second1");
  FlipBit(shared_ / Name(1) / "weights.bin", 0);
  EXPECT_FALSE(Mover().Settle().failure);
  EXPECT_TRUE(ReadCheckpoint(shared_ / Name(1)));
}

TEST_F(CheckpointDirectoriesTest, GoesOnWhenTheProgramRemovesWhatIsBeingCopied) {
  const auto doomed = Write(1, std::string(3'000'000, 'x'));
  StageOutOptions options;
  bool removed = false;
  options.progress = [&](const OutProgress& now) {
    if (now.done.count == 0 || removed) return;
    removed = true;
    RemoveTree(doomed);
  };
  const auto report = Mover(2, options).Round();
  EXPECT_TRUE(removed);
  EXPECT_FALSE(report.failure) << report.failure->what();
  EXPECT_TRUE(ReadCheckpoint(shared_ / Name(1)));
}

TEST_F(CheckpointDirectoriesTest, KeepsTheLastGoodOneWhenTheNextFails) {
  Write(1);
  auto mover = Mover(1);
  mover.Round();
  Write(2);
  StageOutOptions options;
  options.progress = [&](const OutProgress& now) {
    if (now.phase == OutPhase::kConfirm && now.done.count == 0) {
      FlipBit(shared_ / (".tmp-out-" + Name(2)) / "weights.bin", 1);
    }
  };
  const auto report = Mover(1, options).Round();
  ASSERT_TRUE(report.failure);
  EXPECT_THAT(report.failure->what(), testing::HasSubstr("weights.bin', read back, differs"));
  EXPECT_THAT(Shared(), ElementsAre(Name(1)));
  EXPECT_THAT(Tier(), ElementsAre(Name(2)));  // the older one is confirmed
}

TEST_F(CheckpointDirectoriesTest, TakesALinkForTheFileItLeadsTo) {
  const auto prepared = BeginCheckpoint(place_.checkpoints(), 1);
  Put(prepared / "weights.bin", "weights");
  fs::create_symlink("weights.bin", prepared / "latest.bin");
  CommitCheckpoint(prepared, {{}, 1, 0, 1, ""});
  EXPECT_FALSE(Mover().Settle().failure);
  EXPECT_TRUE(ReadCheckpoint(shared_ / Name(1)));
  EXPECT_TRUE(fs::is_symlink(shared_ / Name(1) / "latest.bin"));
}

TEST_F(CheckpointDirectoriesTest, BringsTheResultsBeforeTheCheckpointThatFollowedThem) {
  Put(place_.outputs() / "epoch-1.csv", "1,2\n");
  auto mover = Mover();
  EXPECT_EQ(mover.Round().outputs.files, 0u) << "nothing is published without a checkpoint";
  Write(1);
  StageOutOptions options;
  bool of_checkpoint = false;
  options.progress = [&](const OutProgress& now) {
    if (now.current != "weights.bin") return;
    of_checkpoint = true;
    EXPECT_TRUE(fs::exists(place_.folder / "outputs/epoch-1.csv"));
  };
  const auto report = Mover(2, options).Round();
  EXPECT_TRUE(of_checkpoint);
  EXPECT_EQ(report.outputs.files, 1u);
  EXPECT_EQ(report.moved.size(), 1u);
}

TEST_F(CheckpointDirectoriesTest, ResultsThatCannotBeMovedHoldNoCheckpointUp) {
  fs::create_directories(place_.outputs());
  ASSERT_EQ(::mkfifo((place_.outputs() / "pipe").c_str(), 0600), 0);
  Write(1);
  auto mover = Mover();
  const auto first = mover.Round();
  ASSERT_TRUE(first.failure);
  EXPECT_THAT(first.failure->what(), testing::HasSubstr("pipe"));
  EXPECT_EQ(first.moved.size(), 1u);
  Write(2);
  const auto second = mover.Round();
  EXPECT_FALSE(second.failure) << "tried again after a pause";
  EXPECT_TRUE(second.waiting);
  ASSERT_EQ(second.moved.size(), 1u);
  EXPECT_EQ(second.moved[0].step, 2u);
}

TEST_F(CheckpointDirectoriesTest, SettlesAllButResultsThatCannotBeCopied) {
  Write(1);
  Put(place_.outputs() / "deep/good", "1");
  Put(place_.outputs() / "copied/good", "2");
  ASSERT_EQ(::mkfifo((place_.outputs() / "deep/pipe").c_str(), 0600), 0);
  fs::create_directory_symlink("/etc", place_.outputs() / "out");
  const auto remaining = Mover().Remaining();
  const auto report = Mover().Settle();
  ASSERT_TRUE(report.failure);
  ASSERT_EQ(remaining.refused.size(), 2u);
  EXPECT_EQ(ErrorOf(remaining.refused).message(), report.failure->message());
  EXPECT_EQ(remaining.files, report.outputs.files + 3) << "and the checkpoint";
  EXPECT_THAT(report.failure->message(), testing::AllOf(testing::HasSubstr("pipe'"), testing::HasSubstr("out'")));
  EXPECT_EQ(report.outputs.files, 2u);
  EXPECT_EQ(report.refused.size(), 2u);
  EXPECT_THAT(Shared(), ElementsAre(Name(1)));
  EXPECT_EQ(ReadFile(place_.folder / "outputs/deep/good"), "1");
  RemoveCopied(place_, report.refused);
  EXPECT_THAT(NamesOf(place_.outputs()), ElementsAre("deep", "out"));
  EXPECT_THAT(NamesOf(place_.outputs() / "deep"), ElementsAre("pipe"));
  EXPECT_THAT(Tier(), IsEmpty());
  EXPECT_TRUE(fs::exists("/etc/hostname")) << "no link is followed";
  EXPECT_EQ(Mover().Settle().refused.size(), 2u);
  EXPECT_THAT(Shared(), ElementsAre(Name(1)));
}

TEST_F(CheckpointDirectoriesTest, SettlesWhatAProgramSavedInItsOwnWay) {
  Write(1);
  const auto own = place_.checkpoints();
  Put(own / "last.pt", "weights");
  Put(own / "best/model.pt", "best");
  Put(own / "step-7/model.pt", "seven");
  Put(own / ".tmp-step-000000000009-x/model.pt", "half");
  EXPECT_EQ(Mover().Remaining().files, 6u);
  const auto report = Mover().Settle();
  EXPECT_FALSE(report.failure) << report.failure->what();
  EXPECT_EQ(report.outputs.files, 3u);
  EXPECT_EQ(ReadFile(shared_ / "last.pt"), "weights");
  EXPECT_EQ(ReadFile(shared_ / "best/model.pt"), "best");
  EXPECT_EQ(ReadFile(shared_ / "step-7/model.pt"), "seven");
  EXPECT_THAT(Shared(), testing::UnorderedElementsAre("best", "last.pt", "step-7", Name(1)));
  EXPECT_EQ(Mover().Remaining().files, 0u);
  fs::create_symlink("/etc/hostname", own / "outside");
  const auto refused = Mover().Settle();
  ASSERT_TRUE(refused.failure) << "so the tier stays";
  EXPECT_THAT(refused.failure->message(), testing::HasSubstr("outside' is a link that leads out"));
  ASSERT_EQ(refused.refused.size(), 1u);
  EXPECT_EQ(refused.refused[0].name, "checkpoints/outside");
  RemoveCopied(place_, refused.refused);
  EXPECT_THAT(Tier(), ElementsAre("outside"));
}

TEST_F(CheckpointDirectoriesTest, SettlesResultsWhoseTimeDidNotChange) {
  Put(place_.outputs() / "mapped.npy", "0123456789");
  Write(1);
  Mover().Round();
  FlipBit(place_.outputs() / "mapped.npy", 3);
  EXPECT_EQ(Mover().Remaining().files, 1u);
  EXPECT_EQ(Mover().Settle().outputs.files, 1u);
  EXPECT_EQ(ReadFile(place_.folder / "outputs/mapped.npy"), ReadFile(place_.outputs() / "mapped.npy"));
}

TEST_F(CheckpointDirectoriesTest, RemovesWhatAKilledMoverLeftWhenItMovesAndNotWhenItIsOnlyAsked) {
  Write(1);
  const std::vector<fs::path> leftovers{
      place_.tier / "pinned/step-1/weights.bin", place_.checkpoints() / ".tmp-old-step-000000000000/weights.bin",
      shared_ / ".tmp-old-step-000000000000/weights.bin", shared_ / ".tmp-out-step-000000000001/weights.bin"};
  for (const auto& path : leftovers) Put(path, "x");
  Mover().Remaining();
  for (const auto& path : leftovers) EXPECT_TRUE(fs::exists(path)) << path;
  Mover().Round();
  EXPECT_THAT(NamesOf(place_.tier), ElementsAre("checkpoints", "pinned"));
  EXPECT_THAT(NamesOf(place_.tier / "pinned"), IsEmpty());
  EXPECT_THAT(Tier(), ElementsAre(Name(1)));
  EXPECT_THAT(Shared(), ElementsAre(Name(1)));
}

TEST_F(CheckpointDirectoriesTest, RemovesNoStepThatWasWrittenAgain) {
  Write(1, "first");
  CheckpointDirectories sides(place_.checkpoints(), shared_, {});
  const auto seen = sides.Tier().at(0);
  Write(1, "second");
  sides.RemoveFromTier(seen);
  EXPECT_TRUE(ReadCheckpoint(place_.checkpoints() / Name(1)));
  sides.RemoveFromTier(sides.Tier().at(0));
  EXPECT_THAT(Tier(), IsEmpty());
}

TEST_F(CheckpointDirectoriesTest, CanBeCancelledWhileItReadsWhatIsThere) {
  Write(1);
  Mover().Round();
  StageOutOptions options;
  options.cancelled = [] { return true; };
  EXPECT_THAT(MessageOf([&] { Mover(2, options).Settle(); }), testing::HasSubstr("cancelled"));
}

TEST_F(CheckpointDirectoriesTest, SettlesCheckpointsAndResults) {
  Write(1);
  Write(2);
  Put(place_.outputs() / "scores/epoch-1.csv", "1,2\n");
  EXPECT_EQ(Mover().Remaining().files, 4u);
  const auto report = Mover().Settle();
  EXPECT_FALSE(report.failure);
  EXPECT_EQ(report.outputs.files, 1u);
  EXPECT_EQ(ReadFile(place_.folder / "outputs/scores/epoch-1.csv"), "1,2\n");
  EXPECT_THAT(Shared(), ElementsAre(Name(2)));
  EXPECT_EQ(Mover().Remaining().files, 0u);
}

}  // namespace
}  // namespace slipway::staging
