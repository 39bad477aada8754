// The text of the batch script, and what bash makes of it.

#include "launcher/cluster/batch_script.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <csignal>
#include <limits>
#include <map>

#include "core/error.h"
#include "core/files.h"
#include "core/process.h"
#include "launcher/cluster/directive_text.h"
#include "tests/support/temp_directory.h"

namespace slipway::launcher {
namespace {

using testing::HasSubstr;
using testing::Not;

BatchJob SmallJob() {
  BatchJob job;
  job.name = "fashion";
  job.comment = "slipway:fashion-20260102-030405-abcd";
  job.nodes = 4;
  job.ranks_per_node = 2;
  job.cpus_per_rank = 8;
  job.directory = "/runs/fashion";
  job.output = "/runs/fashion/manager.log";
  job.command = {"/opt/slipway/bin/slipway", "manage", "/runs/fashion"};
  return job;
}

std::string RefusalOf(const BatchJob& job) {
  try {
    RenderBatchScript(job);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    return error.what();
  }
  return "no error";
}

/// The lines that a command follows.
std::vector<std::string> HeadOf(const std::string& script) {
  std::vector<std::string> lines;
  std::size_t start = 0;
  while (start < script.size() && script[start] == '#') {
    const auto end = script.find('\n', start);
    lines.push_back(script.substr(start, end - start));
    start = end + 1;
  }
  return lines;
}

/// What bash prints, given the script in a file, with `environment` in addition.
Captured RunScript(const std::string& script, const std::map<std::string, std::string>& environment = {}) {
  const test::TempDirectory directory;
  WriteFile(directory / "job.sh", script);
  SpawnOptions options;
  options.argv = {"/bin/bash", (directory / "job.sh").string()};
  auto variables = Environment::Inherited();
  for (const auto& [name, value] : environment) variables.Set(name, value);
  options.environment = variables;
  options.working_directory = directory.path();
  return RunAndCapture(options, std::chrono::seconds(20));
}

TEST(BatchScript, AsksForTheLeastWithNothingElseSaid) {
  EXPECT_EQ(RenderBatchScript(SmallJob()),
            "#!/bin/bash\n"
            "#SBATCH --job-name=fashion\n"
            "#SBATCH --comment=slipway:fashion-20260102-030405-abcd\n"
            "#SBATCH --nodes=4\n"
            "#SBATCH --ntasks=8\n"
            "#SBATCH --ntasks-per-node=2\n"
            "#SBATCH --cpus-per-task=8\n"
            "#SBATCH --threads-per-core=1\n"
            "#SBATCH --requeue\n"
            "#SBATCH --chdir=/runs/fashion\n"
            "#SBATCH --output=/runs/fashion/manager.log\n"
            "#SBATCH --open-mode=append\n"
            "#SBATCH --propagate=NONE\n"
            "exec /opt/slipway/bin/slipway manage /runs/fashion\n");
}

TEST(BatchScript, PassesNoLimitsOfTheShellOnUnlessAnOptionSaysSo) {
  auto job = SmallJob();
  for (const auto* option : {"--propagate=ALL", "--propagate", "--propag=MEMLOCK"}) {
    job.extra = {option};
    EXPECT_EQ(RenderBatchScript(job).find("--propagate=NONE"), std::string::npos) << option;
  }
  job.extra = {"--profile=none"};
  EXPECT_NE(RenderBatchScript(job).find("\n#SBATCH --propagate=NONE\n"), std::string::npos);
}

TEST(BatchScript, CountsCoresUnlessAnOptionSaysOtherwise) {
  auto job = SmallJob();
  EXPECT_EQ(ThreadsPerCore(job), 1);
  for (const auto* option :
       {"--hint=multithread", "--threads-per-core=2", "--threads-per=2", "--extra-node-info=2:8:1"}) {
    job.extra = {option};
    EXPECT_EQ(ThreadsPerCore(job), 0) << option;
    EXPECT_EQ(RenderBatchScript(job).find("--threads-per-core=1"), std::string::npos) << option;
  }
  job.extra = {"--exclude=n1"};
  EXPECT_EQ(ThreadsPerCore(job), 1);
}

TEST(BatchScript, ChecksModulesAsItLoadsThem) {
  const auto status = [](const std::string& body) {
    return RunScript(RenderModuleCheck({"a b", "c"}), {{"BASH_FUNC_module%%", "() { " + body + "; }"}}).status;
  };
  EXPECT_EQ(status("[ \"$2\" = 'a b' ] || [ \"$2\" = c ]"), ExitStatus());
  EXPECT_EQ(status("[ \"$2\" = 'a b' ]"), (ExitStatus{3, 0}));
}

TEST(BatchScript, AsksForGpusOfAType) {
  auto job = SmallJob();
  job.gpu_type = "1g.10gb";
  EXPECT_THAT(RenderBatchScript(job), Not(HasSubstr("gpu")));
  job.gpus_per_rank = 1;
  EXPECT_THAT(RenderBatchScript(job), HasSubstr("#SBATCH --gpus-per-node=1g.10gb:2\n"));
}

TEST(BatchScript, AsksForEverything) {
  auto job = SmallJob();
  job.account = "m1234";
  job.partition = "debug,regular";
  job.qos = "regular";
  job.constraint = "knl&quad";
  job.reservation = "training";
  job.licenses = "scratch:2";
  job.dependency = "afterok:12:13";
  job.cancel_on_impossible_dependency = true;
  job.gpus_per_rank = 3;
  job.memory_per_node = Bytes{(std::uint64_t{3} << 20) + 1};
  job.time_limit_minutes = 90;
  job.signal_lead_s = 180;
  job.requeue = false;
  job.exclusive = true;
  job.no_kill = true;
  job.shifter_image = "docker:pytorch:2.1";
  job.extra = {"--exclude=n[1-3]", "--hold"};
  job.burst_buffer.kind = BurstBufferKind::kDataWarp;
  job.burst_buffer.capacity = Bytes{1};
  job.burst_buffer.in = {{TransferKind::kFile, "/data/a.h5", "staged/train/a.h5"}};
  job.burst_buffer.out = {{TransferKind::kDirectory, "/results", "plots"}};
  job.staged_in = "staged";
  job.modules = {"pytorch/2.1"};
  job.environment = {{"OMP_NUM_THREADS", "8"}};
  EXPECT_EQ(RenderBatchScript(job),
            "#!/bin/bash\n"
            "#SBATCH --job-name=fashion\n"
            "#SBATCH --comment=slipway:fashion-20260102-030405-abcd\n"
            "#SBATCH --account=m1234\n"
            "#SBATCH --partition=debug,regular\n"
            "#SBATCH --qos=regular\n"
            "#SBATCH --constraint='knl&quad'\n"
            "#SBATCH --reservation=training\n"
            "#SBATCH --licenses=scratch:2\n"
            "#SBATCH --dependency=afterok:12:13\n"
            "#SBATCH --kill-on-invalid-dep=yes\n"
            "#SBATCH --nodes=4\n"
            "#SBATCH --ntasks=8\n"
            "#SBATCH --ntasks-per-node=2\n"
            "#SBATCH --cpus-per-task=8\n"
            "#SBATCH --threads-per-core=1\n"
            "#SBATCH --gpus-per-node=6\n"
            "#SBATCH --mem=4M\n"
            "#SBATCH --exclusive\n"
            "#SBATCH --time=90\n"
            "#SBATCH --signal=B:USR1@180\n"
            "#SBATCH --no-requeue\n"
            "#SBATCH --no-kill\n"
            "#SBATCH --chdir=/runs/fashion\n"
            "#SBATCH --output=/runs/fashion/manager.log\n"
            "#SBATCH --open-mode=append\n"
            "#SBATCH --image=docker:pytorch:2.1\n"
            "#SBATCH --propagate=NONE\n"
            "#SBATCH --exclude='n[1-3]'\n"
            "#SBATCH --hold\n"
            "#DW jobdw type=scratch access_mode=striped capacity=1MiB\n"
            "#DW stage_in type=file source=/data/a.h5 destination=$DW_JOB_STRIPED/staged/train/a.h5\n"
            "#DW stage_out type=directory source=$DW_JOB_STRIPED/plots destination=/results\n"
            "for file in \"${MODULESHOME:-/usr/share/modules}/init/bash\" /etc/profile.d/lmod.sh "
            "/etc/profile.d/modules.sh; do\n"
            "  type module >/dev/null 2>&1 || { [ -r \"$file\" ] && . \"$file\"; }\n"
            "done\n"
            "module load pytorch/2.1 || exit 3\n"
            "export OMP_NUM_THREADS=8\n"
            "export SLIPWAY_STAGED_IN=\"${DW_JOB_STRIPED:?the burst buffer of this job is not there}\"/staged\n"
            "mkdir -p \"${DW_JOB_STRIPED:?the burst buffer of this job is not there}\"/plots || exit 3\n"
            "exec /opt/slipway/bin/slipway manage /runs/fashion\n");
}

TEST(BatchScript, AsksForAllMemoryWithZero) {
  auto job = SmallJob();
  job.memory_per_node = Bytes{0};
  EXPECT_THAT(HeadOf(RenderBatchScript(job)), testing::Contains("#SBATCH --mem=0"));
}

TEST(BatchScript, HasEveryDirectiveBeforeTheFirstCommand) {
  auto job = SmallJob();
  job.burst_buffer = {BurstBufferKind::kLua, BufferAccess::kStriped, Bytes{1}, "pool", "", {}, {}, {}};
  job.environment = {{"A", "x\n#SBATCH --nodes=99\n#BB_LUA pool=other capacity=9TiB\n"}};
  const auto script = RenderBatchScript(job);
  EXPECT_THAT(HeadOf(script).back(), HasSubstr("#BB_LUA pool=pool"));
  EXPECT_THAT(script, Not(HasSubstr("\n#SBATCH --nodes=99")));
  EXPECT_THAT(script, Not(HasSubstr("\n#BB_LUA pool=other")));
}

TEST(BatchScript, DoublesThePercentSignsOfTheLog) {
  auto job = SmallJob();
  job.output = "/runs/50%j/manager.log";
  EXPECT_THAT(RenderBatchScript(job), HasSubstr("#SBATCH --output=/runs/50%%j/manager.log\n"));
}

TEST(BatchScript, OfAnArrayHasALogForEachTask) {
  auto job = SmallJob();
  job.array = "0-2,7";
  job.output = "/runs/50%j/job.log";
  EXPECT_THAT(RenderBatchScript(job), HasSubstr("#SBATCH --array=0-2,7\n#SBATCH --output=/runs/50%%j/job-%a.log\n"));
  EXPECT_EQ(OutputOfTask(job.output, "7"), "/runs/50%j/job-7.log");
}

TEST(BatchScript, QuotesPathsWithBlanksAndSignsForSbatchToo) {
  auto job = SmallJob();
  job.directory = "/runs/it's #1 $HOME";
  EXPECT_THAT(RenderBatchScript(job), HasSubstr("#SBATCH --chdir='/runs/it'\\''s #1 $HOME'\n"));
}

TEST(BatchScript, RefusesWhatNoDirectiveCanHold) {
  auto job = SmallJob();
  job.partition = "debug\n#SBATCH --nodes=99";
  EXPECT_THAT(RefusalOf(job), HasSubstr("a line break"));
  job = SmallJob();
  job.account = std::string("m\0", 2);
  EXPECT_THAT(RefusalOf(job), HasSubstr("control character"));
  job = SmallJob();
  job.directory = "/runs/a\\";
  EXPECT_THAT(RefusalOf(job), HasSubstr("a backslash"));
  job = SmallJob();
  job.environment = {{"BASH_FUNC_x%%", "() { :; }"}};
  EXPECT_THAT(RefusalOf(job), HasSubstr("no name of a variable"));
  job = SmallJob();
  job.command.emplace_back("a\0b", 3);
  EXPECT_THAT(RefusalOf(job), HasSubstr("a NUL"));
}

TEST(BatchScript, PassesOnOnlyOptionsThatItDoesNotSetItself) {
  EXPECT_EQ(WhyNotAnOption("--exclude=n1"), "");
  EXPECT_EQ(WhyNotAnOption("--nodelist=n1"), "");
  EXPECT_EQ(WhyNotAnOption("--hold"), "");
  EXPECT_THAT(WhyNotAnOption("exclude"), HasSubstr("begins with '-'"));
  EXPECT_THAT(WhyNotAnOption("-N4"), HasSubstr("the long form"));
  EXPECT_THAT(WhyNotAnOption("--nodes=3"), HasSubstr("'launch.nodes'"));
  EXPECT_THAT(WhyNotAnOption("--part=debug"), HasSubstr("'launch.slurm.partition'"));
  for (const auto* gpus : {"--gres=gpu:a100:2", "--gres=lustre:1,gpu", "--gpus=2", "--gpus-per-task=1",
                           "--gpus-per-node=2", "--gpus-per-socket=1", "--tres-per-node=gres/gpu:1"}) {
    EXPECT_THAT(WhyNotAnOption(gpus), HasSubstr("'launch.gpus_per_rank' and 'launch.slurm.gpu_type'")) << gpus;
  }
  EXPECT_EQ(WhyNotAnOption("--gres=lustre:1") + WhyNotAnOption("--gpu-freq=low") + WhyNotAnOption("--gres-flags=x"),
            "");
  EXPECT_THAT(WhyNotAnOption("--wrap=reboot"), HasSubstr("by Slipway itself"));
  EXPECT_THAT(WhyNotAnOption("--hold\n#SBATCH --nodes=99"), HasSubstr("a line break"));
  EXPECT_THAT(WhyNotAnOption("--hold --nodes=99"), HasSubstr("no option of sbatch"));
  EXPECT_THAT(WhyNotAnOption("--"), HasSubstr("no option of sbatch"));
  EXPECT_THAT(WhyNotAnOption(""), HasSubstr("begins with '-'"));
}

TEST(BatchScript, GivesProgramsWhateverTextAsItIs) {
  EXPECT_TRUE(
      rc::check("bash hands over words and variables unchanged", [](const std::string& word, const std::string& value) {
        RC_PRE(word.find('\0') == std::string::npos && value.find('\0') == std::string::npos);
        auto job = SmallJob();
        job.environment = {{"VALUE", value}};
        job.command = {"/bin/sh", "-c", "printf '%s|%s' \"$VALUE\" \"$1\"", "sh", word};
        const auto run = RunScript(RenderBatchScript(job));
        RC_ASSERT(run.output == value + "|" + word);
      }));
}

TEST(BatchScript, LetsTheProgramTakeThePlaceOfTheShell) {
  auto job = SmallJob();
  job.command = {"/bin/sh", "-c", "echo $PPID; kill -USR1 $$"};
  EXPECT_EQ(RunScript(RenderBatchScript(job)).status.signal, SIGUSR1);
}

TEST(BatchScript, LoadsModulesBeforeItSetsVariables) {
  auto job = SmallJob();
  job.modules = {"a b", "c"};
  job.environment = {{"THREADS", "mine"}};
  job.command = {"/bin/sh", "-c", "echo $THREADS"};
  const std::map<std::string, std::string> module = {
      {"BASH_FUNC_module%%", "() { echo \"$@\"; export THREADS=of_the_module; }"}};
  EXPECT_EQ(RunScript(RenderBatchScript(job), module).output, "load a b\nload c\nmine\n");
}

TEST(BatchScript, DoesNotBeginWithoutAModule) {
  auto job = SmallJob();
  job.modules = {"missing"};
  job.command = {"/bin/echo", "begun"};
  const auto run = RunScript(RenderBatchScript(job), {{"BASH_FUNC_module%%", "() { return 1; }"}});
  EXPECT_EQ(run.status.code, 3);
  EXPECT_EQ(run.output, "");
}

TEST(BatchScript, TellsWhereDirectivesHaveStaged) {
  auto job = SmallJob();
  job.burst_buffer.kind = BurstBufferKind::kDataWarp;
  job.burst_buffer.capacity = Bytes{1};
  job.staged_in = "staged";
  job.command = {"/bin/sh", "-c", "echo $SLIPWAY_STAGED_IN"};
  const auto script = RenderBatchScript(job);
  EXPECT_EQ(RunScript(script, {{"DW_JOB_STRIPED", "/mnt/b b"}}).output, "/mnt/b b/staged\n");
  const auto without = RunScript(script);
  EXPECT_FALSE(without.status.Success());
  EXPECT_THAT(without.errors, HasSubstr("the burst buffer of this job is not there"));
}

TEST(BatchScript, MakesTheFoldersThatAreStagedOut) {
  const test::TempDirectory buffer;
  auto job = SmallJob();
  job.burst_buffer.kind = BurstBufferKind::kDataWarp;
  job.burst_buffer.capacity = Bytes{1};
  job.burst_buffer.out = {{TransferKind::kDirectory, "/results", "plots/of"}};
  job.command = {"/bin/true"};
  EXPECT_TRUE(RunScript(RenderBatchScript(job), {{"DW_JOB_STRIPED", buffer.path().string()}}).status.Success());
  EXPECT_TRUE(std::filesystem::is_directory(buffer.path() / "plots/of"));
}

TEST(BatchScript, RoundsTimeUpToWholeMinutes) {
  EXPECT_EQ(WholeMinutes(Seconds(1)), 1);
  EXPECT_EQ(WholeMinutes(Seconds(60)), 1);
  EXPECT_EQ(WholeMinutes(Seconds(60.5)), 2);
  EXPECT_EQ(WholeMinutes(Seconds(3600)), 60);
  EXPECT_EQ(WholeMinutes(Seconds(1e30)), std::numeric_limits<int>::max());
}

}  // namespace
}  // namespace slipway::launcher
