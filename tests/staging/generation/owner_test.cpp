#include "staging/generation/owner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include "core/error.h"
#include "core/files.h"
#include "staging/generation/stage.h"
#include "staging/generation/verify.h"
#include "staging/plan/tiers.h"
#include "tests/staging/staging_support.h"

namespace slipway::staging {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const Owner kElsewhere{"0123456789abcdef", {77, 5, "another-boot"}, "node-b"};

void MakeOlder(const fs::path& directory, std::chrono::seconds by) {
  fs::last_write_time(directory / kOwnerName, fs::file_time_type::clock::now() - by);
}

TEST(Owner, IsReadAsItWasWritten) {
  EXPECT_EQ(ParseOwner(RenderOwner(kElsewhere)), kElsewhere);
  const Owner no_boot_id{"0123456789abcdef", {77, 5, ""}, "node-b"};
  EXPECT_EQ(ParseOwner(RenderOwner(no_boot_id)), no_boot_id);
}

TEST(Owner, WhatIsTornOrOfAnotherFormIsNone) {
  auto text = RenderOwner(kElsewhere);
  EXPECT_FALSE(ParseOwner(""));
  EXPECT_FALSE(ParseOwner(text.substr(0, text.size() - 1)));
  EXPECT_FALSE(ParseOwner("slipway.owner/2" + text.substr(15)));
}

TEST(Owner, OfThisMachineIsAtWorkWhileItRuns) {
  const TemporaryDirectory directory;
  EXPECT_FALSE(WhoWorksIn(directory.path()));
  EXPECT_FALSE(WhoWorksIn(directory / "nowhere"));
  ASSERT_TRUE(Succeeded(InChild([&] {
    new Ownership(directory.path());  // as a killed process leaves it
    return WhoWorksIn(directory.path()).has_value();
  })));
  ASSERT_TRUE(fs::exists(directory / kOwnerName));
  EXPECT_FALSE(WhoWorksIn(directory.path()));
  EXPECT_NO_THROW(Ownership(directory.path()));
  EXPECT_FALSE(fs::exists(directory / kOwnerName)) << "who ends in order takes it away";
}

TEST(Owner, OfAnotherMachineIsAtWorkUntilItIsSilentForLong) {
  const TemporaryDirectory directory;
  WriteFile(directory / kOwnerName, RenderOwner(kElsewhere));
  EXPECT_EQ(WhoWorksIn(directory.path()), "process 77 on node-b");
  EXPECT_THAT(MessageOf([&] { Ownership(directory.path()); }),
              AllOf(HasSubstr("taken over by process 77 on node-b"), HasSubstr("start again")));
  MakeOlder(directory.path(), kOwnerQuiet + std::chrono::seconds(1));
  EXPECT_FALSE(WhoWorksIn(directory.path()));
  EXPECT_NO_THROW(Ownership(directory.path()).CheckIn(directory.path()));
}

TEST(Owner, AClaimThatIsBeingMadeCountsForSeconds) {
  const TemporaryDirectory directory;
  WriteFile(directory / kOwnerName, "");
  EXPECT_TRUE(WhoWorksIn(directory.path()));
  MakeOlder(directory.path(), std::chrono::seconds(10));
  EXPECT_FALSE(WhoWorksIn(directory.path()));
}

TEST(Owner, FindsOutThatAnotherHasTakenOver) {
  const TemporaryDirectory directory;
  Ownership claim(directory.path());
  EXPECT_NO_THROW(claim.CheckIn(directory.path()));
  WriteFile(directory / kOwnerName, RenderOwner(kElsewhere));
  EXPECT_THAT(MessageOf([&] { claim.CheckIn(directory.path()); }), HasSubstr("process 77 on node-b"));
  EXPECT_TRUE(claim.lost());
  EXPECT_THROW(claim.Check(), Error);
  claim.GiveUp(directory.path());
  EXPECT_TRUE(fs::exists(directory / kOwnerName)) << "it is the other's";
}

/// Two machines that see the same tier, and whose locks are not the other's.
class LyingLocksTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Put(files_ / "source/a.tfrecord", TfrecordBytes(1600, 10'000));
    Put(files_ / "other/b.tfrecord", TfrecordBytes(3, 10'000));
    MakeDirectories(files_ / "locks of node-b");
    Generation(root_, Plan().generation).Prepare();
    ASSERT_EQ(::pipe(news_.data()), 0);
    ASSERT_EQ(::pipe(orders_.data()), 0);
  }
  StagingPlan Plan(const fs::path& source = "source") const {
    return PlanFor(RequestFor(files_ / source, root_, DataFormat::kTfrecord));
  }
  /// A stager on the other machine. It stops in the middle until GoOn(). True when it does as `outcome` says.
  pid_t StagerElsewhere(const std::function<bool()>& outcome) const {
    return InChild([&] {
      const bool apart =
          EnterOwnNamespaces() && ::sethostname("node-b", 6) == 0 &&
          ::mount((files_ / "locks of node-b").c_str(), (root_ / ".locks").c_str(), nullptr, MS_BIND, nullptr) == 0;
      if (!apart) Tell('x');
      return apart && outcome();
    });
  }
  StagedDataset StageWithAStop() const {
    bool stopped = false;
    return Stage(Plan(), {[&](const StageProgress& progress) {
                            if (stopped || progress.done.count < (5u << 20)) return;
                            stopped = true;
                            Tell('m');
                            Read(orders_[0]);
                          },
                          {}});
  }
  void Tell(char message) const { EXPECT_EQ(::write(news_[1], &message, 1), 1); }
  char Hear() const { return Read(news_[0]); }
  void GoOn() const { EXPECT_EQ(::write(orders_[1], "g", 1), 1); }

  static char Read(int fd) {
    char message = 0;
    EXPECT_EQ(::read(fd, &message, 1), 1);
    return message;
  }

  TemporaryDirectory files_;
  fs::path root_ = files_ / "tier";
  std::array<int, 2> news_{-1, -1};
  std::array<int, 2> orders_{-1, -1};
};

TEST_F(LyingLocksTest, AnotherMachineAtWorkIsWaitedForAndItsCopyAdopted) {
  const pid_t elsewhere = StagerElsewhere([&] { return !StageWithAStop().adopted; });
  if (Hear() == 'x') GTEST_SKIP() << "cannot have namespaces here";
  ASSERT_TRUE(Generation(root_, Plan().generation).TryLockForStaging()) << "the lock does not lie";
  std::string said;
  const auto staged = Stage(Plan(), {[&](const StageProgress& progress) {
                                       if (said.empty()) GoOn();
                                       said = progress.current;
                                     },
                                     {}});
  EXPECT_TRUE(staged.adopted);
  EXPECT_THAT(said, AllOf(HasSubstr("another run stages the same data"), HasSubstr("on node-b")));
  EXPECT_TRUE(Succeeded(elsewhere));
  EXPECT_THAT(VerifyGeneration(staged.directory).damage, IsEmpty());
}

TEST_F(LyingLocksTest, WhatAnotherMachineIsAtWorkOnIsNoLeftoverAndItsRoomIsReserved) {
  const pid_t elsewhere = StagerElsewhere([&] { return !StageWithAStop().adopted; });
  if (Hear() == 'x') GTEST_SKIP() << "cannot have namespaces here";
  EXPECT_THAT(RemoveLeftovers(root_), IsEmpty());
  EXPECT_EQ(LeftoversIn(root_).inodes, 0u);
  EXPECT_THAT(StagingsIn(root_), ElementsAre(Plan().generation));
  GoOn();
  EXPECT_TRUE(Succeeded(elsewhere));
}

TEST_F(LyingLocksTest, WhoWasSilentTooLongPublishesNothingOfWhoTookOver) {
  const pid_t elsewhere = StagerElsewhere(
      [&] { return MessageOf([&] { StageWithAStop(); }).find("has been taken over by process") != std::string::npos; });
  if (Hear() == 'x') GTEST_SKIP() << "cannot have namespaces here";
  MakeOlder(root_ / ".staging" / Plan().generation, kOwnerQuiet + std::chrono::seconds(1));
  bool both = false;
  const auto staged = Stage(Plan(), {[&](const StageProgress& progress) {
                                       if (both || progress.done.count < (9u << 20)) return;
                                       both = true;  // the silent one awakes while this one is in the middle
                                       GoOn();
                                       EXPECT_TRUE(Succeeded(elsewhere));
                                       EXPECT_THAT(GenerationsIn(root_), IsEmpty());
                                     },
                                     {}});
  EXPECT_TRUE(both);
  EXPECT_GT(staged.kept, Bytes{0}) << "what it left is taken over";
  EXPECT_THAT(VerifyGeneration(staged.directory).damage, IsEmpty());
  EXPECT_THAT(NamesOf(staged.directory), ElementsAre("a.tfrecord", "manifest.json", "records.index"));
}

}  // namespace
}  // namespace slipway::staging
