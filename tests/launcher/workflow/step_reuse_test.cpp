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

Workflow WorkflowWithInput(const test::TempDirectory& folder) {
  WriteFile(folder / "in.txt", "1");
  return test::WorkflowOf(folder, "  only: {command: [echo], inputs: {i: in.txt}}\n");
}

/// One step, whose input is a file.
struct OneInput {
  explicit OneInput(Clock& clock = SystemClock()) : reuse(workflow, store, forced, made, clock) {}

  const test::TempDirectory folder;
  const std::filesystem::path file = folder / "in.txt";
  const Workflow workflow = WorkflowWithInput(folder);
  ResultStore store{folder.path()};
  const std::vector<std::string> forced = {};
  const std::map<std::string, std::string> made = {};
  StepReuse reuse;
};

/// Else a step would start without the id of its result when it is tried again, as after a full disk.
TEST(StepReuse, KeepsItsDecisionWhereAnotherOneFails) {
  OneInput step;
  const auto before = step.reuse.Decide(0);
  EXPECT_FALSE(step.reuse.DecideAgainIfChanged(0));
  std::filesystem::remove(step.file);
  std::filesystem::create_symlink("/proc/self/mem", step.file);  // has a stamp, and cannot be read
  EXPECT_THROW(step.reuse.DecideAgainIfChanged(0), SystemError);
  EXPECT_EQ(step.reuse.of(0).key, before.key);
  EXPECT_EQ(step.reuse.of(0).id, before.id);
  std::filesystem::remove(step.file);
  WriteFile(step.file, "22");
  EXPECT_TRUE(step.reuse.DecideAgainIfChanged(0)) << "it is still to be made";
  EXPECT_NE(step.reuse.of(0).key, before.key);
  EXPECT_FALSE(step.reuse.of(0).id.empty());
}

TEST(StepReuse, KnowsWhichStepHasHadNoResult) {
  OneInput step;
  EXPECT_TRUE(step.reuse.Decide(0).is_first);
  EXPECT_EQ(step.reuse.of(0).why, "it has not run yet");
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
  SlowLooks clock;
  OneInput step(clock);
  step.reuse.Decide(0);
  clock.ahead = std::chrono::hours(1);  // than the last change: it has been quiet for long
  EXPECT_FALSE(step.reuse.DecideAgainIfChanged(0));
  WriteFile(step.file, "22");
  EXPECT_FALSE(step.reuse.DecideAgainIfChanged(0)) << "the look before counts";
  step.reuse.ForgetLooks();
  EXPECT_TRUE(step.reuse.DecideAgainIfChanged(0));
  step.reuse.ForgetLooks();
  clock.ahead = std::chrono::hours(-1);  // it changes while it is looked at
  EXPECT_FALSE(step.reuse.DecideAgainIfChanged(0));
  WriteFile(step.file, "333");
  EXPECT_TRUE(step.reuse.DecideAgainIfChanged(0)) << "the look before does not count";
}

TEST(ChangedInputs, AreFoundWithTheTimeOfTheirChange) {
  OneInput step;
  const auto stamps = step.reuse.Decide(0).stamps;
  const auto now = SystemClock().Now();
  const auto changed = [&](WallTime started) { return FindChangedInput(step.workflow.steps[0], stamps, started); };
  EXPECT_FALSE(changed(now + std::chrono::hours(1)));
  WriteFile(step.file, "22");
  ASSERT_TRUE(changed(now + std::chrono::hours(1)));
  EXPECT_EQ(changed(now)->name, "i");
  EXPECT_TRUE(changed(now + std::chrono::hours(1))->before_start);
  EXPECT_FALSE(changed(now - std::chrono::hours(1))->before_start);
  std::filesystem::remove(step.file);
  ASSERT_TRUE(changed(now + std::chrono::hours(1)));
  EXPECT_FALSE(changed(now + std::chrono::hours(1))->before_start) << "nothing says when it went";
}

}  // namespace
}  // namespace slipway::launcher
