// Who may use NCCL at the same time, and which ranks share a GPU.

#include "runtime/exchange/nccl_use.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

#include "runtime/exchange/gpu_of_rank.h"
#include "tests/runtime/collectives/groups.h"
#include "tests/runtime/device/gpu_program.h"

namespace slipway::test {
namespace {

using runtime::GpuOfRank;
using runtime::NcclUse;

TEST(NcclUses, AreOneAtATimeUnlessNcclIsNamed) {
  TestGroup test;
  auto& ranks = test.group.communicator();
  {
    const auto first = NcclUse::Alone(ranks);
    ASSERT_NE(first, nullptr);
    EXPECT_EQ(NcclUse::Alone(ranks), nullptr);
    const NcclUse named;
  }
  EXPECT_NE(NcclUse::Alone(ranks), nullptr) << "the first one has ended";
}

/// The last rank knows of no other user.
TEST(NcclUses, OfSomeRanksCountForAGroupOfAll) {
  TestGroup test;
  auto& all = test.group.communicator();
  std::vector<int> first(static_cast<std::size_t>(std::max(Ranks() - 1, 1)));
  std::iota(first.begin(), first.end(), 0);
  const auto some = all.Subgroup(first, test.waiter());
  auto use = some != nullptr ? NcclUse::Alone(*some) : nullptr;
  EXPECT_EQ(use != nullptr, some != nullptr);
  EXPECT_EQ(NcclUse::Alone(all), nullptr);
  use.reset();
  EXPECT_NE(NcclUse::Alone(all), nullptr);
}

GpuOfRank GpuAt(const std::string& machine, const std::string& host, const std::string& bus) {
  GpuOfRank gpu;
  machine.copy(gpu.machine, sizeof gpu.machine - 1);
  host.copy(gpu.host, sizeof gpu.host - 1);
  bus.copy(gpu.bus, sizeof gpu.bus - 1);
  return gpu;
}

/// Empty: each has one of its own.
std::string SharedBy(const std::vector<GpuOfRank>& gpus) {
  try {
    runtime::RequireOwnGpus(gpus, {4, 5, 6});
    return "";
  } catch (const runtime::RuntimeError& error) {
    EXPECT_EQ(error.status(), SLIPWAY_ERROR_DEVICE);
    return error.what();
  }
}

TEST(GpusOfRanks, OfMachinesWithTheSameNameAreTheirOwn) {
  EXPECT_EQ(SharedBy({GpuAt("boot-1", "localhost", "0000:65:00.0"), GpuAt("boot-2", "localhost", "0000:65:00.0"),
                      GpuAt("boot-2", "localhost", "0000:b1:00.0")}),
            "");
}

TEST(GpusOfRanks, AreSharedBetweenContainersWithOtherNames) {
  const auto said = SharedBy({GpuAt("boot-1", "pod-a", "0000:65:00.0"), GpuAt("boot-2", "pod-b", "0000:65:00.0"),
                              GpuAt("boot-1", "pod-c", "0000:65:00.0")});
  EXPECT_EQ(said.find("ranks 4 and 6 share GPU 0000:65:00.0 of pod-c, and NCCL needs one for each rank"), 0u) << said;
}

TEST_F(OnDevice, AGpuIsKnownByItsMachineAndBus) {
  const GpuBuffer there(4);
  const auto gpu = runtime::GpuOfThisRank(*runtime::PlaceOf(there.data()));
  std::string boot_id;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot_id;
  EXPECT_EQ(gpu.machine, boot_id);
  char host[64] = {};
  ASSERT_EQ(::gethostname(host, sizeof host - 1), 0);
  EXPECT_STREQ(gpu.host, host);
  EXPECT_EQ(gpu.bus, runtime::BusOf(*runtime::PlaceOf(there.data())));
}

}  // namespace
}  // namespace slipway::test
