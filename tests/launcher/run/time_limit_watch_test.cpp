// Ranks are asked to save as long before the end of their job as saving takes.

#include "launcher/run/ending/time_limit_watch.h"

#include <gtest/gtest.h>

#include "core/files.h"
#include "launcher/run/ending/save_time.h"
#include "tests/ensemble/hand_clock.h"
#include "tests/support/temp_directory.h"

namespace slipway::launcher {
namespace {

using ensemble::HandClock;
using std::chrono::milliseconds;
using std::chrono::seconds;

/// Of a job that ends in ten minutes.
class TimeLimit : public testing::Test {
 protected:
  TimeLimit() : end_(clock_.Now() + seconds(600)) {
    TimeLimitWatch::Questions questions;
    questions.slowest_checkpoint = [this] { return slowest_; };
    questions.end = [this] {
      ++asked_;
      return end_;
    };
    watch_.emplace(
        loop_, clock_, std::move(questions), [this](Seconds slowest) { near_.push_back(slowest); }, milliseconds(1));
  }

  /// Lets it look a few times at this time of the job.
  std::size_t At(seconds time) {
    clock_.passed = time;
    for (int i = 0; i < 5; ++i) loop_.RunOnce(milliseconds(20));
    return near_.size();
  }

  EventLoop loop_;
  HandClock clock_;
  std::optional<Seconds> slowest_;
  std::optional<WallTime> end_;
  int asked_ = 0;
  std::vector<Seconds> near_;
  std::optional<TimeLimitWatch> watch_;
};

TEST_F(TimeLimit, IsNearWhenSavingTakesAsLong) {
  slowest_ = Seconds(100);  // twice that, and half a minute
  EXPECT_EQ(At(seconds(369)), 0u);
  EXPECT_EQ(At(seconds(371)), 1u);
  EXPECT_EQ(near_.front(), Seconds(100));
  EXPECT_EQ(At(seconds(500)), 1u) << "said once";
}

TEST_F(TimeLimit, ComesNearerWithEverySlowerCheckpoint) {
  slowest_ = Seconds(10);
  EXPECT_EQ(At(seconds(300)), 0u);
  slowest_ = Seconds(200);
  EXPECT_EQ(At(seconds(301)), 1u);
}

TEST_F(TimeLimit, IsSlurmsMatterWhileNoCheckpointIsKnown) {
  EXPECT_EQ(At(seconds(599)), 0u);
  EXPECT_EQ(asked_, 0) << "nor is the controller asked";
}

TEST_F(TimeLimit, MayBeExtended) {
  slowest_ = Seconds(100);
  EXPECT_EQ(At(seconds(1)), 0u);
  EXPECT_EQ(asked_, 1) << "the controller is not asked all the time";
  *end_ += seconds(600);
  EXPECT_EQ(At(seconds(500)), 0u);
  EXPECT_EQ(asked_, 2);
  EXPECT_EQ(At(seconds(1000)), 1u);
}

TEST_F(TimeLimit, IsAskedForAgainWhereTheControllerIsSilent) {
  slowest_ = Seconds(100);
  const auto end = std::exchange(end_, std::nullopt);
  EXPECT_EQ(At(seconds(500)), 0u);
  end_ = end;
  EXPECT_EQ(At(seconds(501)), 1u);
}

class SaveTime : public testing::Test {
 protected:
  SaveTime() {
    place_.run = folder_ / "run";
    place_.checkpoints = folder_ / "tier/checkpoints";
  }

  static void Write(const std::filesystem::path& checkpoints, int step, const std::string& members) {
    const auto directory = checkpoints / ("step-00000000000" + std::to_string(step));
    MakeDirectories(directory);
    WriteFile(directory / "manifest.json",
              R"({"schema":"slipway.checkpoint/1","epoch":1,"world_size":1,"spec_hash":"","files":[],"step":)" +
                  std::to_string(step) + members + "}");
  }

  test::TempDirectory folder_;
  AttemptPlace place_;
};

TEST_F(SaveTime, IsThatOfTheSlowestCheckpointWhereverItLies) {
  EXPECT_EQ(SlowestCheckpoint(place_), std::nullopt);
  Write(place_.run / "checkpoints", 1, R"(,"seconds":3.5)");
  Write(place_.checkpoints, 2, R"(,"seconds":2)");
  Write(place_.checkpoints, 3, "");
  EXPECT_EQ(SlowestCheckpoint(place_), Seconds(3.5));
}

TEST_F(SaveTime, LeavesTheManagerItsPartOfAShortJob) {
  EXPECT_EQ(ForTheManager(Seconds(180)), Seconds(30));
  EXPECT_EQ(ForTheManager(Seconds(40)), Seconds(20));
  EXPECT_EQ(ForTheManager(Seconds(-1)), Seconds(0));
  Plan plan;
  plan.engine = "slurm";  // with signal_before as it is by default: 120 s
  EXPECT_EQ(TimeAtLimit(plan, place_), Seconds(120));
  EXPECT_EQ(TimeAtLimit(plan, place_, Seconds(180)), Seconds(120));
  EXPECT_EQ(TimeAtLimit(plan, place_, Seconds(100)), Seconds(70));
  EXPECT_EQ(TimeAtLimit(plan, place_, Seconds(30)), Seconds(15));
  EXPECT_EQ(TimeAtLimit(plan, place_, Seconds(-5)), Seconds(0));
}

/// Trial N has a checkpoint that took N seconds.
TEST_F(SaveTime, IsLearntFromManyTrialsAFewAtATime) {
  std::vector<ensemble::TrialNumber> running;
  for (int trial = 0; trial < 100; ++trial) running.push_back(trial);
  int looks = 0;
  const auto place_of = [&](ensemble::TrialNumber trial) {
    AttemptPlace place;
    place.run = folder_ / std::to_string(trial);
    place.checkpoints = place.run / "checkpoints";
    if (trial > 0) Write(place.checkpoints, 1, R"(,"seconds":)" + std::to_string(trial));
    ++looks;
    return place;
  };
  SlowestOfTrials slowest;
  EXPECT_EQ(slowest.Look({}, place_of), std::nullopt);
  EXPECT_EQ(slowest.Look({0}, place_of), std::nullopt);
  looks = 0;
  EXPECT_EQ(slowest.Look(running, place_of), Seconds(32)) << "from where the last look ended";
  for (int i = 0; i < 3; ++i) slowest.Look(running, place_of);
  EXPECT_EQ(looks, 4 * 32);
  EXPECT_EQ(slowest.Look({7}, place_of), Seconds(99)) << "of one that has ended meanwhile";
}

TEST_F(SaveTime, IsNotKnownOfManifestsThatDoNotSay) {
  Write(place_.checkpoints, 3, "");
  Write(place_.checkpoints, 4, R"(,"seconds":"long")");
  EXPECT_EQ(SlowestCheckpoint(place_), std::nullopt);
}

}  // namespace
}  // namespace slipway::launcher
