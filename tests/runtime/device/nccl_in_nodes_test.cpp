// Tensors of GPUs that NCCL adds up within nodes: the fake NCCL over the fake driver, four ranks on two pretended
// nodes.

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <utility>

#include "runtime/exchange/nccl_tensors.h"
#include "tests/runtime/collectives/groups.h"
#include "tests/runtime/device/fake_nccl/fake_nccl.h"
#include "tests/runtime/device/gpu_program.h"

namespace slipway::test {
namespace {

/// Tensors on the GPU that NCCL combines within nodes, and their values.
class NodeTensors {
 public:
  NodeTensors(std::vector<std::int64_t> sizes, slipway_dtype dtype, slipway_op op, std::int64_t bucket_bytes,
              runtime::Group& group)
      : sizes_(std::move(sizes)), dtype_(dtype), op_(op), group_(group), here_(sizes_.size()) {
    std::vector<runtime::TensorInfo> tensors;
    for (const auto size : sizes_) {
      buffers_.push_back(std::make_unique<GpuBuffer>(static_cast<std::size_t>(size) * runtime::SizeOf(dtype)));
      tensors.push_back({"t", dtype, {size}, buffers_.back()->data()});
    }
    runtime::TeamSettings settings;
    settings.op = op;
    settings.gpu_exchange = runtime::GpuExchange::kNccl;
    combined_ = runtime::NodeNcclTensors::Make(*runtime::PlaceOf(tensors[0].data), tensors, settings, group);
    const auto plans = runtime::PlanBuckets(tensors, bucket_bytes);
    buckets_ = plans.size();
    combined_->SetBuckets(plans);
  }

  int count() const { return static_cast<int>(sizes_.size()); }
  /// Queues values, and hands over the tensor.
  void Fill(int tensor, unsigned seed, void* stream) {
    const auto i = static_cast<std::size_t>(tensor);
    here_[i] = RandomBytes(dtype_, sizes_[i], seed);
    buffers_[i]->Fill(here_[i].data(), stream);
    combined_->Fetch({&tensor, 1}, stream);
  }
  void Combine() {
    while (combined_->Fetching()) combined_->TakeArrived();
    for (std::size_t bucket = 0; bucket < buckets_; ++bucket) combined_->Combine(bucket, group_);
    combined_->AwaitResult(group_.communicator().waiter());
  }
  /// The tensors that differ from what the CPU gives.
  std::string Differences(void* stream) {
    std::string different;
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
      EXPECT_EQ(slipway_allreduce(here_[i].data(), sizes_[i], dtype_, op_, SLIPWAY_ALL), SLIPWAY_OK);
      if (buffers_[i]->Read(stream) != here_[i]) different += std::to_string(i) + " ";
    }
    return different;
  }

 private:
  std::vector<std::int64_t> sizes_;
  slipway_dtype dtype_;
  slipway_op op_;
  runtime::Group& group_;
  std::vector<std::vector<char>> here_;
  std::vector<std::unique_ptr<GpuBuffer>> buffers_;
  std::unique_ptr<runtime::NodeNcclTensors> combined_;
  std::size_t buckets_ = 0;
};

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
  ASSERT_TRUE(runtime::NcclInNodes::Suits(test_.group)) << "for four ranks";
  for (const auto op : {SLIPWAY_SUM, SLIPWAY_MEAN}) {
    for (const auto order : {FAKE_GPU_LAZY, FAKE_GPU_EAGER, FAKE_GPU_RANDOM}) {
      fake_gpu_set_order(order, 7);
      NodeTensors tensors({7, 3000, 1, 0, 901}, SLIPWAY_FLOAT32, op, 4000, test_.group);
      GpuStream stream;
      const auto stops = Stops();
      for (int step = 0; step < 3; ++step) {
        for (int i = 0; i < tensors.count(); ++i) tensors.Fill(i, Seed(step, i), stream.handle());
        tensors.Combine();
        EXPECT_EQ(tensors.Differences(stream.handle()), "") << "step " << step << ", order " << order;
      }
      EXPECT_EQ(Stops(), stops) << "a step has stopped the GPU";
    }
  }
}

/// The calls of a step wait for its sums: between steps the program's thread has nothing to ask of NCCL.
TEST_F(NcclInNodes, ThereIsNothingToWaitForBetweenSteps) {
  NodeTensors tensors({3000}, SLIPWAY_FLOAT32, SLIPWAY_SUM, 4000, test_.group);
  GpuStream stream;
  std::uint64_t records[2] = {};
  for (auto& each : records) {
    tensors.Fill(0, Seed(0, 0), stream.handle());
    const auto before = fake_gpu_calls("cuEventRecord");
    tensors.Combine();
    each = fake_gpu_calls("cuEventRecord") - before;
    EXPECT_EQ(tensors.Differences(stream.handle()), "");
  }
  // One event when the share is on the CPU, and one when the sums are there.
  EXPECT_EQ(records[0], 2u);
  EXPECT_EQ(records[1], 2u);
}

/// mpi_main.cpp ends a test after a minute: here each schedule.
constexpr unsigned kSecondsOfSchedule = 60;

/// SLIPWAY_TEST_SCHEDULES: how many; the full tier takes 300.
TEST_F(NcclInNodes, RandomSchedulesGiveTheSums) {
  const char* asked = std::getenv("SLIPWAY_TEST_SCHEDULES");
  const unsigned schedules = asked != nullptr ? static_cast<unsigned>(std::atoi(asked)) : 20;
  for (unsigned number = 0; number < schedules; ++number) {
    ::alarm(kSecondsOfSchedule);
    std::mt19937 of_job(number);                                        // the same on all ranks
    std::mt19937 own(number * 64 + static_cast<unsigned>(Rank()) + 1);  // the GPU's and the program's
    fake_gpu_set_order(static_cast<fake_gpu_order>(own() % 3), own());
    std::vector<std::int64_t> sizes(1 + of_job() % 5);
    for (auto& size : sizes) size = of_job() % 3000;
    const auto dtype = of_job() % 2 == 0 ? SLIPWAY_FLOAT32 : SLIPWAY_FLOAT64;
    const auto op = of_job() % 2 == 0 ? SLIPWAY_SUM : SLIPWAY_MEAN;
    NodeTensors tensors(std::move(sizes), dtype, op, 1000 + of_job() % 11000, test_.group);
    GpuStream streams[3];
    std::vector<int> order(static_cast<std::size_t>(tensors.count()));
    std::iota(order.begin(), order.end(), 0);
    for (int step = 0; step < 3; ++step) {
      std::ranges::shuffle(order, own);
      for (const int tensor : order) {
        tensors.Fill(tensor, Seed(step, tensor), streams[own() % 3].handle());
        if (own() % 4 == 0) fake_gpu_step();
      }
      tensors.Combine();
      ASSERT_EQ(tensors.Differences(streams[own() % 3].handle()), "") << "schedule " << number << ", step " << step;
    }
    ASSERT_EQ(Gpu::Violations(), "") << "schedule " << number;
  }
}

}  // namespace
}  // namespace slipway::test
