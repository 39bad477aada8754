// Which GPUs of a node are measured for a run.

#include "launcher/run/context/gpus_of_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "core/files.h"
#include "launcher/spec/spec.h"
#include "tests/support/temp_directory.h"

namespace slipway::launcher {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(GpuMeters, FitOnlyBesideTheStreamsOfTheRun) {
  Spec spec;
  EXPECT_FALSE(GpuMetersFit(spec, 200, 200, 800)) << "supervisors, monitors and ranks need 1200";
  EXPECT_FALSE(GpuMetersFit(spec, 200, 200, 1663));
  EXPECT_TRUE(GpuMetersFit(spec, 200, 200, 1664));
  spec.launch.ranks_per_node = 8;
  EXPECT_FALSE(GpuMetersFit(spec, 200, 200, 1664));
  EXPECT_TRUE(GpuMetersFit(spec, 200, 200, 4464));
  spec.ensemble.emplace().parallel = 400;
  EXPECT_FALSE(GpuMetersFit(spec, 200, 200, 4464));
}

class GivenGpus : public testing::Test {
 protected:
  GivenGpus() { ::setenv("CUDA_VISIBLE_DEVICES", "4,5,6,7", 1); }
  ~GivenGpus() override { ::unsetenv("CUDA_VISIBLE_DEVICES"); }
  void AddGpu(int number) { WriteFile(root_.path() / "dev" / ("nvidia" + std::to_string(number)), ""); }
  GpusToMeasure GpusHere() const { return GpusOfRun(run_, root_.path()); }

  Spec spec_;
  RunOnGpus run_{spec_, "/runs/a-1"};
  test::TempDirectory root_;
};

TEST_F(GivenGpus, AreThoseOfTheRanks) {
  spec_.launch.gpus_per_rank = 1;
  spec_.launch.ranks_per_node = 2;
  EXPECT_THAT(GpusHere().names, ElementsAre("4", "5"));
  EXPECT_EQ(GpusHere().what, GpuMeasures::kEnergyAndUse);
}

TEST_F(GivenGpus, AreThoseOfTheEnvironmentWithoutAField) {
  EXPECT_THAT(GpusHere().names, ElementsAre("4", "5", "6", "7"));
  ::setenv("CUDA_VISIBLE_DEVICES", "", 1);
  EXPECT_THAT(GpusHere().names, IsEmpty());
}

TEST_F(GivenGpus, OfAnotherNodeAreThoseOfItsAgent) {
  const NodeDevices four{{{"CUDA_VISIBLE_DEVICES", {"0", "1", "2", "3"}}}};
  const NodeDevices amd{{{"ROCR_VISIBLE_DEVICES", {"0", "1"}}}};
  EXPECT_THAT(GpusOfRun(run_, four, true).names, ElementsAre("0", "1", "2", "3"));
  EXPECT_EQ(GpusOfRun(run_, four, true).what, GpuMeasures::kEnergyAndUse);
  EXPECT_THAT(GpusOfRun(run_, four, false).names, ElementsAre("0", "1", "2", "3"));
  EXPECT_EQ(GpusOfRun(run_, four, false).what, GpuMeasures::kUse) << "their energy may be that of others";
  spec_.launch.gpus_per_rank = 1;
  spec_.launch.ranks_per_node = 2;
  EXPECT_THAT(GpusOfRun(run_, four, false).names, ElementsAre("0", "1"));
  EXPECT_THAT(GpusOfRun(run_, amd, true).names, IsEmpty()) << "NVML knows GPUs of NVIDIA only";
}

TEST_F(GivenGpus, AreAllOfTheNodeWhereNothingNamesAny) {
  ::unsetenv("CUDA_VISIBLE_DEVICES");
  std::filesystem::create_directories(root_.path() / "dev");
  EXPECT_THAT(GpusHere().names, IsEmpty());
  AddGpu(0);
  EXPECT_THAT(GpusHere().names, ElementsAre("0"));
  EXPECT_EQ(GpusHere().what, GpuMeasures::kUse);
  AddGpu(1);
  EXPECT_THAT(GpusHere().names, ElementsAre("0", "1"));
  EXPECT_EQ(GpusHere().what, GpuMeasures::kUse);
}

TEST_F(GivenGpus, AreThoseInUseWhereNothingNamesAny) {
  const NodeDevices two{{{"CUDA_VISIBLE_DEVICES", {"0", "1"}}}};
  EXPECT_EQ(GpusOfRun(run_, two, false).run, "a-1");
  EXPECT_EQ(GpusOfRun(run_, two, true).run, "");
  EXPECT_EQ(GpusOfRun({spec_, "/runs/b-2/trials/3"}, two, false).run, "b-2/trials/3");
  spec_.ensemble.emplace();
  EXPECT_EQ(GpusOfRun(run_, two, false).run, "a-1");
  EXPECT_THAT(GpusOfRun(run_, two, true).names, ElementsAre("0", "1"));
}

TEST_F(GivenGpus, AreThoseInUseOfAStepThatAsksForNone) {
  const NodeDevices two{{{"CUDA_VISIBLE_DEVICES", {"0", "1"}}}};
  const auto workflow = root_.path() / "flow-3";
  const RunOnGpus step{spec_, workflow / "steps/train/a-1"};
  EXPECT_EQ(GpusOfRun(step, two, true).what, GpuMeasures::kEnergyAndUse) << "no run of a workflow is around it";
  std::filesystem::create_directories(workflow);
  WriteFile(workflow / "state.json", "{}");
  EXPECT_EQ(GpusOfRun(step, two, true).run, "a-1");
  EXPECT_EQ(GpusOfRun(step, two, true).what, GpuMeasures::kUse);
  spec_.launch.gpus_per_rank = 1;
  EXPECT_THAT(GpusOfRun(step, two, true).names, ElementsAre("0"));
  EXPECT_EQ(GpusOfRun(step, two, true).run, "");
}

}  // namespace
}  // namespace slipway::launcher
