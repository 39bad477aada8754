// Energy from the counters of the kernel. The tree is made by hand: counters that count as they are told exist nowhere.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/files.h"
#include "core/json.h"
#include "launcher/run/context/device_recorder.h"
#include "tests/support/temp_directory.h"

namespace slipway::launcher {
namespace {

namespace fs = std::filesystem;

class Energy : public testing::Test {
 protected:
  void SetUp() override {
    Zone("intel-rapl:0", "package-0", 1'000'000);
    Zone("intel-rapl:0/intel-rapl:0:0", "core", 500);
    Zone("intel-rapl:0/intel-rapl:0:1", "dram", 2'000'000);
    Zone("intel-rapl:1", "psys", 9'000'000);
    Zone("intel-rapl-mmio:0", "package-0", 9'000'000);
    ::setenv("SLIPWAY_POWERCAP", root_.path().c_str(), 1);
  }
  void TearDown() override { ::unsetenv("SLIPWAY_POWERCAP"); }

  void Zone(const std::string& path, const std::string& name, long energy_uj) {
    fs::create_directories(root_.path() / path);
    WriteFile(root_.path() / path / "name", name + "\n");
    WriteFile(root_.path() / path / "max_energy_range_uj", "10000000\n");
    Count(path, energy_uj);
  }
  void Count(const std::string& path, long energy_uj) {
    WriteFile(root_.path() / path / "energy_uj", std::to_string(energy_uj) + "\n");
  }

  test::TempDirectory root_;
  test::TempDirectory run_;
};

TEST_F(Energy, CountsPackagesAndTheirMemoryOnce) {
  EnergyMeter meter(root_.path());
  Count("intel-rapl:0", 3'500'000);
  Count("intel-rapl:0/intel-rapl:0:1", 2'250'000);
  meter.Sample();
  const auto devices = meter.Devices();
  ASSERT_EQ(devices.size(), 2u);
  EXPECT_EQ(devices[0].device, "package-0");
  EXPECT_NEAR(devices[0].joules, 2.5, 1e-9);
  EXPECT_EQ(devices[1].device, "package-0/dram");
  EXPECT_NEAR(devices[1].joules, 0.25, 1e-9);
}

TEST_F(Energy, GoesOnWhenACounterWrapsAround) {
  EnergyMeter meter(root_.path());
  Count("intel-rapl:0", 9'000'000);
  meter.Sample();
  Count("intel-rapl:0", 1'000'000);
  meter.Sample();
  EXPECT_NEAR(meter.Devices()[0].joules, 8 + 2, 1e-9);
}

TEST_F(Energy, IgnoresAValueThatCannotBeRead) {
  EnergyMeter meter(root_.path());
  WriteFile(root_.path() / "intel-rapl:0/energy_uj", "many\n");
  meter.Sample();
  Count("intel-rapl:0", 5'000'000);
  meter.Sample();
  Count("intel-rapl:0", 6'000'000);
  meter.Sample();
  EXPECT_NEAR(meter.Devices()[0].joules, 1, 1e-9);
}

TEST_F(Energy, IsRecordedOverSeveralManagers) {
  EventLoop loop;
  const auto file = run_.path() / "energy.json";
  for (const long end : {2'000'000, 4'000'000}) {
    const DeviceRecorder recorder(loop, {file, run_.path() / "gpus.json"}, {}, {});
    Count("intel-rapl:0", end);
  }
  const auto document = Json::parse(ReadFile(file));
  EXPECT_EQ(document["schema"], "slipway.energy/1");
  EXPECT_NEAR(document["joules"].get<double>(), 3, 1e-9);
  EXPECT_NEAR(document["cpu_joules"].get<double>(), 3, 1e-9);
  EXPECT_TRUE(document["gpu_joules"].is_null());
  EXPECT_EQ(document["devices"].size(), 2u);
}

TEST_F(Energy, OfAnEarlierVersionIsThatOfProcessors) {
  const auto file = run_.path() / "energy.json";
  WriteFile(file, R"({"schema": "slipway.energy/1", "joules": 7, "devices": [
                      {"host": "n1", "device": "package-0", "joules": 7}]})");
  EXPECT_EQ(SumOf(ReadEnergyRecord(file)).cpu_j, 7);
}

TEST_F(Energy, LeavesNoFileWhereNothingCanBeRead) {
  test::TempDirectory empty;
  ::setenv("SLIPWAY_POWERCAP", empty.path().c_str(), 1);
  EventLoop loop;
  { const DeviceRecorder recorder(loop, {run_.path() / "energy.json", run_.path() / "gpus.json"}, {}, {}); }
  EXPECT_TRUE(fs::is_empty(run_.path()));
}

}  // namespace
}  // namespace slipway::launcher
