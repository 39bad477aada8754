// Views are read again when, and only when, something has changed.

#include "launcher/serve/run_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/error.h"
#include "launcher/run_folder/end_cause.h"
#include "tests/support/grown_run.h"
#include "tests/support/slurm_workflow_run.h"
#include "tests/support/temp_directory.h"

namespace slipway::launcher {
namespace {

class RunSources : public testing::Test {
 protected:
  void AppendMetrics(int step) const {
    const auto line = R"({"time":5,"step":)" + std::to_string(step) + R"(,"metrics":{"loss":2}})";
    test::AppendTo(run_, "attempt-1/metrics.jsonl", line + "\n");
  }

  test::TempDirectory directory_;
  const RunFolder run_ = RunFolder::Create(directory_ / "runs", "small", false);
  RunSource source_{directory_ / "runs"};
};

TEST_F(RunSources, GiveTheSameViewUntilARunChanges) {
  auto state = run_.ReadState();
  state.attempt = 1;
  run_.WriteState(state);
  const auto first = source_.Read(run_.id());
  source_.Read(run_.id());  // the stamps of attempt 1 are known now
  const auto second = source_.Read(run_.id());
  EXPECT_EQ(second, source_.Read(run_.id()));
  AppendMetrics(1);
  const auto third = source_.Read(run_.id());
  EXPECT_NE(third, second);
  EXPECT_EQ(third->curves.at(0).count, 1u);
  AppendMetrics(2);
  EXPECT_EQ(source_.Read(run_.id())->curves.at(0).count, 2u);
}

TEST_F(RunSources, MakeOneEventOfEachChange) {
  auto state = run_.ReadState();
  EndAs(state, Phase::kFailed, cause::Completed{});
  state.reason = "two\n\nlines: data: \r\n<script>";
  run_.WriteState(state);
  const auto first = source_.Changes(run_.id(), nullptr);
  ASSERT_TRUE(first.event);
  EXPECT_TRUE(first.event->starts_with("event: view\ndata: {"));
  EXPECT_TRUE(first.event->ends_with("}\n\n"));
  EXPECT_EQ(std::ranges::count(*first.event, '\n'), 3) << "line breaks in a value do not end the event";
  EXPECT_EQ(std::ranges::count(*first.event, '\r'), 0);
  const auto second = source_.Changes(run_.id(), first.view);
  EXPECT_EQ(second.view, first.view);
  EXPECT_FALSE(second.event);
}

TEST_F(RunSources, NeverLeaveTheRunsDirectory) {
  const auto outside = RunFolder::Create(directory_ / "others", "secret", false);
  for (const std::string& id :
       {"../others/" + outside.id(), outside.path().string(), std::string("."), std::string(".."), std::string(),
        run_.id() + "/", "./" + run_.id(), run_.path().string(), run_.id() + std::string(1, '\0'),
        run_.id().substr(0, 8), std::string("last")}) {
    EXPECT_THROW(source_.Read(id), Error) << id;
  }
  EXPECT_EQ(source_.Read(run_.id())->run, run_.id());
}

TEST_F(RunSources, ForgetTheViewsThatAreUsedLeast) {
  for (std::size_t i = 0; i < 2 * RunSource::kMostRemembered; ++i) {
    source_.Read(RunFolder::Create(directory_ / "runs", "more", false).id());
  }
  EXPECT_EQ(source_.Read(run_.id())->run, run_.id());
}

TEST_F(RunSources, MakeOneDocumentOfSeveralRuns) {
  const auto other = RunFolder::Create(directory_ / "runs", "other", false);
  const auto document = Json::parse(ViewText({source_.Read(run_.id()), source_.Read(other.id())}));
  EXPECT_EQ(document.at("schema"), "slipway.view/1");
  ASSERT_EQ(document.at("runs").size(), 2u);
  EXPECT_EQ(document.at("runs")[1].at("run"), other.id());
}

TEST_F(RunSources, KeepThePageOfSlurmJobsUntilAFileChanges) {
  const test::SlurmOutOfReach slurm("/first.conf");
  const auto run = test::MakeSlurmWorkflowRun(directory_ / "runs", {"a", "b"});
  const auto first = source_.WorkflowPageOf(run.id());
  EXPECT_THAT(first, testing::HasSubstr("/first.conf"));
  slurm.Name("/second.conf");
  EXPECT_EQ(source_.WorkflowPageOf(run.id()), first) << "Slurm is not asked each time";
  test::EnterStep(run, "a", StepState::kDone);
  const auto second = source_.WorkflowPageOf(run.id());
  EXPECT_THAT(second, testing::HasSubstr("/second.conf"));
  EXPECT_THAT(second, testing::HasSubstr("1 waiting, 1 done of 2 steps"));
  test::EnterStep(run, "b", StepState::kDone);
  EXPECT_THAT(source_.WorkflowPageOf(run.id()), testing::HasSubstr("succeeded"));
}

TEST_F(RunSources, ListRunsAsText) {
  EXPECT_FALSE(source_.ReadAhead()) << "one run is read at once";
  EXPECT_EQ(Json::parse(source_.Runs()).at("runs").size(), 1u);
}

}  // namespace
}  // namespace slipway::launcher
