/// A folder for ranks, a loop that hears of them, and how tests start them and wait for their end.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/files.h"
#include "launcher/ranks/local/ranks.h"
#include "launcher/ranks/local/supervisor.h"
#include "tests/support/run_until.h"
#include "tests/support/temp_directory.h"

namespace slipway::launcher {

class RanksTest : public testing::Test {
 protected:
  RankLaunch Launch(int ranks, std::vector<std::string> command) const {
    RankLaunch launch;
    launch.ranks = ranks;
    launch.command = std::move(command);
    launch.environment = Environment::Inherited();
    launch.working_directory = directory_.path();
    launch.log_directory = directory_.path();
    launch.grace = std::chrono::milliseconds(300);
    launch.supervisor = supervisor_;
    return launch;
  }
  RankLaunch Script(int ranks, const std::string& script) const { return Launch(ranks, {"sh", "-c", script}); }

  /// Runs the loop until `done` holds; fails the test after a minute.
  template <class Condition>
  void Until(Condition done) {
    ASSERT_TRUE(test::RunUntil(loop_, done));
  }

  GroupOutcome RunToTheEnd(RankLaunch launch) {
    std::optional<GroupOutcome> outcome;
    const auto group = StartRanks(loop_, std::move(launch), [&](const GroupOutcome& end) { outcome = end; });
    group->Release();
    Until([&] { return outcome.has_value(); });
    return outcome.value_or(GroupOutcome());
  }

  std::string Log(int rank) const {
    return ReadFileIfPresent(directory_ / ("rank-0000" + std::to_string(rank) + ".log")).value_or("");
  }

  test::TempDirectory directory_;
  EventLoop loop_;
  Supervisor* supervisor_ = nullptr;
};

}  // namespace slipway::launcher
