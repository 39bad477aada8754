#include "staging/generation/resume.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <random>

#include "core/error.h"
#include "core/files.h"
#include "staging/copy/copy_pool.h"
#include "staging/generation/reservation.h"
#include "staging/generation/stage.h"
#include "staging/generation/verify.h"
#include "staging/plan/tiers.h"
#include "tests/staging/kernel_faults.h"
#include "tests/staging/staging_support.h"

namespace slipway::staging {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class ResumeTest : public ::testing::Test {
 protected:
  void TearDown() override { ::umount2(root_.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW); }  // where a test mounted it
  StagingPlan Plan(const fs::path& source = "source") const {
    return PlanFor(RequestFor(files_ / source, root_, DataFormat::kTfrecord));
  }
  fs::path Private() const { return root_ / ".staging" / Plan().generation; }
  /// Kills a stager as soon as `enough` bytes are done.
  void KillAfter(std::uint64_t enough) const {
    const pid_t child = InChild([&] {
      Stage(Plan(), {[&](const StageProgress& progress) {
                       if (progress.done.count < enough) return;
                       ::kill(::getpid(), SIGKILL);
                     },
                     {}});
      return true;
    });
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
  }
  /// Returns what a stager says that is cancelled as soon as `enough` bytes are done.
  std::string CancelAfter(std::uint64_t enough) const {
    Bytes done;
    const StageOptions options{[&](const StageProgress& progress) { done = progress.done; },
                               [&] { return done.count >= enough; }};
    return MessageOf([&] { Stage(Plan(), options); });
  }
  void ExpectWhole(const StagedDataset& staged) const {
    const auto plan = Plan();
    for (const auto& file : plan.files) EXPECT_EQ(ReadFile(staged.directory / file.name), ReadFile(file.path));
    EXPECT_THAT(VerifyGeneration(staged.directory).damage, IsEmpty());
    EXPECT_FALSE(fs::exists(staged.directory / kJournalName));
    EXPECT_THAT(NamesOf(root_ / ".staging"), IsEmpty());
  }

  TemporaryDirectory files_;
  fs::path root_ = files_ / "tier";
};

TEST_F(ResumeTest, ReadsOnlyTheBlocksThatLack) {
  Put(files_ / "source/a.tfrecord", TfrecordBytes(1600, 10'000));  // 16 MB: four blocks
  KillAfter(13 << 20);                                             // in the fourth
  const auto staged = Stage(Plan());
  EXPECT_EQ(staged.kept, Bytes{12u << 20});
  EXPECT_EQ(staged.kept.count + staged.copied.count, Plan().total.count);
  ExpectWhole(staged);
}

TEST_F(ResumeTest, ChecksTheFormatAcrossTheSeam) {
  Put(files_ / "source/a.tfrecord", TfrecordBytes(1600, 10'000));
  FlipBit(files_ / "source/a.tfrecord", 15'900'000);  // in the block that lacks
  KillAfter(13 << 20);
  EXPECT_THAT(MessageOf([&] { Stage(Plan()); }), AllOf(HasSubstr("a.tfrecord"), HasSubstr("record 1587")));
  EXPECT_THAT(GenerationsIn(root_), IsEmpty());
}

TEST_F(ResumeTest, PublishesNothingThatAKilledRunWasAboutToWriteLast) {
  Put(files_ / "source/a.tfrecord", TfrecordBytes(1600, 10'000));
  KillAfter(13 << 20);
  Put(Private() / ".records.index.tmp-1-1", "torn");
  Put(Private() / "manifest.json", "{}");
  const auto staged = Stage(Plan());
  EXPECT_GT(staged.kept, Bytes{0});
  ExpectWhole(staged);
  EXPECT_THAT(NamesOf(staged.directory), ::testing::ElementsAre("a.tfrecord", "manifest.json", "records.index"));
}

TEST_F(ResumeTest, GoesOnAfterACancelAndSaysWhatIsKept) {
  Put(files_ / "source/a.tfrecord", TfrecordBytes(1600, 10'000));
  EXPECT_THAT(CancelAfter(13 << 20), AllOf(HasSubstr("was cancelled"), HasSubstr("12.6 MB that have arrived are kept"),
                                           HasSubstr("slipway stage gc --tier dir:")));
  EXPECT_THAT(GenerationsIn(root_), IsEmpty());
  EXPECT_FALSE(Generation(root_, Plan().generation).WhoStages()) << "nobody is at work there any more";
  const auto staged = Stage(Plan());
  EXPECT_EQ(staged.kept, Bytes{12u << 20});
  ExpectWhole(staged);
}

TEST_F(ResumeTest, GoesOnAgainAndAgain) {
  Put(files_ / "source/a.tfrecord", TfrecordBytes(1600, 10'000));
  CancelAfter(5 << 20);
  EXPECT_THAT(CancelAfter(13 << 20), HasSubstr("12.6 MB that have arrived are kept"));
  const auto staged = Stage(Plan());
  EXPECT_EQ(staged.kept, Bytes{12u << 20});
  ExpectWhole(staged);
}

/// What `failure` leaves of 16 MB, when it comes after all blocks.
std::string FailWith(const StagingPlan& plan, const std::function<void()>& failure) {
  StageOptions options;
  options.copier = [&](const StagingPlan& all, const fs::path& directory, const CopyOptions& copy,
                       const StageOptions& stage) {
    auto copied = CopyAll(all, directory, copy, stage);
    failure();
    return copied;
  };
  return MessageOf([&] { Stage(plan, options); });
}

TEST_F(ResumeTest, KeepsWhatArrivedWhenANetworkFails) {
  Put(files_ / "source/a.tfrecord", TfrecordBytes(1600, 10'000));
  EXPECT_THAT(FailWith(Plan(), [] { throw SystemError(ESTALE, "cannot read 'a.tfrecord'"); }),
              HasSubstr("16.0 MB that have arrived are kept"));
  const auto staged = Stage(Plan());
  EXPECT_EQ(staged.copied, Bytes{0});
  ExpectWhole(staged);
}

TEST_F(ResumeTest, KeepsNothingWhenASourceOrTheTierIsToBlame) {
  Put(files_ / "source/a.tfrecord", TfrecordBytes(1600, 10'000));
  for (const int code : {ENOSPC, EDQUOT, EACCES, ENOENT}) {
    const auto text = FailWith(Plan(), [&] { throw SystemError(code, "cannot write 'a.tfrecord'"); });
    EXPECT_THAT(text, ::testing::Not(HasSubstr("kept")));
    EXPECT_THAT(NamesOf(root_ / ".staging"), IsEmpty());
  }
  FlipBit(files_ / "source/a.tfrecord", 15'900'000);
  EXPECT_THAT(MessageOf([&] { Stage(Plan()); }), HasSubstr("record 1587"));
  EXPECT_THAT(NamesOf(root_ / ".staging"), IsEmpty());
}

TEST_F(ResumeTest, KeepsNothingThatTheDiskMayNotHave) {
  Put(files_ / "source/a.tfrecord", TfrecordBytes(1600, 10'000));
  test::FailNextSyncfs(EIO);
  EXPECT_THAT(MessageOf([&] { Stage(Plan()); }), HasSubstr("cannot sync"));
  EXPECT_THAT(NamesOf(root_ / ".staging"), IsEmpty());
}

TEST_F(ResumeTest, LeftoversOfOthersGoWhenTheCapacityIsReached) {
  Put(files_ / "source/a.tfrecord", TfrecordBytes(1600, 10'000));
  Put(files_ / "other/b.tfrecord", TfrecordBytes(1600, 10'000));
  KillAfter(13 << 20);
  auto plan = Plan("other");
  plan.capacity = Bytes{24u << 20};
  EXPECT_FALSE(Stage(plan).adopted);
  EXPECT_THAT(NamesOf(root_ / ".staging"), IsEmpty());
}

TEST_F(ResumeTest, KilledBetweenAnyTwoStepsOfPublishingAndResumedTheCopyIsWhole) {
  Put(files_ / "source/a.tfrecord", TfrecordBytes(500, 10'000));
  Put(files_ / "source/b.tfrecord", TfrecordBytes(5, 10'000));
  int steps = 0;
  for (bool killed = true; killed; ++steps) {
    RemoveTree(root_);
    const pid_t child = InChild([&] {
      test::KillBeforeStep(steps + 1);
      return !Stage(Plan()).directory.empty();
    });
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    killed = WIFSIGNALED(status);
    for (const auto& generation : GenerationsIn(root_)) {
      EXPECT_THAT(VerifyGeneration(root_ / generation).damage, IsEmpty()) << "published, and not whole";
    }
    ExpectWhole(Stage(Plan()));
    ASSERT_FALSE(HasFailure()) << "killed before step " << steps + 1;
  }
  EXPECT_GT(steps, 10) << "two durable files, two notes removed, the tier synced, the rename";
}

TEST_F(ResumeTest, DoesNotBelieveABlockThatWasDamagedSince) {
  Put(files_ / "source/a.tfrecord", TfrecordBytes(1600, 10'000));
  KillAfter(13 << 20);
  FlipBit(Private() / "a.tfrecord", 100);
  const auto staged = Stage(Plan());
  EXPECT_GT(staged.copied, Bytes{4u << 20});
  ExpectWhole(staged);
}

TEST_F(ResumeTest, DoesNotBelieveBlocksOfASourceThatWasRewrittenSince) {
  Put(files_ / "source/a.tfrecord", TfrecordBytes(1600, 10'000));
  KillAfter(13 << 20);
  FlipBit(files_ / "source/a.tfrecord", 0);  // its times are set back: only the ctime tells
  FlipBit(files_ / "source/a.tfrecord", 0);
  const auto staged = Stage(Plan());
  EXPECT_EQ(staged.kept, Bytes{0});
  ExpectWhole(staged);
}

TEST_F(ResumeTest, BeginsAnewWithoutAJournalOrWithOneOfAnotherPlan) {
  Put(files_ / "source/a.tfrecord", TfrecordBytes(1600, 10'000));
  for (const std::string& text : {std::string(), RenderJournalEntry(JournalHead{1, 1}), std::string("junk")}) {
    KillAfter(13 << 20);
    WriteFile(Private() / kJournalName, text);
    auto staged = Stage(Plan());
    EXPECT_EQ(staged.kept, Bytes{0});
    ExpectWhole(staged);
    staged.lease.reset();
    EXPECT_EQ(RemoveGeneration(root_, staged.directory.filename()), Removal::kRemoved);
  }
}

/// As often as SLIPWAY_KILL_ROUNDS says: ten times where nobody asks for more.
TEST_F(ResumeTest, KilledAtAnyMomentAndResumedTheCopyIsWhole) {
  const char* wanted = std::getenv("SLIPWAY_KILL_ROUNDS");
  const int rounds = wanted != nullptr ? std::atoi(wanted) : 10;
  const TemporaryDirectory memory("/dev/shm");
  for (int i = 0; i < 40; ++i) Put(files_ / fmt::format("source/{}.tfrecord", i), TfrecordBytes(5, 10'000));
  for (int i = 0; i < 3; ++i) Put(files_ / fmt::format("source/big{}.tfrecord", i), TfrecordBytes(900, 10'000));
  const auto seed = std::random_device()();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937 random(seed);
  int killed = 0;
  for (int round = 0; round < rounds; ++round) {
    root_ = round % 2 == 0 ? memory / "tier" : files_ / "tier";
    const int kills = 1 + static_cast<int>(random() % 3);
    for (int kill = 0; kill < kills; ++kill) {
      const pid_t child = InChild([&] { return !Stage(Plan()).directory.empty(); });
      ::usleep(random() % 40'000);
      ::kill(child, SIGKILL);
      int status = 0;
      ASSERT_EQ(::waitpid(child, &status, 0), child);
      if (WIFSIGNALED(status)) ++killed;
      for (const auto& generation : GenerationsIn(root_)) {
        EXPECT_THAT(VerifyGeneration(root_ / generation).damage, IsEmpty()) << "published, and not whole";
      }
    }
    const auto staged = Stage(Plan());
    ExpectWhole(staged);
    ASSERT_FALSE(HasFailure()) << "round " << round;
    RemoveTree(root_);
  }
  EXPECT_GT(killed, 0);
}

TEST_F(ResumeTest, ALeftoverDoesNotKeepATierFull) {
  if (!MountSmallDisk(root_, "size=24m,mode=0700")) GTEST_SKIP() << "cannot mount a tmpfs here";
  Put(files_ / "source/a.tfrecord", TfrecordBytes(1600, 10'000));
  Put(files_ / "other/b.tfrecord", TfrecordBytes(1600, 10'000));
  KillAfter(13 << 20);
  ASSERT_THAT(NamesOf(root_ / ".staging"), SizeIs(1));
  const auto staged = Stage(Plan("other"));
  EXPECT_THAT(NamesOf(root_ / ".staging"), IsEmpty());
  EXPECT_THAT(VerifyGeneration(staged.directory).damage, IsEmpty());
}

TEST_F(ResumeTest, ALeftoverIsRoomForItsOwnPlan) {
  if (!MountSmallDisk(root_, "size=24m,mode=0700")) GTEST_SKIP() << "cannot mount a tmpfs here";
  Put(files_ / "source/a.tfrecord", TfrecordBytes(1600, 10'000));
  KillAfter(13 << 20);
  EXPECT_GT(Stage(Plan()).kept, Bytes{0});
}

StagingPlan PlanOf(const std::filesystem::path& root, const std::string& generation) {
  StagingPlan plan;
  plan.root = root;
  plan.generation = generation;
  return plan;
}

TEST_F(ResumeTest, TwoStagingsDoNotCountOnTheSameRoom) {
  if (!MountSmallDisk(root_, "size=24m,mode=0700")) GTEST_SKIP() << "cannot mount a tmpfs here";
  const SpaceNeed need{Bytes{16u << 20}, 10};
  FreeSpace room;
  Generation one(root_, "one");
  one.Prepare();
  std::optional<FileLock> at_work = one.TryLockForStaging();
  auto first = Reservation::Take(PlanOf(root_, "one"), need, room);
  ASSERT_TRUE(first);
  EXPECT_FALSE(Reservation::Take(PlanOf(root_, "two"), need, room));
  EXPECT_LE(room.bytes, Bytes{8u << 20});
  Put(one.Private() / "half", std::string(8u << 20, 'x'));  // what it has taken counts once
  EXPECT_FALSE(Reservation::Take(PlanOf(root_, "two"), {Bytes{9u << 20}, 10}, room));
  EXPECT_TRUE(Reservation::Take(PlanOf(root_, "two"), {Bytes{7u << 20}, 10}, room));
  at_work.reset();  // dead: its reservation is nobody's
  EXPECT_TRUE(Reservation::Take(PlanOf(root_, "two"), {Bytes{14u << 20}, 10}, room));
}

}  // namespace
}  // namespace slipway::staging
