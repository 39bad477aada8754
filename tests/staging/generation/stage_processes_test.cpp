#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <thread>

#include "core/error.h"
#include "core/files.h"
#include "staging/dataset/journal.h"
#include "staging/generation/reservation.h"
#include "staging/generation/stage.h"
#include "tests/staging/staging_support.h"
#include "tests/support/file_events.h"

namespace slipway::staging {
namespace {

namespace fs = std::filesystem;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class StageProcessesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Put(files_ / "source/a.tfrecord", TfrecordBytes(100, 10'000));
    ASSERT_EQ(::pipe(pipe_.data()), 0);
  }
  ~StageProcessesTest() override {
    for (const int fd : pipe_) ::close(fd);
  }
  StagingPlan Plan() const { return PlanFor(RequestFor(files_ / "source", root_, DataFormat::kTfrecord)); }
  void Tell(char message) const { ASSERT_EQ(::write(pipe_[1], &message, 1), 1); }
  char Hear() const {
    char message = 0;
    EXPECT_EQ(::read(pipe_[0], &message, 1), 1);
    return message;
  }
  /// A child that stops for good in the middle of the copy, once it has told so.
  pid_t StuckStager() const {
    return InChild([this] {
      Stage(Plan(), {[this](const StageProgress&) {
                       Tell('m');
                       while (true) ::pause();
                     },
                     {}});
      return true;
    });
  }
  static void Kill(pid_t child) {
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
  }

  TemporaryDirectory files_;
  fs::path root_ = files_ / "tier";
  std::array<int, 2> pipe_{-1, -1};
};

TEST_F(StageProcessesTest, StagesAfterAKillInTheMiddleAndLeavesNothingBehind) {
  const pid_t child = StuckStager();
  ASSERT_EQ(Hear(), 'm');
  Kill(child);
  EXPECT_THAT(NamesOf(root_ / ".staging"), SizeIs(1));
  EXPECT_THAT(GenerationsIn(root_), IsEmpty());
  EXPECT_FALSE(Stage(Plan()).adopted);
  EXPECT_THAT(NamesOf(root_ / ".staging"), IsEmpty());
  EXPECT_THAT(GenerationsIn(root_), SizeIs(1));
}

TEST_F(StageProcessesTest, LeftoversOfOtherDatasetsStayForADayButNotLonger) {
  const pid_t dead = StuckStager();
  ASSERT_EQ(Hear(), 'm');
  Kill(dead);
  const auto leftover = root_ / ".staging" / NamesOf(root_ / ".staging").at(0);
  Put(files_ / "source/a.tfrecord", TfrecordBytes(50, 10'000));  // another generation from here on
  Stage(Plan());
  EXPECT_TRUE(fs::exists(leftover));
  fs::last_write_time(leftover / kJournalName, fs::file_time_type::clock::now() - std::chrono::hours(25));
  Stage(Plan());
  EXPECT_FALSE(fs::exists(leftover));
}

TEST_F(StageProcessesTest, WorkInProgressIsNoLeftover) {
  const pid_t alive = StuckStager();
  ASSERT_EQ(Hear(), 'm');
  EXPECT_THAT(RemoveLeftovers(root_), IsEmpty());
  Kill(alive);
  EXPECT_THAT(RemoveLeftovers(root_), SizeIs(1));
}

TEST_F(StageProcessesTest, OfTwoAtOnceExactlyOneCopies) {
  const auto stage = [this] {
    const auto staged = Stage(Plan(), {[](const StageProgress&) { ::usleep(20'000); }, {}});
    Tell(staged.adopted ? 'a' : 'c');
    return ReadFile(staged.directory / "a.tfrecord") == TfrecordBytes(100, 10'000);
  };
  const pid_t first = InChild(stage);
  const pid_t second = InChild(stage);
  EXPECT_TRUE(Succeeded(first));
  EXPECT_TRUE(Succeeded(second));
  EXPECT_THAT(std::string({Hear()}) + Hear(), ::testing::UnorderedElementsAre('c', 'a'));
}

TEST_F(StageProcessesTest, WaitingForAnotherRunCanBeCancelled) {
  const pid_t child = StuckStager();
  ASSERT_EQ(Hear(), 'm');
  std::string said;
  const StageOptions options{[&](const StageProgress& progress) { said = progress.current; },
                             [&] { return !said.empty(); }};
  EXPECT_THROW(Stage(Plan(), options), Error);
  EXPECT_THAT(said, ::testing::HasSubstr("another run stages the same data"));
  Kill(child);
}

TEST_F(StageProcessesTest, ALeaseEndsWithItsProcess) {
  const pid_t child = InChild([this] {
    const auto staged = Stage(Plan());
    Tell('s');
    while (true) ::pause();
    return true;
  });
  ASSERT_EQ(Hear(), 's');
  const auto generation = GenerationsIn(root_).at(0);
  EXPECT_EQ(RemoveGeneration(root_, generation), Removal::kInUse);
  Kill(child);
  EXPECT_EQ(RemoveGeneration(root_, generation), Removal::kRemoved);
  EXPECT_EQ(RemoveGeneration(root_, generation), Removal::kNotThere);
}

TEST_F(StageProcessesTest, WhoIsWaitedForIsNamed) {
  const pid_t child = StuckStager();
  ASSERT_EQ(Hear(), 'm');
  std::string said;
  Bytes total;
  const StageOptions options{[&](const StageProgress& progress) {
                               said = progress.current;
                               total = progress.total;
                             },
                             [&] { return !said.empty(); }};
  EXPECT_THROW(Stage(Plan(), options), Error);
  EXPECT_THAT(said, ::testing::HasSubstr(fmt::format("(process {} (", child)));
  EXPECT_GT(total, Bytes{0}) << "somebody is at work on this data";
  Kill(child);
}

TEST_F(StageProcessesTest, WaitingForTheLedgerIsSaidAndCanBeCancelled) {
  MakeDirectories(root_ / ".locks");
  fs::permissions(root_, fs::perms::owner_all);
  const auto ledger = FileLock::Acquire(Reservation::Ledger(root_), LockMode::kExclusive);
  std::string said;
  Bytes total{1};
  const StageOptions options{[&](const StageProgress& progress) {
                               said = progress.current;
                               total = progress.total;
                             },
                             [&] { return !said.empty(); }};
  EXPECT_THAT(MessageOf([&] { Stage(Plan(), options); }), ::testing::HasSubstr("was cancelled"));
  EXPECT_THAT(said, ::testing::HasSubstr("counts the free space"));
  EXPECT_THAT(said, ::testing::HasSubstr(fmt::format("process {}", ::getpid())));
  EXPECT_EQ(total, Bytes{0}) << "nobody is at work on this data yet";
}

TEST_F(StageProcessesTest, ALongLookDoesNotKeepAGeneration) {
  Stage(Plan()).lease.reset();
  const auto generation = GenerationsIn(root_).at(0);
  const auto file = Generation(root_, generation).StageLock();
  auto look = FileLock::TryLook(file);
  EXPECT_FALSE(Generation(root_, generation).WhoStages()) << "one look does not see another";
  const test::FileEvents tries(file, IN_CLOSE);
  std::thread looker([&] {
    EXPECT_TRUE(tries.TakeNext()) << "nobody has met the look";
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    look.reset();
  });
  EXPECT_EQ(RemoveGeneration(root_, generation), Removal::kRemoved);
  looker.join();
}

TEST_F(StageProcessesTest, WhatIsKeptStaysWhenARunEndsThatDidNotKnow) {
  auto staged = Stage(Plan());
  const auto generation = GenerationsIn(root_).at(0);
  MarkKept(root_, generation);
  staged.lease.reset();
  EXPECT_EQ(RemoveGeneration(root_, generation), Removal::kKept);
  EXPECT_TRUE(Stage(Plan()).adopted);
  EXPECT_EQ(EvictGeneration(root_, generation), Removal::kRemoved);
  EXPECT_FALSE(IsKept(root_, generation));
}

TEST_F(StageProcessesTest, ALookLeavesNoLockFiles) {
  MakeDirectories(root_ / ".staging/train-0123456789abcdef");
  EXPECT_THAT(StagingsIn(root_), IsEmpty());
  LeftoversIn(root_);
  EXPECT_FALSE(fs::exists(root_ / ".locks"));
  EXPECT_THAT(RemoveLeftovers(root_), SizeIs(1)) << "also where a cleaner has removed the locks";
}

}  // namespace
}  // namespace slipway::staging
