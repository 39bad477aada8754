// Tensors of GPUs that NCCL adds up within nodes: the fake NCCL over the fake driver, four ranks on two pretended nodes.

#include <memory>

#include "runtime/exchange/nccl_tensors.h"
#include "tests/runtime/collectives/groups.h"
#include "tests/runtime/device/fake_nccl/fake_nccl.h"
#include "tests/runtime/device/gpu_program.h"

namespace slipway::test {
namespace {

/// NCCL within nodes of two ranks, the CPU between them.
class NcclInNodes : public OnDevice {
 protected:
  NcclInNodes() : test_(2) {}
  /// What stops the GPU, so far.
  static std::uint64_t Stops() {
    return fake_gpu_count(FAKE_GPU_DEVICE_SYNCHRONISATIONS) + fake_gpu_count(FAKE_GPU_SLOW_CALLS_UNDER_WORK) +
           fake_gpu_count(FAKE_GPU_PAGEABLE_COPIES);
  }

  TestGroup test_;
};

TEST_F(NcclInNodes, GivesSumsAndMeansInEveryOrder) {
  using namespace runtime;
  ASSERT_TRUE(NodeNcclTensors::Suits(test_.group)) << "for four ranks";
  const std::vector<std::int64_t> sizes{7, 3000, 1, 0, 901};
  for (const auto op : {SLIPWAY_SUM, SLIPWAY_MEAN}) {
    for (const auto order : {FAKE_GPU_LAZY, FAKE_GPU_EAGER, FAKE_GPU_RANDOM}) {
      fake_gpu_set_order(order, 7);
      std::vector<std::unique_ptr<GpuBuffer>> buffers;
      std::vector<TensorInfo> tensors;
      for (const auto size : sizes) {
        buffers.push_back(std::make_unique<GpuBuffer>(static_cast<std::size_t>(size) * sizeof(float)));
        tensors.push_back({"t", SLIPWAY_FLOAT32, {size}, buffers.back()->data()});
      }
      auto combined = NodeNcclTensors::Make(*PlaceOf(tensors[0].data), tensors, op, test_.group);
      const auto plans = PlanBuckets(tensors, 4000);
      combined->SetBuckets(plans);
      GpuStream stream;
      const auto stops = Stops();
      for (int step = 0; step < 3; ++step) {
        std::vector<std::vector<char>> here;
        for (std::size_t i = 0; i < sizes.size(); ++i) {
          here.push_back(RandomBytes(SLIPWAY_FLOAT32, sizes[i], Seed(step, static_cast<int>(i))));
          buffers[i]->Fill(here[i].data(), stream.handle());
          const int tensor = static_cast<int>(i);
          combined->Fetch({&tensor, 1}, stream.handle());
        }
        while (combined->Fetching()) combined->TakeArrived();
        for (std::size_t bucket = 0; bucket < plans.size(); ++bucket) combined->Combine(bucket, test_.group);
        for (std::size_t i = 0; i < sizes.size(); ++i) {
          ASSERT_EQ(slipway_allreduce(here[i].data(), sizes[i], SLIPWAY_FLOAT32, op, SLIPWAY_ALL), SLIPWAY_OK);
          EXPECT_EQ(buffers[i]->Read(stream.handle()), here[i]) << "tensor " << i << ", step " << step;
        }
      }
      EXPECT_EQ(Stops(), stops) << "a step has stopped the GPU";
    }
  }
}

}  // namespace
}  // namespace slipway::test
