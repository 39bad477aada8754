// slipway-gpus and its reader. NVML is a stand-in (tests/support/fake_nvml.cpp).

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/files.h"
#include "core/json.h"
#include "launcher/run/context/device_recorder.h"
#include "launcher/run/context/gpus_of_run.h"
#include "launcher/spec/spec.h"
#include "tests/support/temp_directory.h"

namespace slipway::launcher {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr auto kWatchedGpu = "GPU-aaaaaaaa-0000-0000-0000-000000000000";

class WatchedGpus : public testing::Test {
 protected:
  WatchedGpus() {
    ::dlopen(SLIPWAY_FAKE_NVML, RTLD_NOW);  // found by its name from now on
    ::setenv("LD_LIBRARY_PATH", std::filesystem::path(SLIPWAY_FAKE_NVML).parent_path().c_str(), 1);
    ::setenv("SLIPWAY_POWERCAP", (folder_.path() / "none").c_str(), 1);
  }
  ~WatchedGpus() override {
    ::unsetenv("FAKE_NVML");
    ::unsetenv("LD_LIBRARY_PATH");
    ::unsetenv("SLIPWAY_POWERCAP");
  }
  static void Be(const char* words) { ::setenv("FAKE_NVML", words, 1); }
  GpuWatch::Report Reports() {
    return [this](const std::string& reason) { reports_.push_back(reason); };
  }
  void Record(const std::vector<std::string>& names) {
    const DeviceRecorder recorder(loop_, files_, {names}, Reports());
    const auto end = SystemClock().Steady() + std::chrono::milliseconds(200);
    while (SystemClock().Steady() < end) loop_.RunOnce(std::chrono::milliseconds(10));
  }
  void AwaitReport() {
    const auto end = SystemClock().Steady() + std::chrono::seconds(20);
    while (reports_.empty() && SystemClock().Steady() < end) loop_.RunOnce(std::chrono::milliseconds(50));
  }

  test::TempDirectory folder_;
  DeviceFiles files_{folder_.path() / "energy.json", folder_.path() / "gpus.json"};
  EventLoop loop_;
  std::vector<std::string> reports_;
};

TEST_F(WatchedGpus, KeepPeakAndMeanOverSeveralManagers) {
  Be("full");
  Record({"0"});
  Be("");
  Record({"0", "1"});
  const auto gpus = ReadGpuRecord(files_.gpus);
  ASSERT_EQ(gpus.size(), 2u);
  EXPECT_EQ(gpus[0].gpu, kWatchedGpu);
  EXPECT_EQ(gpus[0].memory_peak_bytes, 75'000'000'000u);
  EXPECT_EQ(gpus[0].memory_used_bytes, 10'000'000'000u);
  EXPECT_EQ(UseOf(gpus).memory_peak_bytes, 75'000'000'000u);
  EXPECT_EQ(Json::parse(ReadFile(files_.gpus))["schema"], "slipway.gpus/1");
  EXPECT_THAT(reports_, IsEmpty());
}

TEST_F(WatchedGpus, HaveTheirEnergyBesideThatOfProcessors) {
  for (int manager = 0; manager < 2; ++manager) Record({"0", "1"});
  const auto document = Json::parse(ReadFile(files_.energy));
  EXPECT_NEAR(document["gpu_joules"].get<double>(), 2 * (2.5 + 4), 1e-9);
  EXPECT_TRUE(document["cpu_joules"].is_null());
  EXPECT_EQ(document["devices"][1]["kind"], "gpu");
  const auto energy = SumOf(ReadEnergyRecord(files_.energy));
  EXPECT_NEAR(energy.gpu_j.value_or(0), 13, 1e-9);
  EXPECT_FALSE(energy.cpu_j);
}

TEST_F(WatchedGpus, AreGivenUpWhenTheDriverHangs) {
  Be("hangs");
  const auto began = SystemClock().Steady();
  {
    const GpuWatch watch(loop_, {{"0"}}, Reports(), {std::chrono::milliseconds(300), std::chrono::milliseconds(300)});
    AwaitReport();
  }
  EXPECT_LT(SystemClock().Steady() - began, std::chrono::seconds(10));
  EXPECT_THAT(reports_, ElementsAre(HasSubstr("has not answered")));
}

TEST_F(WatchedGpus, DoNotHoldUpTheEndWhenTheDriverHangs) {
  Be("hangs");
  const auto began = SystemClock().Steady();
  Record({"0"});
  EXPECT_LT(SystemClock().Steady() - began, std::chrono::seconds(10));
  EXPECT_FALSE(std::filesystem::exists(files_.gpus));
}

TEST_F(WatchedGpus, AreGivenUpWhenTheLibraryCrashes) {
  Be("crashes");
  const GpuWatch watch(loop_, {{"0"}}, Reports());
  AwaitReport();
  EXPECT_THAT(reports_, ElementsAre(HasSubstr("SIGABRT")));
}

TEST_F(WatchedGpus, AreLeftAloneWithoutADriver) {
  Be("driver_gone");
  Record({"0"});
  EXPECT_THAT(reports_, IsEmpty());
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

TEST_F(WatchedGpus, HaveNamesForTheRecordOfTheMachine) {
  EXPECT_THAT(NamesOfGpus(), ElementsAre("NVIDIA Stand-in 80GB", "NVIDIA Stand-in 80GB"));
}

class GivenGpus : public testing::Test {
 protected:
  GivenGpus() { ::setenv("CUDA_VISIBLE_DEVICES", "4,5,6,7", 1); }
  ~GivenGpus() override { ::unsetenv("CUDA_VISIBLE_DEVICES"); }
  void AddGpu(int number) { WriteFile(root_.path() / "dev" / ("nvidia" + std::to_string(number)), ""); }
  GpusToMeasure GpusHere() const { return GpusOfRun(spec_, root_.path()); }

  Spec spec_;
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

TEST_F(GivenGpus, AreTheOnlyOneOfTheNodeWhereNothingNamesAny) {
  ::unsetenv("CUDA_VISIBLE_DEVICES");
  std::filesystem::create_directories(root_.path() / "dev");
  EXPECT_THAT(GpusHere().names, IsEmpty());
  AddGpu(0);
  EXPECT_THAT(GpusHere().names, ElementsAre("0"));
  EXPECT_EQ(GpusHere().what, GpuMeasures::kUse) << "its energy may be that of others";
  AddGpu(1);
  EXPECT_THAT(GpusHere().names, IsEmpty());
}

}  // namespace
}  // namespace slipway::launcher
