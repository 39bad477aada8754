#include "launcher/run/workflow/step_reuse.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/clock.h"
#include "core/error.h"
#include "core/files.h"
#include "launcher/run/workflow/step_end.h"
#include "launcher/run/workflow/step_values.h"
#include "tests/launcher/workflow/workflow_of.h"
#include "tests/support/temp_directory.h"

namespace slipway::launcher {
namespace {

TEST(ValuesOfMetrics, AreTheLastOnesAndNoneWhereTheLastIsNoNumber) {
  const test::TempDirectory folder;
  WriteFile(folder / "metrics.jsonl",
            R"({"metrics": {"loss": 0.5, "score": 1, "rate": 2.0, "best": 3}}
{"metrics": {"loss": NaN, "score": 7}}
{"metrics": {"rate": "Infinity"}}
{"metrics": {"lo)");
  EXPECT_EQ(ValuesOfMetrics(folder / "metrics.jsonl").dump(), R"({"metrics":{"score":7,"best":3}})");
  EXPECT_EQ(ValuesOfMetrics(folder / "none.jsonl").dump(), R"({"metrics":{}})");
}

/// Else a step would start without the id of its result when it is tried again, as after a full disk.
TEST(StepReuse, KeepsItsDecisionWhereAnotherOneFails) {
  const test::TempDirectory folder;
  const auto file = folder / "in.txt";
  WriteFile(file, "1");
  const auto workflow = test::WorkflowOf(folder, "  only: {command: [echo], inputs: {i: in.txt}}\n");
  ResultStore store(folder.path());
  const std::vector<std::string> forced;
  const std::map<std::string, std::string> made;
  StepReuse reuse(workflow, store, forced, made);
  const auto before = reuse.Decide(0);
  EXPECT_FALSE(reuse.DecideAgainIfChanged(0));
  std::filesystem::remove(file);
  std::filesystem::create_symlink("/proc/self/mem", file);  // has a stamp, and cannot be read
  EXPECT_THROW(reuse.DecideAgainIfChanged(0), SystemError);
  EXPECT_EQ(reuse.of(0).key, before.key);
  EXPECT_EQ(reuse.of(0).id, before.id);
  std::filesystem::remove(file);
  WriteFile(file, "22");
  EXPECT_TRUE(reuse.DecideAgainIfChanged(0)) << "it is still to be made";
  EXPECT_NE(reuse.of(0).key, before.key);
  EXPECT_FALSE(reuse.of(0).id.empty());
}

/// Every look takes a second, so it counts for 20.
class SlowLooks : public Clock {
 public:
  WallTime Now() override { return SystemClock().Now() + ahead; }
  SteadyTime Steady() override { return SteadyTime(seconds_ += std::chrono::seconds(1)); }
  void Sleep(std::chrono::nanoseconds) override {}

  std::chrono::hours ahead{0};  ///< of the clock of the file system

 private:
  std::chrono::seconds seconds_{0};
};

TEST(StepReuse, CountsALongLookForOthersUnlessSomethingHadJustChanged) {
  const test::TempDirectory folder;
  const auto file = folder / "in.txt";
  WriteFile(file, "1");
  const auto workflow = test::WorkflowOf(folder, "  only: {command: [echo], inputs: {i: in.txt}}\n");
  ResultStore store(folder.path());
  const std::vector<std::string> forced;
  const std::map<std::string, std::string> made;
  SlowLooks clock;
  StepReuse reuse(workflow, store, forced, made, clock);
  reuse.Decide(0);
  clock.ahead = std::chrono::hours(1);  // than the last change: it has been quiet for long
  EXPECT_FALSE(reuse.DecideAgainIfChanged(0));
  WriteFile(file, "22");
  EXPECT_FALSE(reuse.DecideAgainIfChanged(0)) << "the look before counts";
  reuse.ForgetLooks();
  EXPECT_TRUE(reuse.DecideAgainIfChanged(0));
  reuse.ForgetLooks();
  clock.ahead = std::chrono::hours(-1);  // it changes while it is looked at
  EXPECT_FALSE(reuse.DecideAgainIfChanged(0));
  WriteFile(file, "333");
  EXPECT_TRUE(reuse.DecideAgainIfChanged(0)) << "the look before does not count";
}

TEST(ChangedInputs, AreFoundWithTheTimeOfTheirChange) {
  const test::TempDirectory folder;
  const auto file = folder / "in.txt";
  WriteFile(file, "1");
  const auto workflow = test::WorkflowOf(folder, "  only: {command: [echo], inputs: {i: in.txt}}\n");
  ResultStore store(folder.path());
  const std::vector<std::string> forced;
  const std::map<std::string, std::string> made;
  StepReuse reuse(workflow, store, forced, made);
  const auto stamps = reuse.Decide(0).stamps;
  const auto now = SystemClock().Now();
  const auto changed = [&](WallTime started) { return FindChangedInput(workflow.steps[0], stamps, started); };
  EXPECT_FALSE(changed(now + std::chrono::hours(1)));
  WriteFile(file, "22");
  ASSERT_TRUE(changed(now + std::chrono::hours(1)));
  EXPECT_EQ(changed(now)->name, "i");
  EXPECT_TRUE(changed(now + std::chrono::hours(1))->before_start);
  EXPECT_FALSE(changed(now - std::chrono::hours(1))->before_start);
  std::filesystem::remove(file);
  ASSERT_TRUE(changed(now + std::chrono::hours(1)));
  EXPECT_FALSE(changed(now + std::chrono::hours(1))->before_start) << "nothing says when it went";
}

}  // namespace
}  // namespace slipway::launcher
