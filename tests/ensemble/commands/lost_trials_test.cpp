// What is shown of trials that a killed manager has left behind.
#include "launcher/trials/lost_trials.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include "core/files.h"
#include "core/process_identity.h"
#include "tests/support/running_trials.h"
#include "tests/support/temp_directory.h"

namespace slipway::launcher {
namespace {

using testing::ElementsAre;

std::vector<ensemble::TrialState> ShownStates(const test::TempDirectory& folder) {
  auto trials = ensemble::TrialBook::OpenForReading(folder.path()).Trials();
  MarkLost(folder.path(), trials);
  std::vector<ensemble::TrialState> states;
  for (const auto& trial : trials) states.push_back(trial.state);
  return states;
}

TEST(LostTrials, AreThoseWhoseManagerAndProcessAreGoneFromThisHost) {
  using enum ensemble::TrialState;
  const test::TempDirectory folder;
  const auto lives = IdentityOf(::getpid());
  auto gone = lives;
  ++gone.start_time;
  const ProcessIdentity of_a_job;
  test::WriteRunningTrials(folder.path(),
                           {{HostName(), gone}, {HostName(), lives}, {HostName(), of_a_job}, {"elsewhere", gone}});
  EXPECT_THAT(ShownStates(folder), ElementsAre(kRunning, kRunning, kRunning, kRunning)) << "their manager lives";
  test::LoseManager(folder.path());
  EXPECT_THAT(ShownStates(folder), ElementsAre(kLost, kRunning, kRunning, kRunning));
  EXPECT_EQ(ensemble::TrialBook::OpenForReading(folder.path()).Trials().at(0).state, kRunning) << "only shown";
}

TEST(LostTrials, AreNoneWhileAProcessThatCannotBeSeenHoldsTheLock) {
  using enum ensemble::TrialState;
  const test::TempDirectory folder;
  auto gone = IdentityOf(::getpid());
  ++gone.start_time;
  test::WriteRunningTrials(folder.path(), {{HostName(), gone}});
  test::LoseManager(folder.path());
  {
    const auto held = FileLock::TryAcquire(folder / ensemble::kLockName, LockMode::kExclusive);
    ASSERT_TRUE(held);
    EXPECT_THAT(ShownStates(folder), ElementsAre(kRunning));
  }
  EXPECT_THAT(ShownStates(folder), ElementsAre(kLost));
}

}  // namespace
}  // namespace slipway::launcher
