#include "launcher/ranks/local/node_devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/files.h"
#include "tests/support/temp_directory.h"

namespace slipway::launcher {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

NodeDevices Named(const char* cuda, const char* rocr = nullptr) {
  Environment environment;
  environment.Set("CUDA_VISIBLE_DEVICES", cuda);
  if (rocr != nullptr) environment.Set("ROCR_VISIBLE_DEVICES", rocr);
  return DevicesNamedIn(environment);
}

TEST(NodeDevices, AreThoseThatTheVariablesName) {
  const auto devices = Named("2,GPU-8932f937,5", "7,8,9");
  EXPECT_EQ(devices.count(), 3);
  EXPECT_THAT(devices.names(), ElementsAre("2", "GPU-8932f937", "5"));
  EXPECT_EQ(Describe(devices), "3 (CUDA_VISIBLE_DEVICES=2,GPU-8932f937,5)");
}

TEST(NodeDevices, AreAsManyAsTheShortestListNames) {
  const auto devices = Named("0,1,2,3", "4,5");
  EXPECT_THAT(VariablesFor(devices),
              ElementsAre(Pair("CUDA_VISIBLE_DEVICES", "0,1"), Pair("ROCR_VISIBLE_DEVICES", "4,5")));
  EXPECT_EQ(Named("", "4,5").count(), 2) << "an empty list hides the devices of its maker only";
}

TEST(NodeDevices, EndWhereAListNamesNone) {
  for (const char* none : {"", "-1", "NoDevFiles", ",0", "a b"}) EXPECT_EQ(Named(none).count(), 0) << none;
  EXPECT_EQ(Describe(Named("-1")), "none");
  EXPECT_THAT(Named("0,1,-1,2").names(), ElementsAre("0", "1"));
  EXPECT_THAT(Named("0,1,a b,2").names(), ElementsAre("0", "1"));
}

TEST(NodeDevices, AreNamedAsCudaReadsTheList) {
  EXPECT_THAT(Named(" 0, 1 ,\t2").names(), ElementsAre("0", "1", "2"));
  EXPECT_THAT(VariablesFor(Named("3, 1")), ElementsAre(Pair("CUDA_VISIBLE_DEVICES", "3,1")));
  EXPECT_THAT(Named("MIG-6bc1, GPU-8932").names(), ElementsAre("MIG-6bc1", "GPU-8932"));
  for (const char* twice : {"0,0", "0,1, 0", "GPU-8932,GPU-8932"}) EXPECT_EQ(Named(twice).count(), 0) << twice;
  EXPECT_EQ(Named("0,-1,0").count(), 1) << "the list has ended before";
}

NodeDevices NamedOnAmd(const std::vector<std::pair<std::string, std::string>>& variables) {
  Environment environment;
  for (const auto& [name, value] : variables) environment.Set(name, value);
  return DevicesNamedIn(environment, DeviceNumbers::kInsideRocr);
}

TEST(NodeDevicesOfAmd, AreCountedFromZeroByWhatSelectsInsideOfRocr) {
  const auto devices = NamedOnAmd({{"ROCR_VISIBLE_DEVICES", "4,5,6"}, {"CUDA_VISIBLE_DEVICES", "0,1,2"}});
  EXPECT_THAT(devices.names(), ElementsAre("4", "5", "6"));
  EXPECT_THAT(VariablesFor(devices.Part(1, 2)),
              ElementsAre(Pair("ROCR_VISIBLE_DEVICES", "5,6"), Pair("CUDA_VISIBLE_DEVICES", "0,1")));
  EXPECT_THAT(VariablesFor(devices.Called({"6"})),
              ElementsAre(Pair("ROCR_VISIBLE_DEVICES", "6"), Pair("CUDA_VISIBLE_DEVICES", "0")));
  EXPECT_THAT(ShareOut(NamedOnAmd({{"ROCR_VISIBLE_DEVICES", "4,5"}}), 2)[1],
              ElementsAre(Pair("ROCR_VISIBLE_DEVICES", "5")));
}

TEST(NodeDevicesOfAmd, AreThoseThatHipSelects) {
  EXPECT_THAT(NamedOnAmd({{"ROCR_VISIBLE_DEVICES", "4,5,6"}, {"HIP_VISIBLE_DEVICES", "2,0"}}).names(),
              ElementsAre("6", "4"));
  EXPECT_THAT(NamedOnAmd({{"ROCR_VISIBLE_DEVICES", "4,5,6"},
                          {"HIP_VISIBLE_DEVICES", "1"},
                          {"CUDA_VISIBLE_DEVICES", "0,1"},
                          {"GPU_DEVICE_ORDINAL", "0"}})
                  .names(),
              ElementsAre("5"))
      << "it reads CUDA's only without its own";
  EXPECT_EQ(NamedOnAmd({{"ROCR_VISIBLE_DEVICES", "4,5"}, {"HIP_VISIBLE_DEVICES", "4"}}).count(), 0);
}

TEST(NodeDevicesOfAmd, AreRocrsWhereSlurmWroteItsListIntoAll) {
  const auto devices = NamedOnAmd({{"ROCR_VISIBLE_DEVICES", "2,3"}, {"CUDA_VISIBLE_DEVICES", "2,3"}});
  EXPECT_THAT(VariablesFor(devices.Part(1, 1)),
              ElementsAre(Pair("ROCR_VISIBLE_DEVICES", "3"), Pair("CUDA_VISIBLE_DEVICES", "0")));
}

TEST(NodeDevicesOfAmd, AreNamedByHipAloneWithoutRocr) {
  EXPECT_THAT(ShareOut(NamedOnAmd({{"HIP_VISIBLE_DEVICES", "2,5"}}), 2)[1],
              ElementsAre(Pair("HIP_VISIBLE_DEVICES", "5")));
}

TEST(NodeDevices, AreSharedOutInRunsOfTheirOrder) {
  EXPECT_THAT(ShareOut(Named("3,1,0,2"), 2), ElementsAre(ElementsAre(Pair("CUDA_VISIBLE_DEVICES", "3,1")),
                                                         ElementsAre(Pair("CUDA_VISIBLE_DEVICES", "0,2"))));
  EXPECT_THAT(ShareOut(Named("0"), 2), IsEmpty());
  EXPECT_THAT(ShareOut(NodeDevices(), 1), IsEmpty());
}

TEST(NodeDevices, AreFoundByNameInEveryList) {
  EXPECT_THAT(VariablesFor(Named("4,5,6", "0,1,2").Called({"6", "4"})),
              ElementsAre(Pair("CUDA_VISIBLE_DEVICES", "4,6"), Pair("ROCR_VISIBLE_DEVICES", "0,2")));
}

class DevicesOfSystemTest : public testing::Test {
 protected:
  void Put(const std::filesystem::path& name, const std::string& content = "") const {
    std::filesystem::create_directories((root_ / name).parent_path());
    WriteFile(root_ / name, content);
  }
  void PutRender(const std::string& name, const std::string& vendor, const std::string& kind) const {
    Put("dev/dri/" + name);
    Put("sys/class/drm/" + name + "/device/vendor", vendor + "\n");
    Put("sys/class/drm/" + name + "/device/class", kind + "\n");
  }
  NodeDevices Found() const { return DevicesOfSystem(root_.path()); }
  test::TempDirectory root_;
};

TEST_F(DevicesOfSystemTest, AreNoneWhereThereIsNone) {
  EXPECT_EQ(Found().count(), 0);
  for (const auto* name : {"nvidiactl", "nvidia-uvm", "nvidia", "nvidia-caps"}) Put(std::string("dev/") + name);
  EXPECT_EQ(Found().count(), 0) << "the driver's own files are no devices";
}

TEST_F(DevicesOfSystemTest, AreNvidiasByNumberWhateverTheirFilesAreCalled) {
  for (const auto* name : {"nvidia3", "nvidia12", "nvidiactl"}) Put(std::string("dev/") + name);
  EXPECT_THAT(VariablesFor(Found()), ElementsAre(Pair("CUDA_VISIBLE_DEVICES", "0,1")));
  EXPECT_EQ(Describe(Found()), "2 (/dev/nvidia*)");
}

TEST_F(DevicesOfSystemTest, AreAmdsWhereItsDriverForComputingIs) {
  PutRender("renderD128", "0x1002", "0x038000");
  PutRender("renderD129", "0x1002", "0x030000");
  PutRender("renderD130", "0x1a03", "0x030000");
  EXPECT_EQ(Found().count(), 0);
  Put("dev/kfd");
  EXPECT_THAT(VariablesFor(Found()), ElementsAre(Pair("ROCR_VISIBLE_DEVICES", "0,1")));
}

TEST_F(DevicesOfSystemTest, AreCountedInsideOfRocrWhereOnlyAmdsDriverIs) {
  EXPECT_EQ(DeviceNumbersOfSystem(root_.path()), DeviceNumbers::kOfNode);
  Put("dev/kfd");
  EXPECT_EQ(DeviceNumbersOfSystem(root_.path()), DeviceNumbers::kInsideRocr);
  Put("dev/nvidia0");
  EXPECT_EQ(DeviceNumbersOfSystem(root_.path()), DeviceNumbers::kOfNode);
}

TEST_F(DevicesOfSystemTest, AreIntelsWhereTheyAreNoDisplay) {
  PutRender("renderD128", "0x8086", "0x030000");
  EXPECT_EQ(Found().count(), 0);
  PutRender("renderD129", "0x8086", "0x038000");
  EXPECT_THAT(VariablesFor(Found()), ElementsAre(Pair("ZE_AFFINITY_MASK", "0")));
}

}  // namespace
}  // namespace slipway::launcher
