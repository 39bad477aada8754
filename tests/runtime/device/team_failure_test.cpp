// A GPU that fails while the team's own thread exchanges.

#include <chrono>
#include <memory>
#include <thread>

#include "runtime/exchange/team.h"
#include "tests/runtime/collectives/groups.h"
#include "tests/runtime/device/gpu_program.h"

namespace slipway::test {
namespace {

using namespace fake_gpu;  // the entries that the program calls

/// Rank 0's GPU fails in a call for the second tensor; the first one is in the exchange, and ends well after that.
TEST(TeamOnDevice, KeepsAFailureThatComesDuringAnExchange) {
  const Gpu gpu;
  constexpr std::int64_t kCount = 1000;
  constexpr auto kUntilItExchanges = std::chrono::milliseconds(200);
  GpuBuffer first(kCount * sizeof(float));
  GpuBuffer second(kCount * sizeof(float));
  TestGroup test;
  runtime::TeamSettings settings;
  settings.bucket_bytes = kCount * static_cast<std::int64_t>(sizeof(float));
  settings.gpu_exchange = runtime::GpuExchange::kStaged;
  auto group = std::make_unique<runtime::Group>(runtime::Communicator::OfJob(MPI_COMM_WORLD, test.waiter()),
                                                PretendedTopology(0), test.memory);
  runtime::Team team(
      {"net",
       {{"second", SLIPWAY_FLOAT32, {kCount}, second.data()}, {"first", SLIPWAY_FLOAT32, {kCount}, first.data()}},
       0,
       settings},
      std::move(group), runtime::Progress::kThread, test.watch, {});
  const int indices[] = {1, 0};  // the last tensor is exchanged first
  if (Rank() == 0) {
    team.Submit({&indices[0], 1});
    std::this_thread::sleep_for(kUntilItExchanges);
    fake_gpu_fail_call("cuEventRecord", 1, kInvalidValue);
    EXPECT_THROW(team.Submit({&indices[1], 1}), runtime::PartedError);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (Rank() != 0) team.Submit({&indices[0], 1});
  std::this_thread::sleep_for(kUntilItExchanges);
  if (Rank() == 0) {
    EXPECT_THROW(team.Wait(), runtime::PartedError);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace
}  // namespace slipway::test
