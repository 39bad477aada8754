// kill -9 of the manager: what stood at the gate never runs, what runs ends.

#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <fstream>
#include <thread>

#include "core/clock.h"
#include "core/process.h"
#include "tests/support/temp_directory.h"

namespace slipway::launcher {
namespace {
namespace fs = std::filesystem;

class ManagerDeath : public testing::TestWithParam<const char*> {
 protected:
  ChildProcess Start(const std::string& mode, const std::string& script) const {
    SpawnOptions options;
    options.argv = {SLIPWAY_BUILD_DIR "/tests/slipway_test_manager",
                    mode,
                    GetParam(),
                    directory_.path().string(),
                    "sh",
                    "-c",
                    script};
    return ChildProcess::Spawn(options);
  }

  /// True when `condition` holds within `limit`.
  template <class Condition>
  static bool Within(std::chrono::milliseconds limit, Condition condition) {
    const auto deadline = SystemClock().Steady() + limit;
    while (SystemClock().Steady() < deadline) {
      if (condition()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return condition();
  }

  test::TempDirectory directory_;
};

TEST_P(ManagerDeath, BeforeTheGateOpensMeansThatNothingRuns) {
  auto manager = Start("hold", "touch ran");
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  manager.Signal(SIGKILL);
  manager.Wait();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_FALSE(fs::exists(directory_ / "ran"));
}

TEST_P(ManagerDeath, EndsTheRanksAndTheirChildren) {
  // The grandchild ignores SIGTERM; only the end of the whole group takes it.
  auto manager = Start(
      "run", "sh -c 'trap \"\" TERM; echo $$ > grandchild.$RANK; sleep 600 & wait' & echo $$ > child.$RANK; wait");
  std::vector<ProcessIdentity> processes;
  for (int rank = 0; rank < (std::string(GetParam()) == "2" ? 2 : 1); ++rank) {
    for (const auto* kind : {"child", "grandchild"}) {
      const auto file = directory_ / (std::string(kind) + "." + std::to_string(rank));
      int pid = 0;
      ASSERT_TRUE(Within(std::chrono::seconds(60), [&] { return (std::ifstream(file) >> pid) && pid > 0; })) << file;
      processes.push_back(IdentityOf(pid));
      ASSERT_TRUE(IsAlive(processes.back())) << file;
    }
  }
  manager.Signal(SIGKILL);
  manager.Wait();
  EXPECT_TRUE(Within(std::chrono::seconds(60), [&] {
    return std::none_of(processes.begin(), processes.end(), [](const auto& each) { return IsAlive(each); });
  }));
}

INSTANTIATE_TEST_SUITE_P(Ranks, ManagerDeath, testing::Values("1", "2", "supervised"));

}  // namespace
}  // namespace slipway::launcher
