// Energy, memory and utilisation of GPUs. The library is a stand-in (tests/support/fake_nvml.cpp): GPUs that fail when
// asked exist nowhere.

#include "launcher/run/context/gpu_meter.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "core/environment.h"
#include "core/files.h"
#include "core/process.h"
#include "tests/ensemble/hand_clock.h"
#include "tests/support/temp_directory.h"

namespace slipway::launcher {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr auto kFirst = "GPU-aaaaaaaa-0000-0000-0000-000000000000";
constexpr auto kSecond = "GPU-bbbbbbbb-1111-1111-1111-111111111111";

class Gpus : public testing::Test {
 protected:
  Gpus() { Be(""); }
  ~Gpus() override {
    ::unsetenv("FAKE_NVML");
    ::unsetenv("FAKE_NVML_USER");
  }

  static void Be(const char* words) { ::setenv("FAKE_NVML", words, 1); }
  GpuMeter MeterOf(const std::vector<std::string>& names) { return GpuMeter({names}, SLIPWAY_FAKE_NVML, clock_); }
  GpuMeter MeterOfRun(const std::string& run) {
    return GpuMeter({{"0", "1"}, GpuMeasures::kUse, run}, SLIPWAY_FAKE_NVML, clock_);
  }
  static void LetUse(pid_t process) { ::setenv("FAKE_NVML_USER", std::to_string(process).c_str(), 1); }
  std::vector<std::string> MeasuredWith(const std::vector<std::string>& names) {
    std::vector<std::string> measured;
    for (const auto& device : MeterOf(names).Energies()) measured.push_back(device.device);
    return measured;
  }

  ensemble::HandClock clock_;
};

TEST_F(Gpus, CountsOnlyTheDevicesOfTheRun) {
  auto meter = MeterOf({"1"});
  meter.Sample();
  meter.Sample();
  const auto devices = meter.Energies();
  ASSERT_EQ(devices.size(), 1u);
  EXPECT_EQ(devices[0].device, kSecond);
  EXPECT_EQ(devices[0].kind, DeviceKind::kGpu);
  EXPECT_NEAR(devices[0].joules, 8, 1e-9);
}

TEST_F(Gpus, KnowsEveryFormOfANameThatCudaKnows) {
  EXPECT_THAT(MeasuredWith({"1", "0"}), ElementsAre(kSecond, kFirst));
  EXPECT_THAT(MeasuredWith({kFirst}), ElementsAre(kFirst));
  EXPECT_THAT(MeasuredWith({"GPU-bbbb"}), ElementsAre(kSecond));
  EXPECT_THAT(MeasuredWith({"2", "GPU-cccc", "gpu"}), IsEmpty());
  EXPECT_THAT(MeasuredWith({}), IsEmpty());
}

TEST_F(Gpus, LeavesOutWhatMayBelongToOthers) {
  EXPECT_THAT(MeasuredWith({"MIG-GPU-aaaaaaaa-0000-0000-0000-000000000000/1/0", "MIG-aaaaaaaa"}), IsEmpty());
  Be("split");
  EXPECT_THAT(MeasuredWith({"0", "1"}), ElementsAre(kSecond));
}

TEST_F(Gpus, NumbersThoseThatTheUserMayUse) {
  Be("hidden");
  EXPECT_THAT(MeasuredWith({"0"}), ElementsAre(kSecond));
}

TEST_F(Gpus, AddsUpThePowerWhereThereIsNoCounter) {
  Be("no_counter");
  auto meter = MeterOf({"0"});
  clock_.Sleep(std::chrono::seconds(3));
  meter.Sample();
  EXPECT_NEAR(meter.Energies().at(0).joules, 600, 1e-6);
}

TEST_F(Gpus, GoesOnWhenADeviceIsLost) {
  auto meter = MeterOf({"0", "1"});
  Be("lost");
  meter.Sample();
  Be("");
  meter.Sample();
  meter.Sample();
  const auto devices = meter.Energies();
  EXPECT_NEAR(devices.at(0).joules, 7.5, 1e-9);
  EXPECT_NEAR(devices.at(1).joules, 4, 1e-9) << "the time without an answer does not count";
}

TEST_F(Gpus, IsNotMeasuredWithoutDriverPermissionOrFunctions) {
  Be("driver_gone");
  EXPECT_TRUE(MeterOf({"0"}).empty());
  Be("no_counter no_power no_memory no_utilisation");
  EXPECT_TRUE(MeterOf({"0"}).empty());
  Be("");
  EXPECT_TRUE(GpuMeter({{"0"}}, "libm.so.6", clock_).empty()) << "a library without the functions";
  EXPECT_TRUE(GpuMeter({{"0"}}, "/nonexistent/libnvidia-ml.so.1", clock_).empty());
}

TEST_F(Gpus, SaysHowMuchMemoryWasUsedAtMost) {
  auto meter = MeterOf({"0", "1"});
  Be("full");
  meter.Sample();
  Be("");
  meter.Sample();
  const auto uses = meter.Uses();
  ASSERT_EQ(uses.size(), 2u);
  EXPECT_EQ(uses[0].gpu, kFirst);
  EXPECT_EQ(uses[0].name, "NVIDIA Stand-in 80GB");
  EXPECT_EQ(uses[0].memory_bytes, 80'000'000'000u);
  EXPECT_EQ(uses[0].memory_used_bytes, 10'000'000'000u);
  EXPECT_EQ(uses[0].memory_peak_bytes, 75'000'000'000u);
}

TEST_F(Gpus, WeighsEachLookWithTheTimeBeforeIt) {
  auto meter = MeterOf({"0"});
  clock_.Sleep(std::chrono::seconds(3));
  meter.Sample();
  Be("idle");
  clock_.Sleep(std::chrono::seconds(1));
  meter.Sample();
  const auto use = meter.Uses().at(0);
  EXPECT_EQ(use.utilisation, 0.0);
  EXPECT_NEAR(use.mean_utilisation.value_or(0), 0.6 * 3 / 4, 1e-9);
  EXPECT_NEAR(use.measured_s, 4, 1e-9);
}

TEST_F(Gpus, LeavesOutWhatTheDriverDoesNotKnow) {
  Be("no_utilisation");
  auto without_use = MeterOf({"0"});
  clock_.Sleep(std::chrono::seconds(1));
  without_use.Sample();
  EXPECT_FALSE(without_use.Uses().at(0).utilisation);
  EXPECT_FALSE(without_use.Uses().at(0).mean_utilisation);
  EXPECT_TRUE(without_use.Uses().at(0).memory_peak_bytes);
  Be("no_memory no_utilisation");
  const auto with_energy = MeterOf({"0"});
  EXPECT_THAT(with_energy.Uses(), IsEmpty());
  EXPECT_EQ(with_energy.Energies().size(), 1u);
  Be("no_counter no_power");
  const auto without_energy = MeterOf({"0"});
  EXPECT_THAT(without_energy.Energies(), IsEmpty());
  EXPECT_EQ(without_energy.Uses().size(), 1u);
}

TEST_F(Gpus, HaveNoEnergyWhereOnlyTheUseIsWanted) {
  const GpuMeter meter({{"0", "1", "2"}, GpuMeasures::kUse}, SLIPWAY_FAKE_NVML, clock_);
  EXPECT_THAT(meter.Energies(), IsEmpty());
  EXPECT_EQ(meter.Uses().size(), 2u) << "one that NVML does not know is left out";
}

template <class Condition>
void AwaitUntil(Condition condition) {
  const auto end = SystemClock().Steady() + std::chrono::seconds(60);
  while (!condition() && SystemClock().Steady() < end) SystemClock().Sleep(std::chrono::milliseconds(10));
}

/// While a process becomes its program, it shows no environment.
ChildProcess RankWith(const std::string& run_dir, const std::vector<std::string>& command) {
  SpawnOptions options;
  options.argv = command;
  options.environment = Environment::Inherited().Set("SLIPWAY_RUN_DIR", run_dir);
  auto process = ChildProcess::Spawn(options);
  AwaitUntil([&] { return Environment::OfProcess(process.pid()).Get("SLIPWAY_RUN_DIR") == run_dir; });
  return process;
}

TEST_F(Gpus, CountFromTheFirstUseByTheirRun) {
  const auto process = RankWith("/runs/a-1/trials/3", {"sleep", "60"});
  auto meter = MeterOfRun("a-1");
  EXPECT_FALSE(meter.empty()) << "it may use them later";
  clock_.Sleep(std::chrono::seconds(5));
  meter.Sample();
  EXPECT_THAT(meter.Uses(), IsEmpty());
  LetUse(process.pid());
  clock_.Sleep(std::chrono::seconds(4));
  meter.Look();
  EXPECT_THAT(meter.Uses(), IsEmpty()) << "its processes are looked at each five seconds";
  clock_.Sleep(std::chrono::seconds(1));
  meter.Look();
  clock_.Sleep(std::chrono::seconds(2));
  ::unsetenv("FAKE_NVML_USER");
  meter.Look();
  const auto uses = meter.Uses();
  ASSERT_EQ(uses.size(), 1u);
  EXPECT_EQ(uses[0].gpu, kFirst);
  EXPECT_NEAR(uses[0].measured_s, 2, 1e-9) << "the time before its use is not that of the run";
}

TEST_F(Gpus, OfOtherRunsDoNotCount) {
  Be("first_busy");
  const auto process = RankWith("/runs/a-1/trials/3", {"sleep", "60"});
  LetUse(process.pid());
  EXPECT_EQ(MeterOfRun("a-1").Uses().size(), 1u);
  EXPECT_EQ(MeterOfRun("a-1/trials/3").Uses().size(), 1u);
  for (const auto* other : {"a-1/trials/4", "a-11", "a", "1/trials/3"}) {
    EXPECT_THAT(MeterOfRun(other).Uses(), IsEmpty()) << other;
  }
}

TEST_F(Gpus, CountForTheRunOfAnAncestor) {
  const test::TempDirectory folder;
  const auto file = folder.path() / "pid";
  const auto script = fmt::format("env -i sh -c 'echo $$ > {0}.new; mv {0}.new {0}; exec sleep 60'; :", file.string());
  const auto process = RankWith("/runs/a-1", {"sh", "-c", script});
  AwaitUntil([&] { return ReadFileIfPresent(file).has_value(); });
  LetUse(std::stoi(ReadFileIfPresent(file).value_or("0")));
  EXPECT_EQ(MeterOfRun("a-1").Uses().size(), 1u);
}

TEST(GpuRecord, CountsAMeanByItsTime) {
  MeasuredGpu gpu;
  gpu.mean_utilisation = 1;
  gpu.measured_s = 1;
  MeasuredGpu earlier;
  earlier.memory_peak_bytes = 5;
  AddEarlier(gpu, earlier);
  EXPECT_EQ(gpu.mean_utilisation, 1) << "nothing is known of the time before";
  EXPECT_EQ(gpu.memory_peak_bytes, 5u);
  earlier.mean_utilisation = 0;
  earlier.measured_s = 3;
  AddEarlier(gpu, earlier);
  EXPECT_NEAR(gpu.mean_utilisation.value_or(0), 0.25, 1e-9);
  EXPECT_FALSE(UseOf({}).utilisation);
  EXPECT_FALSE(UseOf({}).memory_peak_bytes);
}

}  // namespace
}  // namespace slipway::launcher
