// What others have written is not carried out as the user: settings of a folder, runs of somebody else.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/end_to_end/workplace.h"

namespace slipway::test {
namespace {
namespace fs = std::filesystem;

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr uid_t kSomebodyElse = 12345;

class Trust : public testing::Test {
 protected:
  void SetUp() override {
    place_.WriteSpec("exp.yaml", "[sh, -c, 'echo planted is $PLANTED.']");
    place_.Write("slipway.yaml", "launch:\n  env: {PLANTED: here}\n");
  }

  Captured Run() const { return place_.Slipway({"run", "exp.yaml"}); }

  void ExpectRefused(const std::string& why) const {
    const auto ran = Run();
    EXPECT_EQ(ran.status.code, 3);
    EXPECT_THAT(ran.errors, AllOf(HasSubstr("slipway.yaml' may not decide what runs as"), HasSubstr(why)));
    EXPECT_FALSE(fs::exists(place_ / "runs"));
  }

  Workplace place_;
};

TEST_F(Trust, OfOnesOwnSettingsSaysWhatCodeTheyBring) {
  const auto ran = Run();
  EXPECT_EQ(ran.status.code, 0);
  EXPECT_THAT(ran.output, HasSubstr("planted is here."));
  EXPECT_THAT(ran.errors, HasSubstr("slipway.yaml:2 sets launch.env.PLANTED: here"));
}

TEST_F(Trust, IsNotGivenToSettingsOfSomebodyElse) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  ASSERT_EQ(::chown((place_ / "slipway.yaml").c_str(), kSomebodyElse, kSomebodyElse), 0);
  ExpectRefused("it belongs to 12345");
  EXPECT_EQ(place_.Slipway({"stage", "ls"}).status.code, 3) << "whoever reads settings";
}

TEST_F(Trust, IsNotGivenToSettingsThatEverybodyCanWrite) {
  fs::permissions(place_ / "slipway.yaml", fs::perms::others_write, fs::perm_options::add);
  ExpectRefused("any user can write to it");
}

TEST_F(Trust, IsNotGivenToSettingsInAFolderOpenToAll) {
  fs::permissions(place_ / "", fs::perms::all | fs::perms::sticky_bit);
  ExpectRefused("any user can write to its folder");
}

TEST_F(Trust, IsNotGivenToALinkOfSomebodyElse) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  fs::rename(place_ / "slipway.yaml", place_ / "mine.yaml");
  fs::create_symlink("mine.yaml", place_ / "slipway.yaml");
  EXPECT_EQ(Run().status.code, 0);
  ASSERT_EQ(::lchown((place_ / "slipway.yaml").c_str(), kSomebodyElse, kSomebodyElse), 0);
  fs::remove_all(place_ / "runs");
  ExpectRefused("it belongs to 12345");
}

TEST_F(Trust, IsAskedForBeforeARunOfSomebodyElseGoesOn) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  place_.WriteSpec("exp.yaml", "[sh, -c, 'test -e go && echo went on']");
  EXPECT_EQ(Run().status.code, 1);
  place_.Write("go", "");
  ASSERT_EQ(::chown(place_.RunFolder().c_str(), kSomebodyElse, kSomebodyElse), 0);
  const auto refused = place_.Slipway({"resume", "last"});
  EXPECT_EQ(refused.status.code, 3);
  EXPECT_THAT(refused.errors, AllOf(HasSubstr("it belongs to 12345; it runs sh -c 'test -e go && echo went on'"),
                                    HasSubstr("slipway resume test-"), HasSubstr("--trust")));
  EXPECT_THAT(refused.output, Not(HasSubstr("went on")));
  EXPECT_THAT(place_.Slipway({"resume", "last", "--trust"}).output, HasSubstr("went on"));
}

TEST_F(Trust, IsAskedForWhereOthersCanWriteIntoTheRun) {
  place_.WriteSpec("exp.yaml", "[sh, -c, 'exit 1']");
  Run();
  fs::permissions(place_.RunFolder() / "plan.json", fs::perms::others_write, fs::perm_options::add);
  const auto refused = place_.Slipway({"resume", "last"});
  EXPECT_EQ(refused.status.code, 3);
  EXPECT_THAT(refused.errors, HasSubstr("plan.json', any user can write to it"));
  const auto path = place_.RunFolder().string();
  fs::create_directory(place_ / "elsewhere");
  fs::rename(path, place_ / "elsewhere/moved");
  const auto by_path = place_.Slipway({"resume", "elsewhere/moved"});
  EXPECT_EQ(by_path.status.code, 3);
  EXPECT_THAT(by_path.errors, HasSubstr("slipway resume elsewhere/moved --trust")) << "the id finds it no more";
  EXPECT_THAT(place_.Slipway({"resume", "elsewhere/moved", "--trust"}).errors, HasSubstr("resuming moved"));
}

}  // namespace
}  // namespace slipway::test
