// A run whose program writes checkpoints and results into a tier: whatever ends it, they come to the run folder.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <random>
#include <thread>

#include "core/checkpoint.h"
#include "core/files.h"
#include "tests/end_to_end/workplace.h"

#ifndef SLIPWAY_ROUNDS
#define SLIPWAY_ROUNDS 10
#endif

namespace slipway::test {
namespace {
namespace fs = std::filesystem;

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr auto kSavingProgram = SLIPWAY_SOURCE_DIR "/tests/end_to_end/checkpointer.py";
constexpr auto kTier = "checkpoint: {tier: ram, keep: 2}\n";

class StageOutRun : public testing::Test {
 protected:
  void WriteSpec(const std::string& arguments, const std::string& more = kTier) const {
    place_.WriteSpec("exp.yaml", fmt::format("[python3, '{}', {}]", kSavingProgram, arguments), 1, more);
  }
  static std::uint64_t NewestIn(const fs::path& run) {
    const auto newest = NewestCheckpoint(run / "checkpoints");
    return newest ? newest->step : 0;
  }
  std::uint64_t Newest() const { return NewestIn(place_.RunFolder()); }
  /// Of all runs. A box may come and go meanwhile.
  std::uint64_t NewestInTier() const {
    std::uint64_t newest = 0;
    std::error_code gone;
    for (const auto& box : fs::directory_iterator(place_ / "ram/.out", gone)) {
      newest = std::max(newest, NewestIn(box.path()));
    }
    return newest;
  }
  std::string Events() const { return ReadFile(place_.RunFolder() / "events.jsonl"); }
  /// Every file below the tiers and every record of them: what a run must not leave.
  void ExpectNothingLeft() const {
    EXPECT_THAT(place_.StagedFiles(), IsEmpty());
    EXPECT_FALSE(fs::exists(place_.RunFolder() / "outbox.json"));
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(place_.RunFolder() / "checkpoints", none)) {
      EXPECT_THAT(entry.path().filename().string(), testing::StartsWith("step-"));
    }
  }
  /// A run whose program waits.
  ChildProcess StartSleeper() const {
    auto run = place_.Start({"run", "exp.yaml"});
    place_.WaitForFile(place_ / "sleeping");
    return run;
  }
  /// Its manager is gone then.
  void KillSleeper() const {
    auto run = StartSleeper();
    run.Signal(SIGKILL);
    run.Wait();
  }

  Workplace place_;
};

TEST_F(StageOutRun, BringsCheckpointsAndResultsToTheRunFolder) {
  WriteSpec("'5'");
  const auto ran = place_.Slipway({"run", "exp.yaml"});
  ASSERT_EQ(ran.status.code, 0) << ran.errors;
  EXPECT_EQ(Newest(), 5u);
  for (int step = 1; step <= 5; ++step) {
    EXPECT_EQ(ReadFile(place_.RunFolder() / fmt::format("outputs/scores-{}.csv", step)), fmt::format("{},0.5\n", step));
  }
  EXPECT_THAT(Events(),
              AllOf(HasSubstr("checkpoint_staged_out"), HasSubstr(R"("step":5)"), HasSubstr("outputs_staged")));
  ExpectNothingLeft();
}

TEST_F(StageOutRun, CopiesWhileTheProgramGoesOn) {
  WriteSpec("'3', --sleep-at, '3'");
  auto run = StartSleeper();
  const auto manifest = place_.RunFolder() / "checkpoints/step-000000000003/manifest.json";
  place_.WaitForFile(manifest);
  EXPECT_EQ(place_.Status()["phase"], "running");
  run.Signal(SIGKILL);
  run.Wait();
  EXPECT_EQ(place_.Slipway({"stage", "out"}).status.code, 0);
}

TEST_F(StageOutRun, BringsOutTheRestWhenResultsCannotBeCopied) {
  place_.WriteSpec("exp.yaml",
                   "[sh, -c, 'cd $SLIPWAY_OUTPUT_DIR; mkdir deep; echo 1 > deep/good; ln -s deep/good within; "
                   "ln -s /etc/hostname out; mkfifo deep/pipe']",
                   1, kTier);
  const auto ran = place_.Slipway({"run", "exp.yaml"});
  EXPECT_EQ(ran.status.code, 0) << ran.errors;
  EXPECT_THAT(ran.errors, AllOf(HasSubstr("out' is a link that leads out"), HasSubstr("pipe' is neither a file")));
  const auto run = place_.RunFolder();
  EXPECT_EQ(ReadFile(run / "outputs/deep/good"), "1\n");
  EXPECT_EQ(ReadFile(run / "outputs/within"), "1\n");
  EXPECT_FALSE(fs::is_symlink(run / "outputs/out"));
  const fs::path tier = Json::parse(ReadFile(run / "outbox.json"))["directory"].get<std::string>();
  EXPECT_TRUE(fs::is_symlink(tier / "outputs/out"));
  EXPECT_TRUE(fs::is_fifo(tier / "outputs/deep/pipe"));
  EXPECT_FALSE(fs::exists(tier / "outputs/deep/good")) << "what is copied needs no room in the tier";
  for (const bool dry : {true, false}) {
    std::vector<std::string> words{"stage", "out"};
    if (dry) words.emplace_back("--dry-run");
    const auto out = place_.Slipway(words);
    EXPECT_EQ(out.status.code, 3) << out.errors;
    EXPECT_THAT(out.output + out.errors,
                AllOf(HasSubstr("out' is a link that leads out"), HasSubstr("pipe' is neither a file")));
  }
  const auto dry = Json::parse(place_.Slipway({"stage", "out", "--dry-run", "--json"}).output)["runs"][0];
  EXPECT_EQ(dry["state"], "pending");
  EXPECT_EQ(dry["refused"].size(), 2u);
  EXPECT_EQ(place_.Slipway({"stage", "out", "--all", "--dry-run"}).status.code, 3);
  fs::remove(tier / "outputs/out");
  fs::remove(tier / "outputs/deep/pipe");
  EXPECT_EQ(place_.Slipway({"stage", "out"}).status.code, 0);
  EXPECT_EQ(ReadFile(run / "outputs/deep/good"), "1\n");
  ExpectNothingLeft();
}

TEST_F(StageOutRun, WritesStraightIntoTheRunFolderWithoutATier) {
  WriteSpec("'2'", "");
  ASSERT_EQ(place_.Slipway({"run", "exp.yaml"}).status.code, 0);
  EXPECT_EQ(Newest(), 2u);
  EXPECT_TRUE(fs::exists(place_.RunFolder() / "outputs/scores-2.csv"));
}

TEST_F(StageOutRun, TakesTheFirstTierThatCanBeUsedAndSaysIt) {
  WriteSpec("'1'", "checkpoint: {tier: [burst, ram]}\n");
  const auto plan = place_.Slipway({"plan", "exp.yaml"});
  EXPECT_THAT(plan.output,
              AllOf(HasSubstr("tier ram, copied out while"), HasSubstr("not burst: no burst buffer here")));
  EXPECT_THAT(plan.output, HasSubstr("SLIPWAY_OUTPUT_DIR=" + (place_ / "ram/.out").string()));
  WriteSpec("'1'", "checkpoint: {tier: burst}\n");
  const auto refused = place_.Slipway({"plan", "exp.yaml"});
  EXPECT_EQ(refused.status.code, 3);
  EXPECT_THAT(refused.errors, HasSubstr("no tier can take the checkpoints: burst: no burst buffer here"));
}

TEST_F(StageOutRun, NamesATierThatIsNone) {
  WriteSpec("'1'", "checkpoint: {tier: [rma]}\n");
  const auto refused = place_.Slipway({"validate", "exp.yaml"});
  EXPECT_EQ(refused.status.code, 2);
  EXPECT_THAT(refused.errors, AllOf(HasSubstr("unknown tier 'rma'"), HasSubstr("ram")));
}

TEST_F(StageOutRun, ContinuesTheSecondAttemptFromTheTier) {
  WriteSpec("'6', --fail-at, '3'", std::string(kTier) + "resilience: {max_restarts: 1}\n");
  const auto ran = place_.Slipway({"run", "exp.yaml", "--no-prefix"});
  ASSERT_EQ(ran.status.code, 0) << ran.errors;
  EXPECT_THAT(ran.output, HasSubstr("from step 3"));
  EXPECT_EQ(Newest(), 6u);
  ExpectNothingLeft();
}

TEST_F(StageOutRun, BringsEverythingOutWhenARankFails) {
  WriteSpec("'6', --fail-at, '3'");
  EXPECT_EQ(place_.Slipway({"run", "exp.yaml"}).status.code, 1);
  EXPECT_EQ(Newest(), 3u);
  ExpectNothingLeft();
  const auto resumed = place_.Slipway({"resume", "last", "--no-prefix"});
  EXPECT_EQ(resumed.status.code, 0) << resumed.errors;
  EXPECT_THAT(resumed.output, HasSubstr("from step 3"));
  EXPECT_TRUE(fs::exists(place_.RunFolder() / "outputs/scores-1.csv")) << "results of the first attempt stay";
  EXPECT_TRUE(fs::exists(place_.RunFolder() / "outputs/scores-6.csv"));
  ExpectNothingLeft();
}

TEST_F(StageOutRun, BringsEverythingOutWhenItIsCancelled) {
  place_.WriteSpec("exp.yaml", fmt::format("[python3, '{}', '3', --sleep-at, '3']", kSavingProgram), 1,
                   std::string("  metrics: {from: stdout, pattern: '(?<x>\\d+)'}\n") + kTier);
  auto run = StartSleeper();
  run.Signal(SIGINT);
  EXPECT_EQ(run.Wait().code, 130);
  EXPECT_EQ(Newest(), 3u);
  ExpectNothingLeft();
}

TEST_F(StageOutRun, NeedsATierThatAllNodesSee) {
  place_.WriteSpec("exp.yaml", "[sh, -c, 'true']", 1, "checkpoint: {tier: ram}");
  const auto plan = [&](const std::string& tier, const std::string& nodes) {
    return place_.Slipway({"plan", "exp.yaml", "--set", "launch.engine=slurm", "--set", "launch.nodes=" + nodes,
                           "--set", "checkpoint.tier=" + tier});
  };
  EXPECT_EQ(plan("ram", "1").status.code, 0);
  const auto refused = plan("ram", "2");
  EXPECT_EQ(refused.status.code, 3);
  EXPECT_THAT(refused.errors, HasSubstr("no tier can take the checkpoints: ram: each of the 2 nodes has its own"));
  EXPECT_EQ(plan("[ram, none]", "2").status.code, 0);
}

TEST_F(StageOutRun, BringsEverythingOutAtTheTimeLimit) {
  place_.WriteSpec("exp.yaml", fmt::format("[python3, '{}', '3', --sleep-at, '3']", kSavingProgram), 1,
                   std::string("  metrics: {from: stdout, pattern: '(?<x>\\d+)'}\n") + kTier);
  EXPECT_EQ(place_.Slipway({"run", "exp.yaml", "--set", "launch.time_limit=8s"}).status.code, 1);
  EXPECT_EQ(Newest(), 3u);
  ExpectNothingLeft();
}

TEST_F(StageOutRun, NeverTakesATornCheckpointOut) {
  place_.WriteSpec("exp.yaml",
                   "[sh, -c, 'mkdir $SLIPWAY_CHECKPOINT_DIR/step-000000000009; "
                   "echo x > $SLIPWAY_CHECKPOINT_DIR/step-000000000009/weights']",
                   1, kTier);
  const auto ran = place_.Slipway({"run", "exp.yaml"});
  EXPECT_EQ(ran.status.code, 0);
  EXPECT_FALSE(fs::exists(place_.RunFolder() / "checkpoints/step-000000000009"));
  EXPECT_EQ(Newest(), 0u);
  EXPECT_EQ(ReadFile(place_.RunFolder() / "checkpoints/torn-step-000000000009/weights"), "x\n") << "nor loses it";
  EXPECT_THAT(ran.errors, HasSubstr("step 9 is torn: 'manifest.json' is missing; it is copied to '"));
  EXPECT_THAT(Events(), HasSubstr(R"("reason":"'manifest.json' is missing")"));
  EXPECT_THAT(place_.StagedFiles(), IsEmpty());
}

TEST_F(StageOutRun, LosesNoCheckpointWhoseManifestIsIncomplete) {
  place_.WriteSpec("exp.yaml",
                   "[sh, -c, 'cd $SLIPWAY_CHECKPOINT_DIR; mkdir .tmp-1; echo x > .tmp-1/w.bin; "
                   R"(echo "{\"schema\": \"slipway.checkpoint/1\", \"step\": 1, \"files\": []}" )"
                   "> .tmp-1/manifest.json; mv .tmp-1 step-000000000001']",
                   1, kTier);
  const auto ran = place_.Slipway({"run", "exp.yaml"});
  EXPECT_EQ(ran.status.code, 0);
  EXPECT_EQ(Newest(), 0u);
  EXPECT_EQ(ReadFile(place_.RunFolder() / "checkpoints/torn-step-000000000001/w.bin"), "x\n");
  EXPECT_THAT(ran.errors, HasSubstr("step 1 is torn: 'manifest.json' is damaged: it has no 'epoch'"));
  EXPECT_THAT(place_.StagedFiles(), IsEmpty());
}

TEST_F(StageOutRun, FinishesAfterTheManagerWasKilled) {
  const auto seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  WriteSpec("'1000000', --pause, '0.01'");
  std::uint64_t last = 0;
  for (int round = 0; round < SLIPWAY_ROUNDS; ++round) {
    RemoveTree(place_ / "runs");
    auto run = place_.Start({"run", "exp.yaml"});
    while (round == 0 && NewestInTier() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 1200));
    run.Signal(SIGKILL);
    run.Wait();
    if (!fs::exists(place_ / "runs")) continue;  // killed before there was a run
    for (int i = 0; i < 3000 && !ProcessesOf(place_ / "").empty(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    const auto in_tier = NewestInTier();
    if (!fs::exists(place_.RunFolder() / "state.json")) continue;
    const auto out = place_.Slipway({"stage", "out", "last", "--json"});
    ASSERT_EQ(out.status.code, 0) << round << out.errors << out.output;
    ASSERT_GE(Newest(), in_tier) << round;
    EXPECT_THAT(place_.StagedFiles(), IsEmpty()) << round;
    EXPECT_FALSE(fs::exists(place_.RunFolder() / "outbox.json")) << round;
    last = std::max(last, Newest());
  }
  EXPECT_GT(last, 0u);
}

TEST_F(StageOutRun, ResumesFromTheTierAfterTheManagerWasKilled) {
  WriteSpec("'3', --sleep-at, '3'");
  KillSleeper();
  EXPECT_THAT(place_.Slipway({"status"}).output, HasSubstr("stage out"));
  const auto dry = place_.Slipway({"stage", "out", "--all", "--dry-run", "--json"});
  EXPECT_EQ(Json::parse(dry.output)["runs"][0]["state"], "pending");
  const auto resumed = place_.Slipway({"resume", "last", "--no-prefix"});
  EXPECT_EQ(resumed.status.code, 0) << resumed.errors;
  EXPECT_THAT(resumed.output, HasSubstr("from step 3"));
  EXPECT_EQ(Newest(), 3u);
  ExpectNothingLeft();
  EXPECT_THAT(place_.Slipway({"stage", "out", "last"}).output, HasSubstr("nothing is left in a tier"));
}

TEST_F(StageOutRun, BringsOutWhatWasLeftWhileTheDataOfTheResumedRunAreStaged) {
  place_.Write("data.bin", "few bytes");
  WriteSpec("'3', --sleep-at, '3'",
            std::string(kTier) +
                "data: {train: {source: data.bin, format: tfrecord, verify: off, tier: [ram], bandwidth: 1MB}}\n");
  KillSleeper();
  RemoveTree(place_.RunFolder() / "checkpoints");
  place_.Write("data.bin", std::string(30'000'000, 'd'));
  auto resumed = place_.Start({"resume", "last"});
  place_.WaitForFile(place_.RunFolder() / "checkpoints/step-000000000003/manifest.json");
  EXPECT_EQ(place_.Status()["phase"], "staging");
  resumed.Signal(SIGINT);
  EXPECT_EQ(resumed.Wait().code, 130);
  EXPECT_FALSE(fs::exists(place_.RunFolder() / "outbox.json"));
  EXPECT_TRUE(fs::is_empty(place_ / "ram/.out"));
}

TEST_F(StageOutRun, SaysWhenTheTierIsGone) {
  WriteSpec("'3', --sleep-at, '3'");
  KillSleeper();
  RemoveTree(place_ / "ram/.out");
  const auto dry = place_.Slipway({"stage", "out", "last", "--dry-run"});
  EXPECT_EQ(dry.status.code, 1);
  EXPECT_THAT(dry.errors, HasSubstr("is gone"));
  const auto lost = place_.Slipway({"stage", "out", "last"});
  EXPECT_EQ(lost.status.code, 1);
  EXPECT_THAT(lost.errors, AllOf(HasSubstr("is gone"), HasSubstr("slipway resume")));
  EXPECT_EQ(place_.Slipway({"stage", "out", "last"}).status.code, 0) << "it is said once";
}

TEST_F(StageOutRun, NamesTheHostThatMayHoldTheRestAndKeepsItsRecord) {
  WriteSpec("'3', --sleep-at, '3'");
  auto run = StartSleeper();
  place_.WaitForFile(place_.RunFolder() / "checkpoints/step-000000000003/manifest.json");
  run.Signal(SIGKILL);
  run.Wait();
  RemoveTree(place_ / "ram/.out");
  const auto file = place_.RunFolder() / "outbox.json";
  auto record = Json::parse(ReadFile(file));
  for (const char* state : {"intended", "open", "settled"}) {
    record.update(Json{{"host", "elsewhere"}, {"state", state}});
    WriteFile(file, record.dump());
    for (const char* how : {"--dry-run", "--json"}) {
      const auto out = place_.Slipway({"stage", "out", "last", how});
      EXPECT_EQ(out.status.code, 3) << state;
      EXPECT_THAT(out.errors, HasSubstr("give the same command on elsewhere")) << state;
    }
    EXPECT_EQ(Json::parse(ReadFile(file)), record);
  }
  const auto resumed = place_.Slipway({"resume", "last", "--no-prefix"});
  EXPECT_EQ(resumed.status.code, 0) << "the last state says that nothing is lost";
  EXPECT_THAT(resumed.output, HasSubstr("from step 3"));
  EXPECT_THAT(resumed.errors, HasSubstr("on elsewhere"));
}

TEST_F(StageOutRun, NeedsNeitherThePlanNorTheFileThatSaysWhoseThePlaceIs) {
  WriteSpec("'3', --sleep-at, '3'");
  KillSleeper();
  WriteFile(place_.RunFolder() / "plan.json", "{}");
  for (const auto& box : fs::directory_iterator(place_ / "ram/.out")) fs::remove(box.path() / "owner");
  const auto out = place_.Slipway({"stage", "out", "last"});
  EXPECT_EQ(out.status.code, 0) << out.errors;
  EXPECT_EQ(Newest(), 3u);
  ExpectNothingLeft();
}

TEST_F(StageOutRun, EndsWhatStillRunsOfAnEnsembleBeforeItsPlacesGo) {
  place_.WriteSpec("exp.yaml",
                   "[sh, -c, 'trap \"\" TERM; touch sleeping; "
                   "while true; do echo x >> $SLIPWAY_OUTPUT_DIR/log; sleep 0.02; done']",
                   1,
                   std::string(kTier) +
                       "ensemble: {objective: {metric: loss}, trials: 2, parallel: 2, sampler: random, "
                       "space: {lr: {uniform: [0, 1]}}}\n");
  KillSleeper();
  const auto out = place_.Slipway({"stage", "out", "last"});
  EXPECT_EQ(out.status.code, 0) << out.errors;
  EXPECT_THAT(ProcessesOf(place_ / ""), IsEmpty());
  EXPECT_THAT(place_.StagedFiles(), IsEmpty());
  EXPECT_TRUE(fs::exists(place_.RunFolder() / "trials/00000/outputs/log"));
}

TEST_F(StageOutRun, IsBusyWhileTheRunLives) {
  WriteSpec("'3', --sleep-at, '3'");
  auto run = StartSleeper();
  const auto busy = place_.Slipway({"stage", "out", "last"});
  EXPECT_EQ(busy.status.code, 4) << busy.output;
  run.Signal(SIGKILL);
  run.Wait();
  EXPECT_EQ(place_.Slipway({"stage", "out", "last"}).status.code, 0);
}

TEST_F(StageOutRun, DoesTheSameForEachTrial) {
  WriteSpec("'3', --fail-at, '2'", std::string(kTier) +
                                       "resilience: {max_restarts: 1}\n"
                                       "ensemble: {objective: {metric: loss}, trials: 3, parallel: 2, sampler: random, "
                                       "space: {lr: {uniform: [0, 1]}}}\n");
  const auto ran = place_.Slipway({"run", "exp.yaml"});
  ASSERT_EQ(ran.status.code, 0) << ran.errors;
  for (const char* trial : {"trials/00000", "trials/00001", "trials/00002"}) {
    EXPECT_EQ(NewestIn(place_.RunFolder() / trial), 3u) << trial;
    EXPECT_TRUE(fs::exists(place_.RunFolder() / trial / "outputs/scores-3.csv")) << trial;
    EXPECT_THAT(ReadFile(place_.RunFolder() / trial / "attempt-2/rank-00000.log"), HasSubstr("from step 2")) << trial;
  }
  EXPECT_THAT(place_.StagedFiles(), IsEmpty());
}

TEST_F(StageOutRun, GoesOnWhenTheSharedSideIsFullAndFinishesLater) {
  const std::string mount = "mkdir -p runs && mount -t tmpfs -o size=1m slipway-test runs";
  if (RunAndCapture({.argv = {"unshare", "-m", "sh", "-c", mount}, .working_directory = place_ / ""}).status.code !=
      0) {
    GTEST_SKIP() << "this user cannot mount a file system";
  }
  WriteSpec("'2', --bytes, '1500000'");
  const auto script = fmt::format(
      "{0} && S={1}/bin/slipway; $S run exp.yaml; echo run $?; ls runs/*/checkpoints; $S status last; $S stage out "
      "last; "
      "echo full $?; mount -o remount,size=20m runs && $S stage out last; echo done $?; ls runs/*/checkpoints; "
      "cat runs/*/events.jsonl",
      mount, SLIPWAY_BUILD_DIR);
  auto environment = Environment::Inherited();
  environment.Set("SLIPWAY_TIER_RAM", (place_ / "ram").string());
  const auto captured = RunAndCapture(
      {.argv = {"unshare", "-m", "sh", "-c", script}, .environment = environment, .working_directory = place_ / ""});
  const auto& text = captured.output;
  EXPECT_THAT(text, AllOf(HasSubstr("run 0"), HasSubstr("full 3"), HasSubstr("done 0"))) << captured.errors;
  EXPECT_THAT(text, AllOf(HasSubstr("copy it out with: slipway stage out"), HasSubstr("step-000000000002")));
  EXPECT_THAT(text, HasSubstr("stage_out_incomplete"));
  EXPECT_THAT(captured.errors, AllOf(HasSubstr("No space left"), HasSubstr("finish with: slipway stage out")));
  EXPECT_THAT(place_.StagedFiles(), IsEmpty());
}

TEST(StageOutCommand, CopiesADirectoryOnceAndRefusesASecondTime) {
  const Workplace place;
  place.Write("results/a.csv", "1\n");
  place.Write("results/deep/b.csv", "22\n");
  const auto dry =
      Json::parse(place.Slipway({"stage", "out", "results", "kept/results", "--dry-run", "--json"}).output);
  EXPECT_EQ(dry["files"], 2);
  EXPECT_FALSE(fs::exists(place / "kept"));
  const auto staged = Json::parse(place.Slipway({"stage", "out", "results", "kept/results", "--json"}).output);
  EXPECT_EQ(staged["schema"], "slipway.stage_out/1");
  EXPECT_EQ(staged["bytes"], 5);
  EXPECT_EQ(ReadFile(place / "kept/results/deep/b.csv"), "22\n");
  const auto again = place.Slipway({"stage", "out", "results", "kept/results"});
  EXPECT_EQ(again.status.code, 3);
  EXPECT_THAT(again.errors, HasSubstr("is there already"));
  const auto dry_again = place.Slipway({"stage", "out", "results", "kept/results", "--dry-run"});
  EXPECT_EQ(dry_again.status.code, 3);
  EXPECT_EQ(dry_again.errors, again.errors);
}

TEST(StageOutCommand, RefusesWhatMakesNoSense) {
  const Workplace place;
  EXPECT_EQ(place.Slipway({"stage", "out", "--all", "last"}).status.code, 2);
  EXPECT_EQ(place.Slipway({"stage", "out", "a", "b", "--bandwidth", "fast"}).status.code, 2);
  EXPECT_EQ(place.Slipway({"stage", "out", "a", "b", "c"}).status.code, 2);
  EXPECT_THAT(place.Slipway({"stage", "out", "--all"}).output, HasSubstr("no run has left anything"));
}

}  // namespace
}  // namespace slipway::test
