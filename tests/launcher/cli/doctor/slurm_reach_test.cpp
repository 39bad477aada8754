// What is said of a Slurm that is there, out of order, or not there.

#include "launcher/cli/doctor/slurm_reach.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace slipway::launcher {
namespace {

using testing::HasSubstr;

SlurmFacts Reached() {
  SlurmFacts facts;
  facts.conf = "/etc/slurm/slurm.conf";
  facts.cluster.emplace();
  facts.cluster->name = "alps";
  facts.cluster->controller_version = "22.05.8";
  facts.cluster->library_version = "22.05.9";
  facts.took = Seconds(0.012);
  facts.partitions.resize(2);
  facts.partitions[1].state = PartitionState::kDown;
  return facts;
}

SlurmFacts InTrouble(SlurmTrouble trouble) {
  SlurmFacts facts;
  facts.conf = "/etc/slurm/slurm.conf";
  facts.trouble = TroubleReport{trouble, 0, "its own words", ""};
  return facts;
}

const Finding* Find(const Findings& findings, const std::string& about) {
  for (const auto& finding : findings) {
    if (finding.about == about) return &finding;
  }
  return nullptr;
}

TEST(SlurmReach, TellsTheClusterThatAnswers) {
  const auto findings = Judge(Reached());
  EXPECT_EQ(WorstOf(findings), Grade::kOk);
  EXPECT_THAT(Find(findings, "slurm")->text, HasSubstr("cluster 'alps', Slurm 22.05.8, answered in 12"));
  EXPECT_THAT(Find(findings, "slurm")->text, HasSubstr("1 of 2 partitions up"));
  EXPECT_EQ(Find(findings, "munge")->grade, Grade::kOk);
}

TEST(SlurmReach, WarnsOfAnotherReleaseAndOfPartitionsThatAreDown) {
  auto facts = Reached();
  facts.cluster->controller_version = "23.02.1";
  EXPECT_EQ(Find(Judge(facts), "libslurm")->grade, Grade::kWarn);
  facts.partitions.clear();
  EXPECT_EQ(Find(Judge(facts), "slurm")->grade, Grade::kWarn);
}

TEST(SlurmReach, DoesNotBlameMungeForAControllerThatIsDown) {
  auto facts = InTrouble(SlurmTrouble::kController);
  facts.munge.emplace();  // of the machine, at another socket than Slurm's
  facts.munge->status = {1, 0};
  EXPECT_EQ(Find(Judge(facts), "munge")->grade, Grade::kOk);
  facts = InTrouble(SlurmTrouble::kAuthentication);
  EXPECT_EQ(Find(Judge(facts), "munge")->grade, Grade::kFail);
}

TEST(SlurmReach, HasFailedWhereAConfiguredSlurmDoesNotAnswer) {
  for (const auto trouble : AllOf<SlurmTrouble>()) {
    const auto findings = Judge(InTrouble(trouble));
    EXPECT_EQ(Find(findings, "slurm")->grade, Grade::kFail) << WordOf(trouble);
    EXPECT_THAT(Find(findings, "slurm")->text, HasSubstr("its own words"));
  }
}

TEST(SlurmReach, BlamesMungeWhereItIsMunge) {
  EXPECT_EQ(Find(Judge(InTrouble(SlurmTrouble::kAuthentication)), "munge")->grade, Grade::kFail);
  EXPECT_EQ(Find(Judge(InTrouble(SlurmTrouble::kController)), "munge")->grade, Grade::kOk);
}

TEST(SlurmReach, OnlyWarnsOnAMachineWithoutSlurm) {
  EXPECT_EQ(WorstOf(Judge(SlurmFacts())), Grade::kWarn);
  SlurmFacts with_munge;
  with_munge.munge.emplace();
  EXPECT_EQ(Find(Judge(with_munge), "munge")->grade, Grade::kOk);
  with_munge.munge->status = {1, 0};
  EXPECT_EQ(Find(Judge(with_munge), "munge")->grade, Grade::kWarn);
}

}  // namespace
}  // namespace slipway::launcher
