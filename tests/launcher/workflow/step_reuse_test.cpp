#include "launcher/run/workflow/step_reuse.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files.h"
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

}  // namespace
}  // namespace slipway::launcher
