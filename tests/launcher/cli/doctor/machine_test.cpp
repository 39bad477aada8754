// What the facts of a machine mean, degenerate ones among them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "core/files.h"
#include "launcher/cli/doctor/direct_copies.h"
#include "launcher/cli/doctor/installation.h"
#include "launcher/cli/doctor/limits.h"
#include "launcher/cli/doctor/memory_bandwidth.h"
#include "launcher/cli/doctor/run_root.h"
#include "launcher/cli/doctor/tiers.h"
#include "tests/launcher/cli/doctor/about.h"
#include "tests/support/temp_directory.h"

namespace slipway::launcher {
namespace {

using testing::HasSubstr;

// ---- installation

InstallationFacts Whole() { return {"0.1.0 (abc)", "/opt/slipway", {}, {"openmpi"}, true, {"fashion"}}; }

TEST(Installation, ThatIsWholeIsInOrder) {
  EXPECT_EQ(WorstOf(Judge(Whole())), Grade::kOk);
  EXPECT_EQ(About(Judge(Whole()), "libslipway").text, "for openmpi");
}

TEST(Installation, WithoutAProgramOfItsOwnHasFailed) {
  auto facts = Whole();
  facts.missing = {"slipway-rank", "slipway-supervisor"};
  const auto finding = About(Judge(facts), "slipway");
  EXPECT_EQ(finding.grade, Grade::kFail);
  EXPECT_THAT(finding.text, HasSubstr("lacks slipway-rank, slipway-supervisor"));
}

TEST(Installation, WithoutWhatIsOptionalWarns) {
  const auto findings = Judge(InstallationFacts{"0.1.0", "/opt", {}, {}, false, {}});
  EXPECT_EQ(WorstOf(findings), Grade::kWarn);
  for (const char* about : {"libslipway", "HDF5", "trainers"}) EXPECT_EQ(About(findings, about).grade, Grade::kWarn);
}

// ---- limits

LimitFacts Roomy() {
  LimitFacts facts;
  facts.cores = 8;
  facts.shared_memory = Bytes{16u * 1000 * 1000 * 1000};
  facts.memory = facts.memory_left = facts.machine_left = Bytes{32u * 1000 * 1000 * 1000};
  return facts;
}

TEST(Limits, ThatLeaveRoomAreInOrder) {
  EXPECT_EQ(WorstOf(Judge(Roomy())), Grade::kOk);
  EXPECT_EQ(About(Judge(Roomy()), "open files").text, "no limit");
}

TEST(Limits, ThatAreSmallWarn) {
  auto facts = Roomy();
  facts.open_files = 1023;
  facts.processes = 0;
  facts.shared_memory = Bytes{64u << 20};
  facts.memory_left = Bytes{};
  const auto findings = Judge(facts);
  for (const char* about : {"open files", "processes", "/dev/shm", "memory"}) {
    EXPECT_EQ(About(findings, about).grade, Grade::kWarn) << about;
    EXPECT_NE(About(findings, about).remedy, "") << about;
  }
  EXPECT_THAT(About(findings, "memory").text, HasSubstr("control group"));
  facts.open_files = 1024;
  EXPECT_EQ(About(Judge(facts), "open files").grade, Grade::kOk);
}

TEST(Limits, OfOpenFilesSayForWhichRunsTheyAreEnough) {
  auto facts = Roomy();
  facts.open_files = 64 + 60 * (3 + 2 * 8);
  EXPECT_EQ(About(Judge(facts), "open files").text, "1204: enough for a run on 60 nodes of 8 ranks");
  Spec experiment;
  experiment.launch.nodes = experiment.launch.nodes_per_job = 2;
  experiment.launch.ranks_per_node = 1;
  EXPECT_EQ(About(Judge(facts, experiment), "open files").text, "1204: enough for a run on 228 nodes of 1 rank");
}

TEST(Limits, OfOpenFilesMustDoForTheNodesOfTheExperiment) {
  auto facts = Roomy();
  Spec experiment;
  experiment.launch.nodes = experiment.launch.nodes_per_job = 1000;
  experiment.resilience.spare_nodes = 10;
  experiment.launch.ranks_per_node = 8;
  facts.open_files = 19010 + 64;
  EXPECT_EQ(About(Judge(facts, experiment), "open files").grade, Grade::kOk);
  facts.open_files = 19010 + 63;
  const auto finding = About(Judge(facts, experiment), "open files");
  EXPECT_EQ(finding.grade, Grade::kWarn);
  EXPECT_EQ(finding.text, "only 19073: the manager of 1010 nodes with 8000 ranks needs 19074");
  EXPECT_THAT(finding.remedy, HasSubstr("(ulimit -Hn) of 19074"));
}

TEST(Limits, OfOpenFilesMustDoForTheNodesOfATrialThatIsAJob) {
  auto facts = Roomy();
  facts.open_files = 1204;
  Spec experiment;
  experiment.launch.engine = EngineChoice::kSlurm;
  experiment.launch.nodes_per_job = 100;
  experiment.launch.ranks_per_node = 8;
  experiment.ensemble.emplace().placement = Placement::kJob;
  EXPECT_EQ(About(Judge(facts, experiment), "open files").text,
            "only 1204: the manager of 100 nodes with 800 ranks needs 1964");
}

TEST(Limits, WithoutSharedMemoryFail) {
  auto facts = Roomy();
  facts.shared_memory.reset();
  EXPECT_EQ(About(Judge(facts), "/dev/shm").grade, Grade::kFail);
}

TEST(Limits, OfThisMachineAreFound) {
  const auto facts = ProbeLimits();
  EXPECT_GE(facts.cores, 1);
  EXPECT_GT(facts.memory.count, 0u);
  EXPECT_LE(facts.memory_left, facts.memory);
}

// ---- direct copies

TEST(DirectCopies, AreTriedBetweenTwoProcesses) {
  const auto facts = ProbeDirectCopies();
  EXPECT_EQ(facts.possible, facts.reason == 0) << facts.reason;
}

TEST(DirectCopies, ThatAreForbiddenWarn) {
  EXPECT_EQ(WorstOf(Judge(DirectCopiesFacts{true, 0})), Grade::kOk);
  const auto finding = About(Judge(DirectCopiesFacts{false, EPERM}), "direct copies");
  EXPECT_EQ(finding.grade, Grade::kWarn);
  EXPECT_THAT(finding.text, HasSubstr("Operation not permitted"));
  EXPECT_THAT(finding.remedy, HasSubstr("ptrace_scope"));
}

// ---- memory bandwidth

TEST(MemoryBandwidth, IsJudgedByAFigureThatEveryMachineReaches) {
  EXPECT_EQ(WorstOf(Judge(BandwidthFacts{8e9})), Grade::kOk);
  EXPECT_EQ(WorstOf(Judge(BandwidthFacts{0.9e9})), Grade::kWarn);
  EXPECT_EQ(WorstOf(Judge(BandwidthFacts{})), Grade::kWarn);
}

// ---- run folders

RunRootFacts Local() {
  RunRootFacts facts;
  facts.path = "/users/me/runs";
  facts.file_system = "ext4";
  facts.available = Bytes{100u * 1000 * 1000 * 1000ul};
  return facts;
}

TEST(RunRoot, OnALocalDiskIsInOrderForLocalRuns) {
  const auto findings = Judge(Local());
  EXPECT_EQ(WorstOf(findings), Grade::kOk);
  EXPECT_THAT(About(findings, "run folders").text, HasSubstr("/users/me/runs on ext4, 100 GB free"));
}

TEST(RunRoot, OnALocalDiskWarnsWhereSlurmsNodesMustSeeIt) {
  auto facts = Local();
  facts.for_slurm = true;
  EXPECT_EQ(About(Judge(facts), "seen by nodes").grade, Grade::kWarn);
  facts.shared = true;
  EXPECT_EQ(WorstOf(Judge(facts)), Grade::kOk);
}

TEST(RunRoot, OnANetworkSaysHowBooksAreKept) {
  auto facts = Local();
  facts.wal_is_safe = false;
  EXPECT_EQ(About(Judge(facts), "trial books").grade, Grade::kOk);
  EXPECT_THAT(About(Judge(facts), "trial books").text, HasSubstr("without a write-ahead log"));
}

TEST(RunRoot, WithoutRoomWarnsAndWithoutPermissionFails) {
  auto facts = Local();
  facts.counts_inodes = true;
  EXPECT_EQ(WorstOf(Judge(facts)), Grade::kWarn);
  facts.counts_inodes = false;
  facts.available = Bytes{};
  EXPECT_EQ(WorstOf(Judge(facts)), Grade::kWarn);
  facts.why_not_writable = "cannot write in '/users/me/runs': Permission denied";
  EXPECT_EQ(WorstOf(Judge(facts)), Grade::kFail);
}

TEST(RunRoot, IsTriedAndLeftAsItWas) {
  const test::TempDirectory directory;
  const auto facts = ProbeRunRoot(directory / "not/there/yet", false);
  EXPECT_EQ(facts.why_not_writable, "");
  EXPECT_NE(facts.file_system, "");
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

TEST(RunRoot, ThatIsAFileIsNotWritable) {
  const test::TempDirectory directory;
  WriteFile(directory / "runs", "");
  EXPECT_NE(ProbeRunRoot(directory / "runs", false).why_not_writable, "");
}

// ---- tiers

TEST(Tiers, AreJudgedOneByOne) {
  staging::TierState ram;
  ram.name = "ram";
  ram.root = "/dev/shm/slipway-0";
  ram.available = Bytes{1u << 30};
  ram.usable = true;
  staging::TierState burst;
  burst.name = "burst";
  burst.reason = "DW_JOB_STRIPED is not set";
  const auto findings = Judge(std::vector{ram, burst});
  EXPECT_EQ(About(findings, "tier ram").grade, Grade::kOk);
  EXPECT_EQ(About(findings, "tier burst").grade, Grade::kWarn);
  EXPECT_THAT(About(findings, "tier burst").text, HasSubstr("DW_JOB_STRIPED"));
  ram.available = {};
  EXPECT_EQ(WorstOf(Judge(std::vector{ram})), Grade::kWarn);
}

TEST(Tiers, MayBeNone) { EXPECT_EQ(WorstOf(Judge(std::vector<staging::TierState>())), Grade::kWarn); }

}  // namespace
}  // namespace slipway::launcher
