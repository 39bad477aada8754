// Memory of GPUs that goes through the CPU in parts, on several pretended nodes: the bits of the CPU, and copies back
// before the last copy in.

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "runtime/collectives/allreduce.h"
#include "runtime/exchange/allreduce_through_cpu.h"
#include "runtime/exchange/team.h"
#include "tests/runtime/collectives/groups.h"
#include "tests/runtime/device/gpu_program.h"

namespace slipway::test {
namespace {

using namespace runtime;

constexpr fake_gpu_order kOrders[] = {FAKE_GPU_LAZY, FAKE_GPU_EAGER, FAKE_GPU_RANDOM};

/// The operations that the fake driver has run, one a line.
std::string OperationsSoFar() {
  std::string text(fake_gpu_trace(nullptr, 0) + 1, '\0');
  fake_gpu_trace(text.data(), text.size());
  text.pop_back();
  return text;
}

/// Whether a copy to the GPU has run before the last one from it.
bool HaveRunAtOnce(const std::string& operations) {
  return operations.find("cuMemcpyHtoDAsync") < operations.rfind("cuMemcpyDtoHAsync");
}

/// An algorithm, the ranks on each pretended node, and the threads of a rank that combine.
struct Nodes {
  const char* algorithm;
  int per_node;
  int threads = 1;
};

/// Threads of this process that help to combine.
int HelpersThatCombine() {
  int helpers = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(task.path() / "comm") >> std::ws, name);
    helpers += name == "slipway-sum" ? 1 : 0;
  }
  return helpers;
}

class StagedInParts : public OnDevice, public testing::WithParamInterface<Nodes> {
 protected:
  StagedInParts() : test_(GetParam().per_node), benches_(test_.memory.pool) {
    UseAlgorithm(test_.group);
    test_.memory.threads.Use(GetParam().threads);
  }
  void TearDown() override {
    OnDevice::TearDown();
    fake_gpu_set_order(FAKE_GPU_LAZY, 0);
  }

  static void UseAlgorithm(Group& group) {
    group.SetSelection({AlgorithmTable::Default(group.placement()).With(GetParam().algorithm), false});
  }
  std::unique_ptr<Group> FreshGroup() {
    auto group = std::make_unique<Group>(Communicator::OfJob(MPI_COMM_WORLD, test_.waiter()),
                                         PretendedTopology(GetParam().per_node), test_.memory);
    UseAlgorithm(*group);
    return group;
  }
  std::vector<char> OnCpu(std::vector<char> values, const Reduction& reduction) {
    const Piece piece{values.data(), static_cast<std::int64_t>(values.size() / SizeOf(reduction.dtype))};
    Allreduce({.pieces = {&piece, 1}, .reduction = reduction}, test_.group);
    return values;
  }
  /// A step of a staged team in each order of the GPU, and of one in CPU memory: the same bits. The fewest copies
  /// to the GPU in a step.
  std::uint64_t StepsOfATeam(const std::vector<std::int64_t>& sizes, TeamSettings settings) {
    settings.gpu_exchange = GpuExchange::kStaged;
    std::vector<std::unique_ptr<GpuBuffer>> there;
    std::vector<std::vector<char>> here;
    std::vector<TensorInfo> on_gpu;
    std::vector<TensorInfo> on_cpu;
    for (const auto size : sizes) {
      there.push_back(std::make_unique<GpuBuffer>(static_cast<std::size_t>(size) * sizeof(float)));
      here.emplace_back(static_cast<std::size_t>(size) * sizeof(float));
      on_gpu.push_back({"t", SLIPWAY_FLOAT32, {size}, there.back()->data()});
      on_cpu.push_back({"t", SLIPWAY_FLOAT32, {size}, here.back().data()});
    }
    Team gpu({"gpu", on_gpu, 0, settings}, FreshGroup(), Progress::kThread, test_.watch, {});
    Team cpu({"cpu", on_cpu, 0, settings}, FreshGroup(), Progress::kCaller, test_.watch, {});
    GpuStream stream;
    auto fewest = std::numeric_limits<std::uint64_t>::max();
    for (const auto order : kOrders) {
      fake_gpu_set_order(order, 9);
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        const auto values = OrderSensitiveBytes(sizes[i], Seed(order, static_cast<int>(i)));
        std::memcpy(here[i].data(), values.data(), values.size());
        there[i]->Fill(values.data(), stream.handle());
      }
      const auto copies = fake_gpu_calls("cuMemcpyHtoDAsync_v2");
      gpu.Wait(stream.handle());
      fewest = std::min(fewest, fake_gpu_calls("cuMemcpyHtoDAsync_v2") - copies);
      cpu.Wait();
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        EXPECT_TRUE(there[i]->Read(stream.handle()) == here[i]) << "tensor " << i << ", order " << order;
      }
    }
    return fewest;
  }

  TestGroup test_;
  Workbenches benches_;
};

INSTANTIATE_TEST_SUITE_P(Algorithms, StagedInParts,
                         testing::Values(Nodes{"hierarchical_ring", 2}, Nodes{"ring", 1}, Nodes{"torus", 1},
                                         Nodes{"rabenseifner", 2}, Nodes{"hierarchical_pairwise", 2},
                                         Nodes{"hierarchical_ring", 2, 3}, Nodes{"shared", 4, 3}),
                         [](const auto& each) {
                           const int threads = each.param.threads;
                           const std::string name = each.param.algorithm;
                           return threads == 1 ? name : name + "_by_" + std::to_string(threads) + "_threads";
                         });

/// More parts than there are slots, which nothing divides.
TEST_P(StagedInParts, AnAllreduceHasTheBitsOfTheCpu) {
  constexpr std::int64_t kCount = 3'300'007;
  constexpr Reduction kMean{SLIPWAY_FLOAT32, SLIPWAY_MEAN};
  GpuBuffer there(kCount * sizeof(float));
  GpuStream stream;
  for (const auto order : kOrders) {
    fake_gpu_set_order(order, 5);
    const auto values = OrderSensitiveBytes(kCount, Seed(6, order));
    there.Fill(values.data(), stream.handle());
    EXPECT_EQ(fake_gpu::cuStreamSynchronize(stream.handle()), fake_gpu::kSuccess);
    const auto before = OperationsSoFar().size();
    AllreduceThroughCpu(*PlaceOf(there.data()), there.data(), kCount, kMean, test_.group, stream.handle(), benches_);
    EXPECT_EQ(fake_gpu::cuStreamSynchronize(stream.handle()), fake_gpu::kSuccess);
    EXPECT_TRUE(HaveRunAtOnce(OperationsSoFar().substr(before))) << "order " << order;
    EXPECT_TRUE(there.Read(stream.handle()) == OnCpu(values, kMean)) << "order " << order;
  }
  EXPECT_EQ(HelpersThatCombine(), GetParam().threads - 1);
}

/// A large tensor between two small ones, which share a bucket with it on one side.
TEST_P(StagedInParts, ATeamHasTheBitsOfTheCpu) {
  const std::int64_t longer = std::max(1, GetParam().per_node / 2);  // the share of a rank is long enough for threads
  for (const bool narrow : {false, true}) {
    TeamSettings settings;
    settings.bucket_bytes = longer << 20;
    if (narrow) settings.wire = SLIPWAY_BFLOAT16;
    settings.check_finite = narrow;
    const std::vector<std::int64_t> sizes = {1001, 1'900'007 * longer, 7003};
    EXPECT_GT(StepsOfATeam(sizes, settings), sizes.size()) << "the large one in one part";
  }
  EXPECT_EQ(HelpersThatCombine() > 0, GetParam().threads > 1);
}

/// A bucket that is not dealt into parts. Each tensor is too short for a second thread.
TEST_P(StagedInParts, ATeamOfManySmallTensorsHasTheBitsOfTheCpu) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t i = 0; i < 40; ++i) sizes.push_back(25'001 + 37 * i);
  StepsOfATeam(sizes, {});
  EXPECT_EQ(HelpersThatCombine() > 0, GetParam().threads > 1);
}

/// What a team does, one step after the other: a part arrives and goes back while the rest has not come.
TEST_P(StagedInParts, APartGoesBackBeforeTheLastOneComes) {
  constexpr std::int64_t kCount = 1'900'007;
  constexpr std::int64_t kBytes = 1 << 20;
  GpuBuffer there(kCount * sizeof(float));
  GpuStream stream;
  TeamSettings settings;
  settings.op = SLIPWAY_SUM;
  const std::vector<TensorInfo> tensors = {{"t", SLIPWAY_FLOAT32, {kCount}, there.data()}};
  const auto dealt = DealBuckets(PlanBuckets(tensors, kBytes), tensors, settings, kBytes, test_.group);
  ASSERT_GT(dealt.plans.size(), 5u);
  DeviceImages images(*PlaceOf(there.data()), tensors, {.largest = 0, .together = dealt.part_bytes}, test_.memory.pool,
                      dealt.images);
  const auto values = OrderSensitiveBytes(kCount, Seed(7, 0));
  there.Fill(values.data(), stream.handle());
  EXPECT_EQ(fake_gpu::cuStreamSynchronize(stream.handle()), fake_gpu::kSuccess);
  fake_gpu_set_order(FAKE_GPU_LAZY, 0);
  const auto before = OperationsSoFar().size();
  const int tensor = 0;
  images.Fetch({&tensor, 1}, stream.handle());
  std::vector<char> is_here(images.values().size());
  std::uint32_t tag = 0;
  for (const auto& plan : dealt.plans) {
    const auto has_come = [&](int value) { return is_here[static_cast<std::size_t>(value)] != 0; };
    while (!std::ranges::all_of(plan.tensors, has_come)) {
      if (const auto value = images.TakeArrived()) is_here[static_cast<std::size_t>(*value)] = 1;
    }
    BucketExchange(plan, images.values(), settings, 0, ++tag, test_.group).Exchange(std::nullopt, test_.group);
    images.Store(plan.tensors);
    images.Release(stream.handle());
    EXPECT_EQ(fake_gpu::cuStreamSynchronize(stream.handle()), fake_gpu::kSuccess);
  }
  EXPECT_TRUE(HaveRunAtOnce(OperationsSoFar().substr(before)));
  EXPECT_TRUE(there.Read(stream.handle()) == OnCpu(values, {SLIPWAY_FLOAT32, SLIPWAY_SUM}));
}

}  // namespace
}  // namespace slipway::test
