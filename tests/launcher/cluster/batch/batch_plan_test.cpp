// From a spec to the job that Slurm is asked for, and what `slipway plan` shows of it. No Slurm is needed.

#include "launcher/plan/batch_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "core/files.h"
#include "core/process.h"
#include "launcher/plan/trial_document.h"
#include "tests/support/temp_directory.h"

namespace slipway::launcher {
namespace {
namespace fs = std::filesystem;

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

constexpr auto kHead = "name: small\ntrain: {command: [/bin/true]}\n";

class BatchPlan : public testing::Test {
 protected:
  BatchPlan() {
    ::unsetenv("SLURM_JOB_ID");
    for (const char* variable : {"DW_JOB_STRIPED", "BB_JOB_STRIPED", "SLIPWAY_TIER_BURST"}) ::unsetenv(variable);
  }
  void TearDown() override { ::unsetenv("SLURM_JOB_ID"); }

  /// A file of `bytes` in the folder of the spec.
  void Data(const std::string& name, std::size_t bytes = 1000) const {
    MakeDirectories((directory_ / name).parent_path());
    WriteFile(directory_ / name, std::string(bytes, 'x'));
  }

  Plan PlanOf(const std::string& text, const std::string& site = "{}") const {
    WriteFile(directory_ / "exp.yaml", kHead + text);
    WriteFile(directory_ / "site.yaml", site);
    auto document = LoadSpec(directory_ / "exp.yaml", {"launch.engine=slurm"}, {directory_ / "site.yaml"});
    return MakePlan(std::move(document), "/runs");
  }
  BatchJob JobOf(const std::string& text, const std::string& site = "{}") const {
    return MakeBatchJob(PlanOf(text, site), "/runs/small-1");
  }
  std::string RefusalOf(const std::string& text) const {
    try {
      JobOf(text);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kUsage);
      return error.what();
    }
    return "no error";
  }
  std::string WithDirectory(std::string text) const {
    const auto name = directory_.path().string();
    for (auto at = text.find(name); at != text.npos; at = text.find(name, at)) text.replace(at, name.size(), "<here>");
    return text;
  }
  std::vector<std::string> DirectivesOf(const std::string& text, const std::string& site = "{}") const {
    auto lines = BurstBufferDirectives(JobOf(text, site).burst_buffer);
    for (auto& line : lines) line = WithDirectory(line);
    return lines;
  }

  test::TempDirectory directory_;
};

TEST_F(BatchPlan, FillsTheJobFromTheSpecAndTheSite) {
  const auto job = JobOf(
      "launch:\n"
      "  nodes: 4\n"
      "  ranks_per_node: 2\n"
      "  cpus_per_rank: 8\n"
      "  gpus_per_rank: 1\n"
      "  memory_per_rank: 1GiB\n"
      "  time_limit: 90s\n"
      "  env: {OMP_NUM_THREADS: \"8\"}\n"
      "  slurm: {partition: regular, licenses: scratch, gpu_type: a100, exclusive: true, extra: [--hold]}\n"
      "resilience: {on_node_failure: exclude}\n",
      "launch: {modules: [pytorch], slurm: {account: m1234, partition: debug, qos: low, requeue: false}}\n");
  EXPECT_EQ(job.name, "small");
  EXPECT_EQ(job.comment, "slipway:small-1");
  EXPECT_EQ(job.account, "m1234");
  EXPECT_EQ(job.partition, "regular");  // the spec's own comes before the site's
  EXPECT_EQ(job.qos, "low");
  EXPECT_EQ(job.licenses, "scratch");
  EXPECT_EQ(job.tasks(), 8);
  EXPECT_EQ(job.cpus_per_rank, 8);
  EXPECT_EQ(GpusPerNode(job), "a100:2");
  EXPECT_EQ(job.memory_per_node, Bytes{std::uint64_t{2} << 30});
  EXPECT_EQ(job.time_limit_minutes, 2);
  EXPECT_FALSE(job.requeue);
  EXPECT_TRUE(job.exclusive);
  EXPECT_TRUE(job.no_kill);
  EXPECT_THAT(job.extra, ElementsAre("--hold"));
  EXPECT_THAT(job.modules, ElementsAre("pytorch"));
  EXPECT_THAT(job.environment, ElementsAre(testing::Pair("OMP_NUM_THREADS", "8")));
  EXPECT_EQ(job.output, "/runs/small-1/manager.log");
  ASSERT_EQ(job.command.size(), 3u);
  EXPECT_TRUE(fs::path(job.command[0]).is_absolute());
  EXPECT_THAT(job.command[0], testing::EndsWith("/bin/slipway"));
  EXPECT_EQ(job.command[1], "manage");
  EXPECT_EQ(job.command[2], "/runs/small-1");
}

constexpr auto kTrialsAsJobs =
    "launch: {ranks_per_node: 2, time_limit: 10m}\n"
    "resilience: {spare_nodes: 1}\n"
    "ensemble:\n"
    "  objective: {metric: loss}\n"
    "  trials: 8\n"
    "  parallel: 4\n"
    "  placement: job\n"
    "  nodes_per_trial: 3\n"
    "  space: {lr: {log: [0.001, 0.1]}}\n";

TEST_F(BatchPlan, AsksForSpareNodes) {
  const auto job = JobOf("launch: {nodes: 3, ranks_per_node: 2}\nresilience: {spare_nodes: 2}\n");
  EXPECT_EQ(job.nodes, 5);
  EXPECT_TRUE(job.no_kill);
}

TEST_F(BatchPlan, OfATrialThatIsAJobHasItsOwnNodesNameAndArguments) {
  const auto plan = PlanOf(kTrialsAsJobs);
  ASSERT_TRUE(TrialsAreJobs(plan.spec()));
  const auto document = DocumentOfTrial(plan.document, 7, Json{{"lr", 0.01}});
  EXPECT_EQ(document.spec.name, "small-00007");
  EXPECT_FALSE(TrialsAreJobs(document.spec)) << "it is one";
  EXPECT_EQ(document.spec_hash, plan.document.spec_hash);
  EXPECT_EQ(EffectiveParameters(document.spec.train, Json::object()), (Json{{"lr", 0.01}}));
  auto trial = plan;
  trial.document = document;
  const auto job = MakeBatchJob(trial, "/runs/small-1/trials/00007");
  EXPECT_EQ(job.nodes, 4);
  EXPECT_EQ(job.ranks_per_node, 2);
  EXPECT_EQ(job.time_limit_minutes, 10);
  EXPECT_EQ(job.comment, "slipway:small-1-00007");
  EXPECT_EQ(job.command.back(), "/runs/small-1/trials/00007");
}

TEST_F(BatchPlan, ShowsTheJobOfATrial) {
  const auto text = DescribePlan(PlanOf(kTrialsAsJobs));
  EXPECT_THAT(text, HasSubstr("submit: job.sh, one for each trial"));
  EXPECT_THAT(text, HasSubstr("#SBATCH --nodes=4\n"));
  EXPECT_THAT(text, HasSubstr("manage '/runs/small-<time>-<id>/trials/00000'"));
}

TEST_F(BatchPlan, LeavesWhatIsForSlurmAloneUndoneElsewhereAndSaysSo) {
  const auto warnings = [&](const std::string& text, const std::string& engine) {
    WriteFile(directory_ / "exp.yaml", kHead + text);
    WriteFile(directory_ / "site.yaml", "launch: {modules: [pytorch], slurm: {account: m1234}}\n");
    return LoadSpec(directory_ / "exp.yaml", {"launch.engine=" + engine}, {directory_ / "site.yaml"}).warnings;
  };
  EXPECT_THAT(warnings("", "local"), IsEmpty());  // a site says it for all its users
  EXPECT_THAT(warnings("launch: {memory_per_rank: 1GiB}\n", "slurm"), IsEmpty());
  ASSERT_EQ(warnings("launch: {memory_per_rank: 1GiB}\n", "local").size(), 1u);
  EXPECT_THAT(warnings("launch: {memory_per_rank: 1GiB}\n", "local")[0].message, HasSubstr("with engine: slurm only"));
}

TEST_F(BatchPlan, AsksForTheSignalEarlyButNeverInTheFirstHalf) {
  EXPECT_EQ(JobOf("").signal_lead_s, 180);  // 120 s of the spec and the slack of slurmctld
  EXPECT_EQ(JobOf("launch: {time_limit: 2m}\n").signal_lead_s, 60);
  EXPECT_EQ(JobOf("launch: {time_limit: 2h, slurm: {signal_before: 10m}}\n").signal_lead_s, 660);
}

TEST_F(BatchPlan, CountsWhatIsStagedInRamAsMemory) {
  Data("a.tfrecord", 5'000'000);
  const auto job = JobOf("data: {train: {source: a.tfrecord, tier: ram}}\nlaunch: {memory_per_rank: 1GiB}\n");
  EXPECT_GE(job.memory_per_node->count, (std::uint64_t{1} << 30) + 5'000'000);
  EXPECT_LE(job.memory_per_node->count, (std::uint64_t{1} << 30) + 6'000'000);
  EXPECT_EQ(JobOf("launch: {slurm: {memory_per_node: all}}\n").memory_per_node, Bytes{0});
  EXPECT_EQ(JobOf("").memory_per_node, std::nullopt);
}

constexpr auto kDataWarp = "launch: {slurm: {burst_buffer: {type: datawarp, pool: wlm_pool}}}\n";

TEST_F(BatchPlan, BringsADatasetIntoTheBuffer) {
  Data("a.tfrecord", 10'000'000);
  const auto text = "data: {train: {source: a.tfrecord, tier: [burst, none]}}\n";
  EXPECT_THAT(DirectivesOf(text, kDataWarp),
              ElementsAre("#DW jobdw type=scratch access_mode=striped capacity=12MiB pool=wlm_pool",
                          "#DW stage_in type=file source=<here>/a.tfrecord "
                          "destination=$DW_JOB_STRIPED/staged/train/a.tfrecord"));
  EXPECT_EQ(JobOf(text, kDataWarp).staged_in, "staged");
  const auto plan = PlanOf(text, kDataWarp);
  EXPECT_EQ(plan.data[0].tier, "burst");
  EXPECT_EQ(plan.data[0].reason, "the job asks for it");
  EXPECT_THAT(plan.data[0].directory.string(), StartsWith("${DW_JOB_STRIPED}/slipway-<uid>/train-"));
}

TEST_F(BatchPlan, NamesManyFilesInAList) {
  Data("data/a.tfrecord");
  Data("data/b.tfrecord");
  const auto text = "data: {train: {source: data/*.tfrecord, tier: burst}}\n";
  const auto plan = PlanOf(text, kDataWarp);
  EXPECT_THAT(
      DirectivesOf(text, kDataWarp).back(),
      "#DW stage_in type=list source=/runs/small-1/stage-in-train.list destination=$DW_JOB_STRIPED/staged/train");
  const auto lists = StageLists(plan, "/runs/small-1");
  ASSERT_EQ(lists.size(), 1u);
  EXPECT_EQ(lists[0].path, "/runs/small-1/stage-in-train.list");
  EXPECT_EQ(WithDirectory(lists[0].content), "<here>/data/a.tfrecord\n<here>/data/b.tfrecord\n");
}

TEST_F(BatchPlan, NamesAFileInAListThatNoDirectiveCanHold) {
  Data("my data.tfrecord");
  const auto text = "data: {train: {source: \"my data.tfrecord\", tier: burst}}\n";
  EXPECT_THAT(DirectivesOf(text, kDataWarp).back(), HasSubstr("type=list"));
  EXPECT_EQ(WithDirectory(StageLists(PlanOf(text, kDataWarp), "/runs/small-1").at(0).content),
            "<here>/my data.tfrecord\n");
}

TEST_F(BatchPlan, NamesEachFileToTheSuccessor) {
  Data("a.tfrecord");
  Data("b.tfrecord");
  EXPECT_THAT(DirectivesOf("data: {train: {source: \"*.tfrecord\", tier: burst}}\n",
                           "launch: {slurm: {burst_buffer: {type: dws}}}\n"),
              ElementsAre("#DW jobdw type=lustre capacity=1MiB name=slipway",
                          "#DW copy_in source=<here>/a.tfrecord destination=$DW_JOB_slipway/staged/train/a.tfrecord",
                          "#DW copy_in source=<here>/b.tfrecord destination=$DW_JOB_slipway/staged/train/b.tfrecord"));
}

TEST_F(BatchPlan, LeavesStagingToTheJobWhenAskedTo) {
  Data("a.tfrecord");
  const auto job = JobOf(
      "data: {train: {source: a.tfrecord, tier: burst}}\n"
      "launch: {slurm: {burst_buffer: {stage_in: false}}}\n",
      kDataWarp);
  EXPECT_THAT(BurstBufferDirectives(job.burst_buffer), ElementsAre(StartsWith("#DW jobdw")));
  EXPECT_EQ(job.staged_in, "");
}

TEST_F(BatchPlan, StagesNothingIntoPrivateBuffersButMakesRoomOnEachNode) {
  Data("a.tfrecord", 10'000'000);
  EXPECT_THAT(DirectivesOf("data: {train: {source: a.tfrecord, tier: burst}}\n"
                           "launch: {nodes: 3, slurm: {burst_buffer: {type: datawarp, access: private}}}\n"),
              ElementsAre("#DW jobdw type=scratch access_mode=private capacity=34MiB"));
}

TEST_F(BatchPlan, AsksForNoBufferThatNothingNeeds) {
  Data("a.tfrecord");
  EXPECT_THAT(DirectivesOf("data: {train: {source: a.tfrecord, tier: none}}\n", kDataWarp), IsEmpty());
}

TEST_F(BatchPlan, TakesTheSizeThatIsGiven) {
  const std::string buffer = "launch: {slurm: {burst_buffer: {type: datawarp, capacity: 2TiB}}}\n";
  EXPECT_THAT(DirectivesOf("checkpoint: {tier: burst}\n", buffer),
              ElementsAre("#DW jobdw type=scratch access_mode=striped capacity=2048GiB"));
  Data("a.tfrecord", 10'000'000);
  const auto plan = PlanOf("data: {train: {source: a.tfrecord, tier: [burst, none]}}\n",
                           "launch: {slurm: {burst_buffer: {type: datawarp, capacity: 1MB}}}\n");
  EXPECT_EQ(plan.data[0].tier, "none");
  EXPECT_THAT(plan.data[0].rejected, ElementsAre(HasSubstr("burst: needs")));
}

TEST_F(BatchPlan, DoesNotGuessTheSizeOfResults) {
  const std::string buffer = "launch: {slurm: {burst_buffer: {type: datawarp}}}\n";
  EXPECT_THAT(RefusalOf(buffer + "checkpoint: {tier: burst}\n"), HasSubstr("launch.slurm.burst_buffer.capacity"));
}

TEST_F(BatchPlan, SaysWhichOptionsMakeItGoThroughSbatch) {
  EXPECT_THAT(DescribePlan(PlanOf("launch: {slurm: {extra: [--nice=3, --wckey=k]}}\n")),
              HasSubstr("\nsubmit: job.sh, with sbatch, which alone reads --nice=3 --wckey=k\n"));
  EXPECT_THAT(DescribePlan(PlanOf("")), HasSubstr("\nsubmit: job.sh\n"));
}

TEST_F(BatchPlan, DoesNotPromiseThatOtherJobsStayAway) {
  EXPECT_THAT(DescribePlan(PlanOf("launch: {ranks_per_node: 2}\n")),
              HasSubstr("\n  on  cores of its own for each rank, if no other job can use them\n"));
  EXPECT_THAT(DescribePlan(PlanOf("launch: {ranks_per_node: 2, bind: cores}\n")),
              HasSubstr("\n  on  cores of its own for each rank\n"));
}

TEST_F(BatchPlan, ShowsWhyTheRanksMayNotStartOnItsNodes) {
  auto plan = PlanOf("launch: {ranks_per_node: 2}\n");
  plan.start_doubt = "srun on this host has no MPI interface 'pmix'";
  EXPECT_THAT(DescribePlan(plan), HasSubstr("\n  but  srun on this host has no MPI interface 'pmix'\n"));
}

TEST_F(BatchPlan, UsesAPersistentBuffer) {
  Data("a.tfrecord");
  EXPECT_THAT(DirectivesOf("data: {train: {source: a.tfrecord, tier: burst}}\n"
                           "launch: {slurm: {burst_buffer: {type: datawarp, persistent: cosmo}}}\n"),
              ElementsAre("#DW persistentdw name=cosmo",
                          "#DW stage_in type=file source=<here>/a.tfrecord "
                          "destination=$DW_PERSISTENT_STRIPED_cosmo/staged-small-1/train/a.tfrecord"))
      << "another run may stage into it at the same time";
}

TEST_F(BatchPlan, CopiesOutWhatTheUserNames) {
  EXPECT_THAT(
      DirectivesOf("launch: {slurm: {burst_buffer: {type: datawarp, capacity: 1GiB, stage_out: {plots: out}}}}\n"),
      ElementsAre(StartsWith("#DW jobdw"),
                  "#DW stage_out type=directory source=$DW_JOB_STRIPED/plots destination=<here>/out"));
}

TEST_F(BatchPlan, PromisesNoBufferInsideTheJob) {
  Data("a.tfrecord");
  ::setenv("SLURM_JOB_ID", "7", 1);
  const auto plan = PlanOf("data: {train: {source: a.tfrecord, tier: [burst, none]}}\n", kDataWarp);
  EXPECT_EQ(plan.data[0].tier, "none");
}

TEST_F(BatchPlan, RefusesInTheSpecWhatTheScriptCannotHold) {
  const auto refused = [&](const std::string& slurm) { return RefusalOf("launch: {slurm: {" + slurm + "}}\n"); };
  EXPECT_THAT(refused("partition: \"a\\nb\""), HasSubstr("exp.yaml:3:29: error: launch.slurm.partition cannot stand"));
  EXPECT_THAT(refused("extra: [--hold, --nodes=3]"), HasSubstr("exp.yaml:3:34: error: --nodes follows from"));
  EXPECT_THAT(refused("burst_buffer: {type: lua}"), HasSubstr("needs a pool"));
  EXPECT_THAT(refused("burst_buffer: {type: datawarp, action: destroy}"), HasSubstr("name it"));
  EXPECT_THAT(refused("burst_buffer: {type: datawarp, persistent: 1st}"), HasSubstr("1st"));
  EXPECT_THAT(refused("burst_buffer: {type: datawarp, stage_out: {../x: /out}}"), HasSubstr("leaves the burst buffer"));
}

/// The installed program, without settings of this machine.
Captured Slipway(const std::vector<std::string>& words, const test::TempDirectory& directory,
                 const std::string& slurm_conf = "", const std::string& allocation = "") {
  SpawnOptions options;
  options.argv = {SLIPWAY_BUILD_DIR "/bin/slipway"};
  options.argv.insert(options.argv.end(), words.begin(), words.end());
  auto environment = Environment::Inherited();
  environment.Set("XDG_CONFIG_HOME", directory.path().string());
  environment.Set("SLIPWAY_SITE", (directory / "site.yaml").string());
  environment.Unset("SLURM_JOB_ID").Unset("SLURM_CONF");
  if (!slurm_conf.empty()) environment.Set("SLURM_CONF", (directory / slurm_conf).string());
  if (!allocation.empty()) environment.Set("SLURM_JOB_ID", allocation);
  options.environment = environment;
  options.working_directory = directory.path();
  return RunAndCapture(options, std::chrono::seconds(20));
}

TEST_F(BatchPlan, IsShownWordForWord) {
  WriteFile(directory_ / "exp.yaml", std::string(kHead) + "launch: {nodes: 2, ranks_per_node: 2, time_limit: 1h}\n");
  WriteFile(directory_ / "site.yaml", "launch: {slurm: {account: m1234}}\n");
  const auto shown = Slipway({"plan", "exp.yaml", "--engine", "slurm"}, directory_);
  ASSERT_TRUE(shown.status.Success()) << shown.errors;
  const auto run = (directory_ / "runs/small-<time>-<id>").string();
  const std::string script =
      "#!/bin/bash\n"
      "#SBATCH --job-name=small\n"
      "#SBATCH --comment='slipway:small-<time>-<id>'\n"
      "#SBATCH --account=m1234\n"
      "#SBATCH --nodes=2\n"
      "#SBATCH --ntasks=4\n"
      "#SBATCH --ntasks-per-node=2\n"
      "#SBATCH --cpus-per-task=1\n"
      "#SBATCH --threads-per-core=1\n"
      "#SBATCH --time=60\n"
      "#SBATCH --signal=B:USR1@180\n"
      "#SBATCH --requeue\n"
      "#SBATCH --chdir='" +
      run +
      "'\n"
      "#SBATCH --output='" +
      run +
      "/manager.log'\n"
      "#SBATCH --open-mode=append\n"
      "#SBATCH --propagate=NONE\n"
      "exec " SLIPWAY_BUILD_DIR "/bin/slipway manage '" +
      run + "'\n";
  EXPECT_THAT(shown.output, HasSubstr("\nsubmit: job.sh\n\n" + script));
  EXPECT_THAT(shown.output,
              HasSubstr("  launch.slurm.account: m1234 (" + (directory_ / "site.yaml").string() + ":1)\n"));
  EXPECT_THAT(shown.output, HasSubstr("  launch.engine: slurm (--set)\n"));
  const auto document = Json::parse(Slipway({"plan", "exp.yaml", "--engine", "slurm", "--json"}, directory_).output);
  EXPECT_EQ(document["script"], script);
  EXPECT_EQ(document["engine"], "slurm");
}

TEST_F(BatchPlan, IsNotMadeForTheLocalEngine) {
  WriteFile(directory_ / "exp.yaml", kHead);
  WriteFile(directory_ / "site.yaml", "{}\n");
  const auto shown = Slipway({"plan", "exp.yaml"}, directory_);
  EXPECT_THAT(shown.output, Not(HasSubstr("job.sh")));
  EXPECT_THAT(shown.output, Not(HasSubstr("settings:")));
}

TEST_F(BatchPlan, IsNotMadeInsideAnAllocationWhichIsUsedInstead) {
  WriteFile(directory_ / "exp.yaml", kHead);
  WriteFile(directory_ / "site.yaml", "{}\n");
  const auto shown = Slipway({"plan", "exp.yaml", "--engine", "slurm"}, directory_, "", "12");
  EXPECT_THAT(shown.output, Not(HasSubstr("job.sh")));
  EXPECT_THAT(shown.output, HasSubstr("  run "));
}

TEST_F(BatchPlan, IsNotSubmittedWhereThereIsNoSlurm) {
  WriteFile(directory_ / "exp.yaml", std::string(kHead));
  WriteFile(directory_ / "site.yaml", "{}\n");
  const auto said = Slipway({"submit", "exp.yaml", "--engine", "slurm"}, directory_, "nowhere.conf");
  EXPECT_EQ(said.status.code, 3);
  EXPECT_THAT(said.errors, HasSubstr("nowhere.conf"));
  EXPECT_FALSE(fs::exists(directory_ / "runs"));
}

}  // namespace
}  // namespace slipway::launcher
