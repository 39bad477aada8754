// Which program opens an image, what is seen in the container, and what is refused.

#include "launcher/plan/container.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files.h"
#include "core/install.h"
#include "launcher/plan/batch_plan.h"
#include "launcher/plan/container_mounts.h"
#include "launcher/plan/plan.h"
#include "tests/support/temp_directory.h"

namespace slipway::launcher {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using enum ContainerRuntime;

/// A PATH with the programs that a test puts there.
class Container : public testing::Test {
 protected:
  Container() : path_(std::getenv("PATH")) {
    MakeDirectories(here_ / "bin");
    MakeDirectories(here_ / "tree");
    ::setenv("PATH", (here_ / "bin").c_str(), 1);
    ::unsetenv("SLURM_JOB_ID");
  }
  ~Container() override { ::setenv("PATH", path_.c_str(), 1); }

  void Have(const std::string& program) const { WriteFile(here_ / "bin" / program, "#!/bin/sh\n", 0755); }

  Plan PlanOf(const std::string& container, const std::string& engine = "local") const {
    WriteFile(here_ / "exp.yaml", "name: boxed\nlaunch: {container: " + container + "}\ntrain: {command: [train]}\n");
    return MakePlan(LoadSpec(here_ / "exp.yaml", {"launch.engine=" + engine}, {}), here_ / "runs");
  }
  ContainerRuntime RuntimeOf(const std::string& image) const {
    return PlanOf("{image: '" + image + "', options: [-w]}").container->runtime;
  }
  std::string RefusalOf(const std::string& container) const {
    try {
      PlanOf(container);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }

  test::TempDirectory here_;
  std::string path_;
  /// Slipway needs no place of its own where it was built in /tmp, which every container sees.
  const bool slipway_is_seen_ = InstallPrefix().native().starts_with("/tmp/");
};

TEST_F(Container, IsOpenedByTheFirstProgramThatCan) {
  Have("ch-run");
  EXPECT_EQ(RuntimeOf("tree"), kCharliecloud);
  Have("podman");
  EXPECT_EQ(RuntimeOf("docker://pytorch"), kPodman);
  EXPECT_EQ(RuntimeOf("pytorch:2.1"), kPodman);
  Have("singularity");
  EXPECT_EQ(RuntimeOf("tree"), kSingularity);
  Have("apptainer");
  EXPECT_EQ(RuntimeOf("tree"), kApptainer);
  EXPECT_EQ(RuntimeOf("docker://pytorch"), kApptainer);
  WriteFile(here_ / "image.sqfs", "");
  EXPECT_EQ(RuntimeOf("image.sqfs"), kCharliecloud);
}

TEST_F(Container, IsRefusedWhereItCannotBeOpened) {
  EXPECT_THAT(RefusalOf("{image: ./none.sif}"), HasSubstr("there is no image '" + (here_ / "none.sif").string() + "'"));
  EXPECT_THAT(RefusalOf("{image: none.sif}"), HasSubstr("there is no image '")) << "not a name of a registry";
  WriteFile(here_ / "image.sif", "");
  EXPECT_THAT(RefusalOf("{image: image.sif}"),
              HasSubstr("apptainer, singularity are not on the PATH\n  next: install"));
  Have("ch-run");
  EXPECT_THAT(RefusalOf("{image: image.sif}"), HasSubstr("apptainer, singularity are not on the PATH"));
  EXPECT_THAT(RefusalOf("{image: image.sif, runtime: shifter}"), HasSubstr("shifter is not on the PATH"));
}

TEST_F(Container, IsLookedForAgainByTheJobThatGetsIt) {
  const auto plan = PlanOf("{image: 'docker://pytorch'}", "slurm");
  EXPECT_THAT(plan.container->reason, HasSubstr("the job looks again"));
  ::setenv("SLURM_JOB_ID", "12", 1);
  EXPECT_THROW(PlanOf("{image: 'docker://pytorch'}", "slurm"), Error);
}

TEST_F(Container, NeedsPlacesInAnImageThatNobodyWritesInto) {
  Have("ch-run");
  MakeDirectories(here_ / "tree/opt");
  const auto slipway = slipway_is_seen_ ? "" : (here_ / "tree").string() + InstallPrefix().string() + " ";
  EXPECT_THAT(RefusalOf("{image: tree, binds: ['/opt', '/scratch/x:/inside']}"),
              HasSubstr("next: mkdir -p " + slipway + (here_ / "tree/inside").string()));
  EXPECT_EQ(RefusalOf("{image: tree, binds: ['/scratch/x:/inside'], options: [--write]}"), "no error");
}

TEST_F(Container, ShowsRunsSlipwayAndWhatTheUserBinds) {
  Have("ch-run");
  auto plan = PlanOf("{image: tree, binds: [data, '/scratch/x:/inside'], options: [-w]}");
  plan.runs_directory = "/shared/runs/boxed-1/trials";  // as the job of a single trial has it
  plan.document.directory = "/shared";
  const auto mounts = MountsFor(plan, {{"train", "/fast/train-1"}, {"near", "/shared/near"}, {"here", "/tmp/near"}});
  EXPECT_THAT(mounts, Contains(Mount{"/shared", "/shared"}));
  EXPECT_THAT(mounts, Contains(Mount{"/fast/train-1", "/fast/train-1"}));
  EXPECT_THAT(mounts, Contains(Mount{"/shared/data", "/shared/data"}));
  EXPECT_THAT(mounts, Contains(Mount{"/scratch/x", "/inside"}));
  EXPECT_EQ(std::ranges::count(mounts, Mount{InstallPrefix(), InstallPrefix()}), slipway_is_seen_ ? 0 : 1);
  for (const auto* seen_anyway : {"/shared/runs", "/shared/near", "/tmp/near"}) {
    EXPECT_THAT(mounts, Not(Contains(Mount{seen_anyway, seen_anyway})));
  }
}

/// A program under NVIDIA's MPS finds its daemon by them. Other runtimes pass all variables on.
TEST_F(Container, OfPodmanHasTheVariablesOfMps) {
  Have("podman");
  const auto plan = PlanOf("{image: 'docker://pytorch'}");
  const auto words = RankCommand(plan, {}, PlannedPlace(plan), Json::object(), {});
  const auto variable = std::ranges::find(words, "CUDA_MPS_*");
  ASSERT_NE(variable, words.end());
  EXPECT_EQ(*std::prev(variable), "--env");
}

TEST_F(Container, CannotHaveAPathThatBindsWouldTakeApart) {
  Have("apptainer");
  EXPECT_THAT(RefusalOf("{image: tree, binds: ['/a,b']}"), HasSubstr("'/a,b' cannot be bound into a container"));
}

TEST_F(Container, OfShifterIsAskedOfTheJob) {
  Have("shifter");
  const auto plan = PlanOf("{image: 'docker:pytorch', runtime: shifter}", "slurm");
  EXPECT_EQ(MakeBatchJob(plan, "/runs/boxed-1").shifter_image, "docker:pytorch");
}

}  // namespace
}  // namespace slipway::launcher
