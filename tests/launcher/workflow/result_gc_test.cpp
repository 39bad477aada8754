#include "launcher/run/workflow/result_gc.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "core/clock.h"
#include "core/error.h"
#include "core/files.h"
#include "core/process_identity.h"
#include "launcher/run/workflow/result_lease.h"
#include "tests/support/privileges.h"
#include "tests/support/temp_directory.h"

namespace slipway::launcher {
namespace {

using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

constexpr double kNow = 1'000'000;
constexpr Seconds kDay(86400);

ResultUse UsedBefore(Seconds age, std::vector<std::string> made_from = {}) {
  return {kNow - age.count(), std::move(made_from), false, false};
}

TEST(JudgeResults, RemovesWhatIsOldAndOfNoRun) {
  auto of_run = UsedBefore(2 * kDay);
  of_run.of_run = true;
  const std::map<std::string, ResultUse> results{{"old", UsedBefore(2 * kDay)},
                                                 {"young", UsedBefore(0.5 * kDay)},
                                                 {"run", of_run},
                                                 {"held", UsedBefore(2 * kDay)}};
  EXPECT_THAT(JudgeResults(results, {"held"}, {kDay, RunsThatKeep::kAll}, kNow),
              UnorderedElementsAre(Pair("old", KeptBy::kNothing), Pair("young", KeptBy::kAge),
                                   Pair("run", KeptBy::kRun), Pair("held", KeptBy::kLease)));
}

TEST(JudgeResults, KeepsWhatAKeptResultWasMadeFrom) {
  auto last = UsedBefore(2 * kDay, {"middle"});
  last.of_run = true;
  const std::map<std::string, ResultUse> results{
      {"first", UsedBefore(3 * kDay)}, {"middle", UsedBefore(3 * kDay, {"first", "gone"})}, {"last", last}};
  EXPECT_THAT(JudgeResults(results, {}, {}, kNow),
              UnorderedElementsAre(Pair("first", KeptBy::kResult), Pair("middle", KeptBy::kResult),
                                   Pair("last", KeptBy::kRun)));
}

TEST(JudgeResults, RemovesResultsOfEndedRunsWhenAsked) {
  auto ended = UsedBefore(2 * kDay);
  ended.of_run = true;
  auto live = ended;
  live.of_live_run = true;
  EXPECT_THAT(JudgeResults({{"ended", ended}, {"live", live}}, {}, {kDay, RunsThatKeep::kLive}, kNow),
              UnorderedElementsAre(Pair("ended", KeptBy::kNothing), Pair("live", KeptBy::kRun)));
}

class Leases : public testing::Test {
 protected:
  /// A lease as another manager has left it.
  void Leave(const std::string& host, const ProcessIdentity& process, std::chrono::hours age) const {
    const auto file = directory_ / ".leases" / "other";
    MakeDirectories(file.parent_path());
    const Json holder{
        {"schema", "slipway.workflow.lease/1"}, {"run", "other"}, {"host", host}, {"process", ToJson(process)}};
    WriteFile(file, holder.dump() + "\nabc.1\n");
    const timespec then{::time(nullptr) - std::chrono::seconds(age).count(), 0};
    const timespec times[] = {then, then};
    ASSERT_EQ(::utimensat(AT_FDCWD, file.c_str(), times, 0), 0);
  }

  test::TempDirectory directory_;
};

TEST_F(Leases, HoldUntilTheirEnd) {
  {
    ResultLease lease(directory_.path(), "run");
    lease.Add("abc.1");
    lease.Add("def.2");
    EXPECT_THAT(HeldResults(directory_.path()), UnorderedElementsAre("abc.1", "def.2"));
  }
  EXPECT_THAT(HeldResults(directory_.path()), IsEmpty());
}

TEST_F(Leases, OfADeadProcessOfThisHostDoNotCount) {
  auto process = IdentityOf(::getpid());
  Leave(HostName(), process, {});
  EXPECT_THAT(HeldResults(directory_.path()), UnorderedElementsAre("abc.1"));
  for (const auto change : {0, 1, 2}) {
    auto dead = process;
    if (change == 0) dead.pid = 1 << 30;
    if (change == 1) ++dead.start_time;
    if (change == 2) dead.boot_id = "an earlier boot";
    Leave(HostName(), dead, {});
    EXPECT_THAT(HeldResults(directory_.path()), IsEmpty()) << change;
  }
}

TEST_F(Leases, OfAKilledManagerAreRemovedByTheNextOne) {
  const auto other = directory_ / ".leases" / "other";
  auto process = IdentityOf(::getpid());
  Leave(HostName(), process, {});
  { const ResultLease next(directory_.path(), "run"); }
  EXPECT_TRUE(std::filesystem::exists(other)) << "its process lives";
  ++process.start_time;
  Leave(HostName(), process, {});
  { const ResultLease next(directory_.path(), "run"); }
  EXPECT_FALSE(std::filesystem::exists(other));
}

TEST_F(Leases, ThatCannotBeReadStopNoManager) {
  MakeDirectories(directory_ / ".leases" / "other");
  EXPECT_THROW(HeldResults(directory_.path()), Error) << "gc removes nothing then";
  ResultLease lease(directory_.path(), "run");
  EXPECT_NO_THROW(lease.Add("abc.1"));
}

TEST_F(Leases, OfAnotherHostCountForADay) {
  Leave("another-host", {7, 1, "its boot"}, std::chrono::hours(23));
  EXPECT_THAT(HeldResults(directory_.path()), UnorderedElementsAre("abc.1"));
  Leave("another-host", {7, 1, "its boot"}, std::chrono::hours(25));
  EXPECT_THAT(HeldResults(directory_.path()), IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(directory_ / ".leases" / "other")) << "it is removed";
}

TEST(RequireWritableResults, RefusesThoseOfAnotherUser) {
  const test::TempDirectory directory;
  const auto results = directory / ".results";
  EXPECT_NO_THROW(RequireWritableResults(results)) << "nothing is there";
  MakeDirectories(results / ".leases");
  EXPECT_NO_THROW(RequireWritableResults(results));
  std::filesystem::permissions(directory.path(), std::filesystem::perms(0755));
  std::filesystem::permissions(results, std::filesystem::perms(0777));
  std::filesystem::permissions(results / ".leases", std::filesystem::perms(0555));
  EXPECT_TRUE(test::AsOrdinaryUser([&] {
    try {
      RequireWritableResults(results);
      return false;
    } catch (const Error& error) {
      return error.kind() == ErrorKind::kEnvironment && error.message().find(".leases'") != std::string::npos;
    }
  }));
  std::filesystem::permissions(results / ".leases", std::filesystem::perms::owner_all);
}

}  // namespace
}  // namespace slipway::launcher
