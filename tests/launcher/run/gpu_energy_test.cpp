// Energy of GPUs. The library is a stand-in (tests/support/fake_nvml.cpp): GPUs that fail when asked exist nowhere.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/files.h"
#include "core/json.h"
#include "launcher/run/context/energy_meter.h"
#include "launcher/spec/spec.h"
#include "tests/ensemble/hand_clock.h"
#include "tests/support/temp_directory.h"

namespace slipway::launcher {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr auto kFirst = "GPU-aaaaaaaa-0000-0000-0000-000000000000";
constexpr auto kSecond = "GPU-bbbbbbbb-1111-1111-1111-111111111111";

class GpuEnergy : public testing::Test {
 protected:
  GpuEnergy() { Be(""); }
  ~GpuEnergy() override { ::unsetenv("FAKE_NVML"); }

  static void Be(const char* words) { ::setenv("FAKE_NVML", words, 1); }
  GpuEnergyMeter MeterOf(const std::vector<std::string>& names) {
    return GpuEnergyMeter(names, SLIPWAY_FAKE_NVML, clock_);
  }
  std::vector<std::string> MeasuredWith(const std::vector<std::string>& names) {
    std::vector<std::string> measured;
    for (const auto& device : MeterOf(names).Devices()) measured.push_back(device.device);
    return measured;
  }

  ensemble::HandClock clock_;
};

TEST_F(GpuEnergy, CountsOnlyTheDevicesOfTheRun) {
  auto meter = MeterOf({"1"});
  meter.Sample();
  meter.Sample();
  const auto devices = meter.Devices();
  ASSERT_EQ(devices.size(), 1u);
  EXPECT_EQ(devices[0].device, kSecond);
  EXPECT_EQ(devices[0].kind, DeviceKind::kGpu);
  EXPECT_NEAR(devices[0].joules, 8, 1e-9);
}

TEST_F(GpuEnergy, KnowsEveryFormOfANameThatCudaKnows) {
  EXPECT_THAT(MeasuredWith({"1", "0"}), ElementsAre(kSecond, kFirst));
  EXPECT_THAT(MeasuredWith({kFirst}), ElementsAre(kFirst));
  EXPECT_THAT(MeasuredWith({"GPU-bbbb"}), ElementsAre(kSecond));
  EXPECT_THAT(MeasuredWith({"2", "GPU-cccc", "gpu"}), IsEmpty());
  EXPECT_THAT(MeasuredWith({}), IsEmpty());
}

TEST_F(GpuEnergy, LeavesOutWhatMayBelongToOthers) {
  EXPECT_THAT(MeasuredWith({"MIG-GPU-aaaaaaaa-0000-0000-0000-000000000000/1/0", "MIG-aaaaaaaa"}), IsEmpty());
  Be("split");
  EXPECT_THAT(MeasuredWith({"0", "1"}), ElementsAre(kSecond));
}

TEST_F(GpuEnergy, NumbersThoseThatTheUserMayUse) {
  Be("hidden");
  EXPECT_THAT(MeasuredWith({"0"}), ElementsAre(kSecond));
}

TEST_F(GpuEnergy, AddsUpThePowerWhereThereIsNoCounter) {
  Be("no_counter");
  auto meter = MeterOf({"0"});
  EXPECT_EQ(meter.LongestPause(), std::chrono::seconds(1));
  clock_.Sleep(std::chrono::seconds(3));
  meter.Sample();
  EXPECT_NEAR(meter.Devices().at(0).joules, 600, 1e-6);
}

TEST_F(GpuEnergy, GoesOnWhenADeviceIsLost) {
  auto meter = MeterOf({"0", "1"});
  Be("lost");
  meter.Sample();
  Be("");
  meter.Sample();
  meter.Sample();
  const auto devices = meter.Devices();
  EXPECT_NEAR(devices.at(0).joules, 7.5, 1e-9);
  EXPECT_NEAR(devices.at(1).joules, 4, 1e-9) << "the time without an answer does not count";
}

TEST_F(GpuEnergy, IsNotMeasuredWithoutDriverPermissionOrFunctions) {
  Be("driver_gone");
  EXPECT_TRUE(MeterOf({"0"}).empty());
  Be("no_counter no_power");
  EXPECT_TRUE(MeterOf({"0"}).empty());
  Be("");
  EXPECT_TRUE(GpuEnergyMeter({"0"}, "libm.so.6", clock_).empty()) << "a library without the functions";
  EXPECT_TRUE(GpuEnergyMeter({"0"}, "/nonexistent/libnvidia-ml.so.1", clock_).empty());
}

TEST_F(GpuEnergy, StandsBesideThatOfProcessors) {
  test::TempDirectory folder;
  const auto file = folder.path() / "energy.json";
  ::setenv("SLIPWAY_POWERCAP", (folder.path() / "none").c_str(), 1);
  EventLoop loop;
  for (int manager = 0; manager < 2; ++manager) {
    const EnergyRecorder recorder(loop, file, MeterOf({"0", "1"}));
  }
  ::unsetenv("SLIPWAY_POWERCAP");
  const auto document = Json::parse(ReadFile(file));
  EXPECT_NEAR(document["gpu_joules"].get<double>(), 2 * (2.5 + 4), 1e-9);
  EXPECT_TRUE(document["cpu_joules"].is_null());
  EXPECT_EQ(document["devices"][1]["kind"], "gpu");
  const auto energy = SumOf(ReadEnergyRecord(file));
  EXPECT_NEAR(energy.gpu_j.value_or(0), 13, 1e-9);
  EXPECT_FALSE(energy.cpu_j);
}

class GivenGpus : public testing::Test {
 protected:
  GivenGpus() { ::setenv("CUDA_VISIBLE_DEVICES", "4,5,6,7", 1); }
  ~GivenGpus() override { ::unsetenv("CUDA_VISIBLE_DEVICES"); }
  Spec spec_;
};

TEST_F(GivenGpus, AreThoseOfTheRanks) {
  spec_.launch.gpus_per_rank = 1;
  spec_.launch.ranks_per_node = 2;
  EXPECT_THAT(GpusGivenTo(spec_), ElementsAre("4", "5"));
}

TEST_F(GivenGpus, AreThoseOfTheEnvironmentWithoutAField) {
  EXPECT_THAT(GpusGivenTo(spec_), ElementsAre("4", "5", "6", "7"));
  ::setenv("CUDA_VISIBLE_DEVICES", "", 1);
  EXPECT_THAT(GpusGivenTo(spec_), IsEmpty());
}

}  // namespace
}  // namespace slipway::launcher
