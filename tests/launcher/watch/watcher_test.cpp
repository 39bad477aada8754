// What `slipway watch` reads of real run folders, and what it does not read again.

#include "launcher/watch/watcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "core/files.h"
#include "launcher/run/workflow/run_looks.h"
#include "launcher/run_folder/pause_note.h"
#include "launcher/run_folder/run_folder.h"
#include "launcher/watch/background_reader.h"
#include "launcher/watch/read_single.h"
#include "launcher/watch/read_workflow_run.h"
#include "launcher/watch/run_list.h"
#include "tests/ensemble/hand_clock.h"
#include "tests/support/forked_child.h"
#include "tests/support/grown_run.h"
#include "tests/support/running_trials.h"
#include "tests/support/slurm_workflow_run.h"
#include "tests/support/temp_directory.h"

namespace slipway::launcher::watch {
namespace {

using test::AppendTo;
using testing::ElementsAre;
using testing::HasSubstr;

class Watching : public testing::Test {
 protected:
  RunFolder Make(const std::string& name, Phase phase, bool ensemble = false) const {
    const auto folder = RunFolder::Create(directory_.path(), name, ensemble);
    Enter(folder, phase);
    return folder;
  }

  void Enter(const RunFolder& folder, Phase phase) const { test::EnterPhase(folder, phase, 1); }

  /// Until nothing is left to read: the first look is quick and not whole.
  std::shared_ptr<const WatchData> LookTwice(const Interest& interest) {
    watcher_.Look(interest);
    return watcher_.Look(interest);
  }

  static Interest Of(const RunFolder& folder) {
    Interest interest;
    interest.run = folder.path();
    return interest;
  }

  test::TempDirectory directory_;
  Watcher watcher_{directory_.path()};
};

TEST_F(Watching, ReadsNothingAgainThatHasNotChanged) {
  const auto folder = Make("small", Phase::kFailed);
  AppendTo(folder, "attempt-1/metrics.jsonl",
           R"({"time":5,"step":1,"metrics":{"loss":2}})"
           "\n");
  const auto first = LookTwice(Of(folder));
  ASSERT_TRUE(first->run);
  EXPECT_TRUE(first->is_whole);
  EXPECT_EQ(first->run->curves.at(0).count, 1u);
  EXPECT_EQ(watcher_.Look(Of(folder)), first);
  AppendTo(folder, "attempt-1/metrics.jsonl",
           R"({"time":6,"step":2,"metrics":{"loss":1}})"
           "\n");
  auto next = first;
  for (int i = 0; i < 3000 && next == first; ++i) {  // it rests after each read
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    next = watcher_.Look(Of(folder));
  }
  EXPECT_EQ(next->run->curves.at(0).count, 2u);
}

TEST_F(Watching, ShowsRanksAndWhatTheWatchFound) {
  const auto folder = Make("ranks", Phase::kFailed);
  AppendTo(folder, "plan.json",
           R"({"engine":"local","ranks":2,"spec":{"launch":{"nodes":1,"ranks_per_node":2,"cpus_per_rank":1,)"
           R"("gpus_per_rank":0,"time_limit":60},"data":{"train":{}},"checkpoint":{"every":5}}})");
  AppendTo(folder, "attempt-1/rank-00001.log", "hello\n");
  AppendTo(
      folder, "attempt-1/watch.json",
      R"({"schema":"slipway.watch/1","kind":"stalled","message":"rank 1 is stopped","ranks":[{"rank":1,"host":"n1",)"
      R"("pid":7,"state":"stopped","last":"slipway_allreduce","step":5}]})");
  auto interest = Of(folder);
  interest.ranks = true;
  const auto data = LookTwice(interest);
  ASSERT_EQ(data->ranks.size(), 2u);
  EXPECT_THAT(data->finding, HasSubstr("rank 1 is stopped"));
  EXPECT_TRUE(data->ranks[1].culprit);
  EXPECT_TRUE(data->ranks[1].last_output);
  EXPECT_FALSE(data->ranks[0].last_output);
  EXPECT_THAT(data->plan.datasets, ElementsAre("train"));
  EXPECT_EQ(data->plan.time_limit_s, 60);
  EXPECT_EQ(data->plan.checkpoint_every_s, 5);
}

TEST_F(Watching, FollowsALog) {
  const auto folder = Make("logs", Phase::kFailed);
  auto interest = Of(folder);
  interest.log = true;
  EXPECT_FALSE(LookTwice(interest)->log.exists);
  AppendTo(folder, "attempt-1/rank-00000.log", "one\ntwo\n");
  EXPECT_THAT(watcher_.Look(interest)->log.lines, ElementsAre("one", "two"));
  AppendTo(folder, "attempt-1/rank-00000.log", "three\n");
  EXPECT_THAT(watcher_.Look(interest)->log.lines, ElementsAre("one", "two", "three"));
}

TEST_F(Watching, SaysWhyARunCannotBeReadUntilItCan) {
  const auto folder = Make("damaged", Phase::kFailed);
  const auto sound = ReadFile(folder.path() / "state.json");
  WriteFile(folder.path() / "state.json", "{");
  const auto data = watcher_.Look(Of(folder));
  EXPECT_FALSE(data->run);
  EXPECT_FALSE(data->trouble.empty());
  EXPECT_EQ(watcher_.Look(Of(folder)), data) << "no news";
  WriteFile(folder.path() / "state.json", sound);
  const auto again = watcher_.Look(Of(folder));
  ASSERT_TRUE(again->run);
  EXPECT_EQ(again->trouble, "");
}

TEST_F(Watching, SurvivesABookThatIsNone) {
  const auto folder = Make("search", Phase::kFailed, true);
  WriteFile(folder.path() / "trials.db", "no book");
  const auto data = LookTwice(Of(folder));
  ASSERT_TRUE(data->run);
  EXPECT_FALSE(data->run->warnings.empty());
  EXPECT_TRUE(data->states.empty());
}

TEST_F(Watching, SeesThatTrialsOfALostRunEndAfterIt) {
  const auto folder = Make("search", Phase::kRunning, true);
  test::ForkedChild program([] {});
  test::WriteRunningTrials(folder.path(), {{HostName(), IdentityOf(program.pid())}});
  test::LoseManager(folder.path());
  auto state = folder.ReadState();
  ++state.manager.start_time;
  folder.WriteState(state);
  auto data = LookTwice(Of(folder));
  ASSERT_EQ(data->run->phase, Phase::kLost);
  ASSERT_EQ(data->run->trials->state.at(0), "running");
  program.Kill();
  for (int i = 0; i < 3000 && data->run->trials->state.at(0) == "running"; ++i) {  // it rests after each read
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    data = watcher_.Look(Of(folder));
  }
  EXPECT_EQ(data->run->trials->state.at(0), "lost");
  EXPECT_EQ(watcher_.Look(Of(folder)), data) << "nothing is left to end";
}

/// Runs that have ended are looked at every tenth time.
bool ChangesWithinTenLooks(RunList& list) {
  bool changed = false;
  for (int i = 0; i < 10; ++i) changed = list.Refresh() || changed;
  return changed;
}

TEST_F(Watching, ListsThatTheManagerOfASubmittedRunIsGone) {
  const auto folder = Make("small", Phase::kRunning);
  auto state = folder.ReadState();
  state.manager = {};
  state.batch_job = 12;
  folder.WriteState(state);
  RunList list(directory_.path());
  ASSERT_TRUE(list.Refresh());
  EXPECT_EQ(list.rows().at(0).state, "running") << "Slurm may start it again";
  EXPECT_THAT(list.rows().at(0).reason, HasSubstr("is gone; slipway status " + folder.id() + " asks Slurm"));
}

TEST_F(Watching, NamesRunsAsCommandsFindThem) {
  const auto folder = Make("small", Phase::kFailed);
  auto state = folder.ReadState();
  EndAs(state, Phase::kLost, cause::ManagerLost{1, "n1"});
  folder.WriteState(state);
  EXPECT_EQ(LookTwice(Of(folder))->selector, folder.id());
  Watcher watcher(RunsDirectory(directory_.path(), "two words"));
  const auto named = "'two words/" + folder.id() + "'";
  auto interest = Of(folder);
  interest.list = true;
  const auto data = watcher.Look(interest);
  EXPECT_EQ(data->selector, named);
  EXPECT_THAT(data->run->reason, HasSubstr("slipway resume " + named));
  EXPECT_THAT(data->runs.at(0).reason, HasSubstr("slipway resume " + named));
}

TEST_F(Watching, ListsRunsAndReadsEndedOnesOnce) {
  const auto folder = Make("first", Phase::kFailed);
  RunList list(directory_.path());
  EXPECT_TRUE(list.Refresh());
  ASSERT_EQ(list.rows().size(), 1u);
  EXPECT_EQ(list.rows()[0].state, "failed");
  EXPECT_FALSE(ChangesWithinTenLooks(list));
  Enter(folder, Phase::kSucceeded);
  EXPECT_TRUE(ChangesWithinTenLooks(list));
  EXPECT_EQ(list.rows()[0].state, "succeeded");
  WriteFile(folder.path() / "state.json", "{");
  EXPECT_TRUE(ChangesWithinTenLooks(list));
  EXPECT_EQ(list.rows()[0].state, "unreadable");
  std::filesystem::remove_all(folder.path());
  EXPECT_TRUE(list.Refresh());
  EXPECT_TRUE(list.rows().empty());
}

TEST_F(Watching, ReadsManyRunsInParts) {
  for (int i = 0; i < 310; ++i) Make("run" + std::to_string(i), Phase::kFailed);
  RunList list(directory_.path());
  list.Refresh();
  EXPECT_EQ(list.rows().size(), 300u);
  EXPECT_FALSE(list.complete());
  list.Refresh();
  EXPECT_EQ(list.rows().size(), 310u);
  EXPECT_TRUE(list.complete());
}

TEST_F(Watching, SeesTheStepsOfSlurmJobsMove) {
  const test::SlurmOutOfReach slurm("/absent.conf");
  const auto run = test::MakeSlurmWorkflowRun(directory_.path(), {"a", "b"});
  Interest interest;
  interest.workflow = run.path();
  const auto first = watcher_.Look(interest);
  ASSERT_TRUE(first->workflow);
  EXPECT_EQ(first->workflow->counts, "2 waiting of 2 steps");
  EXPECT_EQ(watcher_.Look(interest), first) << "nothing has changed";
  test::EnterStep(run, "a", StepState::kRunning);
  EXPECT_EQ(watcher_.Look(interest)->workflow->counts, "1 waiting, 1 running of 2 steps");
  test::EnterStep(run, "a", StepState::kDone);
  test::EnterStep(run, "b", StepState::kDone);
  EXPECT_EQ(watcher_.Look(interest)->workflow->phase, Phase::kSucceeded);
  EXPECT_EQ(run.ReadState().phase, Phase::kRunning) << "it only reads";
}

TEST_F(Watching, AsksSlurmAboutStepsFromTimeToTime) {
  const test::SlurmOutOfReach slurm("/first.conf");
  const auto run = test::MakeSlurmWorkflowRun(directory_.path(), {"a"});
  Interest interest;
  interest.workflow = run.path();
  ensemble::HandClock clock;
  WorkflowReader reader(directory_.path(), clock);
  WatchData data;
  EXPECT_TRUE(reader.Refresh(interest, data));
  EXPECT_THAT(data.workflow->reason, HasSubstr("/first.conf"));
  slurm.Name("/second.conf");
  clock.Sleep(std::chrono::seconds(9));
  EXPECT_FALSE(reader.Refresh(interest, data));
  clock.Sleep(std::chrono::seconds(1));
  EXPECT_TRUE(reader.Refresh(interest, data));
  EXPECT_THAT(data.workflow->reason, HasSubstr("/second.conf"));
}

TEST_F(Watching, SeesThatTheRunOfAStepIsPaused) {
  const auto run = Make("flow", Phase::kRunning);
  test::WriteStepsOf(run, {"a"}, "ensemble");
  StepJournal(JournalOfRun(run.path())).Write("a", {.state = StepState::kRunning, .attempt = 1});
  const auto own = RunFolder::Create(StepFolder(run, "a"), "a", true);
  Enter(own, Phase::kRunning);
  PauseNote note(own.path());
  Interest interest;
  interest.workflow = run.path();
  ensemble::HandClock clock;
  WorkflowReader reader(directory_.path(), clock);
  WatchData data;
  EXPECT_TRUE(reader.Refresh(interest, data));
  EXPECT_EQ(data.workflow->steps.at(0).reason, "");
  note.Set({ensemble::PauseCause::kDiskFull, "'/scratch' is full"});
  clock.Sleep(kAskSlurmEvery);
  EXPECT_TRUE(reader.Refresh(interest, data));
  EXPECT_THAT(data.workflow->steps.at(0).reason, HasSubstr("'/scratch' is full"));
}

TEST_F(Watching, ReadsInTheBackground) {
  const auto folder = Make("small", Phase::kFailed);
  BackgroundReader reader(Watcher(directory_.path()), std::chrono::milliseconds(5));
  EXPECT_FALSE(reader.Take());
  reader.Want(Of(folder));
  for (int i = 0; i < 6000 && !(reader.Take() && reader.Take()->is_whole && reader.Take()->run); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ASSERT_TRUE(reader.Take());
  EXPECT_EQ(reader.Take()->run->phase, Phase::kFailed);
}

TEST(AStraggler, IsTheOneThatWaitsLeastWhileOthersWaitLong) {
  StepsView steps{
      "net",
      10,
      {{0, "", 0.1, 0.05, 0.04, 0.01, 0}, {1, "", 0.1, 0.09, 0.001, 0.01, 0}, {2, "", 0.1, 0.05, 0.05, 0.01, 0}}};
  EXPECT_EQ(Straggler(steps), 1);
  for (auto& rank : steps.ranks) rank.wait_s = 0.04;
  EXPECT_FALSE(Straggler(steps)) << "all wait alike";
  steps.ranks.resize(1);
  EXPECT_FALSE(Straggler(steps));
}

TEST(AStraggler, WithoutATeamIsTheOneWhoseExchangeIsShortest) {
  StepsView steps{"", 1, {{0, "", 10, 10, 0, 4, 0}, {1, "", 10, 10, 0, 1, 0}}};
  EXPECT_EQ(Straggler(steps), 1);
  for (auto& rank : steps.ranks) rank.exchange_s = 4;
  EXPECT_FALSE(Straggler(steps));
}

TEST_F(Watching, SaysThatTimesAreOfTheWholeAttemptWhereThereIsNoTeam) {
  const auto folder = Make("small", Phase::kFailed);
  AppendTo(folder, "attempt-1/rank-00000.log", "slipway: team 'of an earlier line'\n");
  AppendTo(folder, "attempt-1/comm.json",
           R"({"teams": [], "collectives": {"groups": [], "times_of_ranks": [)"
           R"({"elapsed_s": 10, "wait_s": 1, "exchange_s": 4, "input_s": 2}]}})");
  const auto data = LookTwice(Of(folder));
  ASSERT_EQ(data->ranks.size(), 1u);
  ASSERT_TRUE(data->ranks[0].steps);
  EXPECT_EQ(data->ranks[0].steps->exchange_s, 4);
  EXPECT_THAT(data->trace_line, HasSubstr("no team: the times are of the whole attempt"));
}

}  // namespace
}  // namespace slipway::launcher::watch
