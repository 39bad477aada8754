// The list of runs: what it holds, and how little it reads again.

#include "launcher/serve/run_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <limits>

#include "core/files.h"
#include "launcher/run/workflow/run_looks.h"
#include "launcher/run_folder/end_cause.h"
#include "tests/ensemble/hand_clock.h"
#include "tests/support/slurm_workflow_run.h"
#include "tests/support/temp_directory.h"

namespace slipway::launcher {
namespace {

using testing::HasSubstr;

class RunLists : public testing::Test {
 protected:
  RunFolder Make(const std::string& name) const { return RunFolder::Create(directory_.path(), name, false); }

  static void End(const RunFolder& run) {
    auto state = run.ReadState();
    EndAs(state, Phase::kSucceeded, cause::Completed{});
    state.ended = "2026-01-02T03:04:05.000Z";
    run.WriteState(state);
  }

  /// The row of a run.
  Json RowOf(const RunFolder& run) {
    const auto document = list_.Read();
    for (const auto& row : document.at("runs")) {
      if (row.at("run") == run.id()) return row;
    }
    return {};
  }

  test::TempDirectory directory_;
  RunList list_{directory_.path()};
};

TEST_F(RunLists, HoldTheColumnsOfEachRun) {
  const auto run = Make("small");
  End(run);
  const auto document = list_.Read();
  EXPECT_EQ(document.at("schema"), "slipway.run-list/1");
  EXPECT_EQ(document.at("complete"), true);
  const auto row = RowOf(run);
  EXPECT_EQ(row.at("name"), "small");
  EXPECT_EQ(row.at("phase"), "succeeded");
  EXPECT_EQ(row.at("kind"), "single");
  EXPECT_EQ(row.at("ended"), 1767323045.0);
  EXPECT_EQ(row.at("started"), nullptr);
  for (const char* name : {"created", "tags", "description", "best", "progress", "reason"}) {
    EXPECT_TRUE(row.contains(name)) << name;
  }
}

TEST_F(RunLists, ReadAnEndedRunOnce) {
  for (int i = 0; i < 20; ++i) End(Make("small"));
  list_.Read();
  EXPECT_EQ(list_.states_read(), 20u);
  list_.Read();
  list_.Read();
  EXPECT_EQ(list_.states_read(), 20u);
  const auto live = Make("live");
  list_.Read();
  EXPECT_EQ(list_.states_read(), 21u);
  list_.Read();
  EXPECT_EQ(list_.states_read(), 22u) << "its manager may die without a word";
  End(live);
  list_.Read();
  list_.Read();
  EXPECT_EQ(list_.states_read(), 23u);
}

TEST_F(RunLists, ShowHowFarASingleRunIsAndItsLastValues) {
  const auto run = Make("small");
  auto state = run.ReadState();
  state.attempt = 1;
  run.WriteState(state);
  MakeDirectories(run.attempt(1));
  WriteFile(run.attempt(1) / "metrics.jsonl", "{\"step\":7,\"metrics\":{\"accuracy\":0.5,\"loss\":2}}\n");
  EXPECT_EQ(RowOf(run).at("progress").at("done"), 7);
  EXPECT_EQ(RowOf(run).at("best").at("value"), 2.0);
  WriteFile(run.attempt(1) / "metrics.jsonl", "{\"step\":14,\"metrics\":{\"accuracy\":0.75,\"loss\":1}}\n");
  EXPECT_EQ(RowOf(run).at("progress").at("done"), 14) << "the file has grown, the state is as before";
  state.metrics = {{"accuracy", 0.875}, {"loss", 0.5}};
  run.WriteState(state);
  End(run);
  const auto row = RowOf(run);
  EXPECT_EQ(row.at("metrics"), (Json{{"accuracy", 0.875}, {"loss", 0.5}}));
  EXPECT_EQ(row.at("best").at("metric"), "loss");
  EXPECT_EQ(row.at("best").at("goal"), "minimize");
  EXPECT_EQ(row.at("progress").at("unit"), "steps");
}

TEST_F(RunLists, WriteNoNumberThatJsonLacks) {
  const auto run = Make("small");
  auto state = run.ReadState();
  state.metrics = {{"loss", std::numeric_limits<double>::quiet_NaN()}};
  run.WriteState(state);
  End(run);
  EXPECT_TRUE(RowOf(run).at("best").is_null());
  EXPECT_TRUE(RowOf(run).at("metrics").at("loss").is_null());
}

TEST_F(RunLists, SeeChangesAtOnce) {
  const auto run = Make("small");
  EXPECT_EQ(RowOf(run).at("phase"), "created");
  End(run);
  EXPECT_EQ(RowOf(run).at("phase"), "succeeded");
  RemoveTree(run.path());
  EXPECT_TRUE(RowOf(run).is_null());
}

TEST_F(RunLists, ListWhatCannotBeReadWithTheReason) {
  const auto damaged = Make("damaged");
  const auto pipe = Make("pipe");
  const auto huge = Make("huge");
  const auto sound = Make("sound");
  WriteFile(damaged.path() / "state.json", "{");
  std::filesystem::remove(pipe.path() / "state.json");
  ASSERT_EQ(::mkfifo((pipe.path() / "state.json").c_str(), 0600), 0);
  std::filesystem::resize_file(huge.path() / "state.json", std::uintmax_t{40} << 30);
  EXPECT_EQ(RowOf(damaged).at("phase"), "unreadable");
  EXPECT_THAT(RowOf(damaged).at("reason").get<std::string>(), HasSubstr("damaged"));
  EXPECT_THAT(RowOf(pipe).at("reason").get<std::string>(), HasSubstr("is not a file"));
  EXPECT_THAT(RowOf(huge).at("reason").get<std::string>(), HasSubstr("no document of Slipway is larger"));
  EXPECT_EQ(RowOf(sound).at("phase"), "created");
  const auto workflow = Make("workflow");
  WriteFile(workflow.path() / "workflow.json", "{");
  EXPECT_EQ(RowOf(workflow).at("phase"), "unreadable");
  EXPECT_THAT(RowOf(workflow).at("reason").get<std::string>(), HasSubstr("damaged"));
  WriteFile(workflow.path() / "submitted.json", "{}");
  EXPECT_EQ(RowOf(workflow).at("phase"), "unreadable");
  test::WriteStepsOf(workflow, {"a"});
  std::filesystem::remove(workflow.path() / "submitted.json");
  EXPECT_EQ(RowOf(workflow).at("progress").at("total"), 1);
}

TEST_F(RunLists, ShowHowFarAWorkflowOfSlurmJobsIs) {
  const test::SlurmOutOfReach slurm("/absent.conf");
  const auto run = test::MakeSlurmWorkflowRun(directory_.path(), {"a", "b"});
  EXPECT_EQ(RowOf(run).at("progress").at("done"), 0);
  test::EnterStep(run, "a", StepState::kDone);
  EXPECT_EQ(RowOf(run).at("progress").at("done"), 1);
  EXPECT_EQ(RowOf(run).at("progress").at("total"), 2);
  test::EnterStep(run, "b", StepState::kFailed);
  EXPECT_EQ(RowOf(run).at("progress").at("done"), 1) << "also when the run has ended";
}

TEST_F(RunLists, SeeTheEndOfAWorkflowThatNoJobHasRecorded) {
  const test::SlurmOutOfReach slurm("/first.conf");
  ensemble::HandClock clock;
  RunList list(directory_.path(), clock);
  const auto run = test::MakeSlurmWorkflowRun(directory_.path(), {"a"});
  const auto row = [&] { return list.Read().at("runs").at(0); };
  EXPECT_THAT(row().at("reason").get<std::string>(), HasSubstr("/first.conf"));
  slurm.Name("/second.conf");
  EXPECT_THAT(row().at("reason").get<std::string>(), HasSubstr("/first.conf")) << "Slurm is asked every 10 s";
  clock.Sleep(kAskSlurmEvery);
  EXPECT_THAT(row().at("reason").get<std::string>(), HasSubstr("/second.conf"));
  test::EnterStep(run, "a", StepState::kFailed);
  clock.Sleep(kAskSlurmEvery);
  EXPECT_EQ(row().at("phase"), "failed");
  EXPECT_EQ(run.ReadState().phase, Phase::kFailed);
}

TEST_F(RunLists, AreEmptyWithoutADirectory) {
  RunList none(directory_ / "nowhere");
  EXPECT_TRUE(none.Read().at("runs").empty());
}

}  // namespace
}  // namespace slipway::launcher
