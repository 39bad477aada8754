// The kernel of the exchange, without an exchange.

#include "runtime/device/sum_kernel.h"

#include <utility>
#include <vector>

#include "tests/runtime/device/gpu_program.h"

namespace slipway::test {
namespace {

using namespace fake_gpu;  // the entries that the program calls

/// The table and the rows of each launch.
std::vector<std::pair<DevicePointer, unsigned>> launches;

void NoteLaunch(const fake_gpu_launch* launch, void** parameters) {
  launches.emplace_back(*static_cast<const DevicePointer*>(parameters[0]), launch->grid[1]);
}

/// A grid has 65535 rows at most. On a GPU that nothing else uses, so that its functions are those of this test.
TEST(SumKernelOnDevice, TakesMoreRowsThanAGridInSeveralLaunches) {
  constexpr std::size_t kRows = 70'000;
  constexpr std::size_t kMostRows = 65'535;
  constexpr std::size_t kBytesOfRow = 2 * sizeof(DevicePointer);  // of one rank
  const Gpu gpu;
  constexpr std::size_t kParameters[] = {sizeof(DevicePointer), sizeof(int), sizeof(float), sizeof(double)};
  for (const char* name :
       {"slipway_sum_float32", "slipway_sum_float64", "slipway_sum_float16", "slipway_sum_bfloat16"}) {
    fake_gpu_register_kernel(name, NoteLaunch, kParameters, 4);
  }
  const UsingGpu second(1);
  const auto place = runtime::PlaceOn(*runtime::Driver::Loaded(), 1);
  const auto* kernel = runtime::SumKernel::Of(place);
  ASSERT_NE(kernel, nullptr);
  GpuBuffer buffer(kRows * sizeof(float));
  std::vector<runtime::SumPart> parts;
  for (std::size_t i = 0; i < kRows; ++i) parts.push_back({1, {static_cast<char*>(buffer.data()) + i * sizeof(float)}});
  runtime::DeviceStream stream(place);
  const runtime::SumTable table(place, parts, stream);
  kernel->Launch(table, SLIPWAY_FLOAT32, 1, stream);
  const runtime::InContext here(place);
  stream.Synchronize();
  ASSERT_EQ(launches.size(), 2u);
  EXPECT_EQ(launches[0].second, kMostRows);
  EXPECT_EQ(launches[1].second, kRows - kMostRows);
  EXPECT_EQ(launches[1].first - launches[0].first, kMostRows * kBytesOfRow);
  EXPECT_EQ(Gpu::Violations(), "");
}

}  // namespace
}  // namespace slipway::test
