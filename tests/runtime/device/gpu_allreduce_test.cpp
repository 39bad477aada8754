// Who combines single messages in the memory of GPUs: what is chosen from times, and when they are measured. On one
// node, with the bits of the CPU unless any are good.

#include <atomic>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "tests/runtime/device/fake_nccl/fake_nccl.h"
#include "tests/runtime/device/gpu_allreduces.h"

namespace slipway::test {
namespace {

using namespace runtime;
using enum CombineWay;

/// The CPU is faster up to kCrossing, and `larger` above it.
std::vector<AllreduceTime> TimesWithACrossing(CombineWay larger) {
  return {{kCrossing / 4, kStaged, 1e-6},
          {kCrossing / 4, larger, 2e-6},
          {kCrossing * 4, kStaged, 2e-6},
          {kCrossing * 4, larger, 1e-6}};
}

/// Blocks of the GPU that were allocated and are not freed.
std::int64_t BlocksOfGpu() {
  return static_cast<std::int64_t>(fake_gpu_calls("cuMemAlloc_v2") - fake_gpu_calls("cuMemFree_v2"));
}

/// Allreduces of a group of all ranks on one node.
class GpuAllreduces : public AllreducesOfGroup {
 protected:
  /// A sum of float32 of so many bytes.
  bool SumIsRight(std::int64_t bytes, Group& group) {
    constexpr auto kFloat = static_cast<std::int64_t>(sizeof(float));
    return IsRight(OrderSensitiveBytes(bytes / kFloat, Seed(1, static_cast<int>(bytes % 97))),
                   {SLIPWAY_FLOAT32, SLIPWAY_SUM}, group);
  }
  bool SumIsRight(std::int64_t bytes) { return SumIsRight(bytes, test_.group); }
  /// The same; whether GPUs have added up.
  bool GoesByGpus(std::int64_t bytes) {
    const auto kernels = fake_gpu_calls("cuLaunchKernel");
    EXPECT_TRUE(SumIsRight(bytes)) << bytes;
    return fake_gpu_calls("cuLaunchKernel") > kernels;
  }
  /// A lone rank has nothing to choose.
  static int OfSeveralRanks(int measurements) { return Ranks() > 1 ? measurements : 0; }
};

TEST_F(GpuAllreduces, UseEachWayOnItsSideOfACrossing) {
  Give(TimesWithACrossing(kDirect));
  EXPECT_TRUE(SumIsRight(5000));  // chooses
  for (const std::int64_t bytes : {std::int64_t{8000}, kCrossing}) EXPECT_FALSE(GoesByGpus(bytes)) << bytes;
  for (const auto bytes : {kCrossing + 4, 64 * kCrossing}) EXPECT_EQ(GoesByGpus(bytes), Ranks() > 1) << bytes;
  EXPECT_EQ(measurements_, OfSeveralRanks(1));
  EXPECT_TRUE(all_->HaveBitsOfCpu());
  if (Ranks() > 1) {
    EXPECT_EQ(Facts().at(0)["waits"], "cpu");
  }
}

TEST_F(GpuAllreduces, AreNotChosenForWhatIsSmall) {
  Give(TimesWonBy(kDirect));
  EXPECT_FALSE(GoesByGpus(kAlwaysThroughCpu));
  EXPECT_EQ(measurements_, 0);
  EXPECT_EQ(GoesByGpus(kAlwaysThroughCpu + 4), Ranks() > 1);
  EXPECT_EQ(measurements_, OfSeveralRanks(1));
  EXPECT_FALSE(GoesByGpus(kAlwaysThroughCpu)) << "also when the ways are chosen";
}

TEST_F(GpuAllreduces, OfOtherReductionsAreLeftToTheCpu) {
  Give(TimesWonBy(kDirect));
  for (const auto& reduction : {Reduction{SLIPWAY_FLOAT32, SLIPWAY_MAX}, Reduction{SLIPWAY_INT32, SLIPWAY_SUM}}) {
    EXPECT_TRUE(IsRight(RandomBytes(reduction.dtype, 40'000, Seed(2, 0)), reduction, test_.group));
  }
  EXPECT_EQ(measurements_, 0);
}

TEST_F(GpuAllreduces, AreMeasuredOnceForEachGroup) {
  Give(TimesWonBy(kDirect));
  TestGroup other;
  Select(other.group, false);
  for (int turn = 0; turn < 2; ++turn) {
    for (auto* group : {&test_.group, &other.group}) {
      for (const std::int64_t bytes : {10'000, 200'000}) EXPECT_TRUE(SumIsRight(bytes, *group));
    }
  }
  EXPECT_EQ(measurements_, OfSeveralRanks(2));
  EXPECT_EQ(Facts().size(), static_cast<std::size_t>(OfSeveralRanks(2)));
  all_->Forget(other.group);
  EXPECT_EQ(Facts().size(), static_cast<std::size_t>(OfSeveralRanks(2))) << "the report has groups that ended";
}

TEST_F(GpuAllreduces, OfANamedWayAreNotMeasured) {
  for (const auto way : {GpuExchange::kStaged, GpuExchange::kDirect}) {
    Give(TimesWonBy(kStaged), Named(way));
    EXPECT_TRUE(SumIsRight(200'000)) << WordOf(way);  // makes it
    EXPECT_EQ(GoesByGpus(200'000), way == GpuExchange::kDirect && Ranks() > 1) << WordOf(way);
    EXPECT_FALSE(GoesByGpus(kCrossing)) << WordOf(way);
    EXPECT_EQ(Facts(), Json::array()) << WordOf(way);
    EXPECT_TRUE(all_->HaveBitsOfCpu()) << WordOf(way);
  }
  Give(TimesWonBy(kStaged), Named(GpuExchange::kNccl));
  const auto sums = fake_nccl_calls("ncclAllReduce");
  EXPECT_TRUE(IsRight(RandomBytes(SLIPWAY_FLOAT32, 50'000, Seed(5, 0)), {SLIPWAY_FLOAT32, SLIPWAY_SUM}, test_.group));
  EXPECT_EQ(fake_nccl_calls("ncclAllReduce") - sums, Ranks() > 1 ? 1u : 0u);
  EXPECT_EQ(all_->HaveBitsOfCpu(), Ranks() == 1);
  EXPECT_EQ(measurements_, 0);
}

TEST_F(GpuAllreduces, BetweenNodesAreLeftToTheCpu) {
  if (Ranks() == 1) GTEST_SKIP() << "a lone rank is one node";
  Give(TimesWonBy(kDirect));
  TestGroup nodes(1);
  Select(nodes.group, false);
  EXPECT_TRUE(SumIsRight(200'000, nodes.group));
  EXPECT_EQ(measurements_, 0);
}

/// With the times of this machine.
TEST_F(GpuAllreduces, AreChosenAlikeOnAllRanks) {
  if (Ranks() == 1) GTEST_SKIP() << "a lone rank has nothing to choose";
  const GpuBuffer there(sizeof(float));
  auto ways = AllreduceWays::Choose(*PlaceOf(there.data()), {}, MeasureAllreduces, test_.group);
  const auto facts = ways.Facts().dump();
  EXPECT_TRUE(SameOnAllRanks(facts)) << facts;
  ways.Close();
  test_.group.communicator().Barrier();
}

/// With the times of this machine.
TEST_F(GpuAllreduces, AreReportedWithTheirTimes) {
  Use(MeasureAllreduces, {});
  for (const std::int64_t bytes : {5000, 100'000, 20'000'000}) EXPECT_TRUE(SumIsRight(bytes)) << bytes;
  EXPECT_EQ(measurements_, OfSeveralRanks(1));
  if (Ranks() == 1) return;
  const auto group = Facts().at(0);
  EXPECT_EQ(group["ranks"], Ranks());
  EXPECT_EQ(group["ways"].back()["up_to_bytes"], Json()) << group.dump();
  const auto& smallest = group["measured_ms"].at(0);
  EXPECT_EQ(smallest["bytes"], kAlwaysThroughCpu);
  const auto& largest = group["measured_ms"].back();
  EXPECT_EQ(largest["bytes"], 16 << 20) << "however slow this machine is";
  for (const char* way : {"staged", "direct"}) {
    EXPECT_GT(smallest.at(way).get<double>(), 0) << group.dump();
    EXPECT_GT(largest.at(way).get<double>(), 0) << group.dump();
  }
}

TEST_F(GpuAllreduces, HaveTheSameBitsInEachWay) {
  for (const auto way : {kStaged, kDirect}) {
    Give(TimesWonBy(way));
    for (const auto op : {SLIPWAY_SUM, SLIPWAY_MEAN}) {
      for (const std::int64_t count : {2000, 70'001, 8'500'007}) {
        EXPECT_TRUE(IsRight(OrderSensitiveBytes(count, Seed(3, op)), {SLIPWAY_FLOAT32, op}, test_.group))
            << WordOf(way) << ", op " << op << " of " << count;
      }
    }
  }
}

/// The CPU adds up in other orders here.
class GpuAllreducesBesideOtherOrders : public GpuAllreduces, public testing::WithParamInterface<const char*> {
 protected:
  GpuAllreducesBesideOtherOrders() { Select(test_.group, false, GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Of, GpuAllreducesBesideOtherOrders,
                         testing::Values("ring", "recursive_doubling", "rabenseifner", "ring:200000-max"));

/// Neither times decide them nor whether a GPU has memory for direct sums.
TEST_P(GpuAllreducesBesideOtherOrders, HaveTheBitsOfTheCpu) {
  Give(TimesWonBy(kDirect));
  for (const std::int64_t bytes : {8000, 65'536, 65'540, 1'200'004}) EXPECT_FALSE(GoesByGpus(bytes)) << bytes;
  EXPECT_EQ(measurements_, 0);
  EXPECT_TRUE(all_->HaveBitsOfCpu());
  if (Ranks() == 1) return;
  const auto facts = Facts().at(0);
  EXPECT_EQ(facts["ways"], Json::parse(R"([{"up_to_bytes": null, "way": "staged"}])"));
  EXPECT_EQ(facts["without_direct"], "the CPU does not add up in rank order, by the table of algorithms");
}

TEST_P(GpuAllreducesBesideOtherOrders, GoByTimesWhereAnyBitsAreGood) {
  if (Ranks() == 1) GTEST_SKIP() << "a lone rank exchanges nothing";
  Give(TimesWonBy(kDirect), WithAnyBits());
  Combined(OrderSensitiveBytes(300'001, Seed(6, 0)), {SLIPWAY_FLOAT32, SLIPWAY_SUM}, test_.group);
  EXPECT_EQ(candidates_, (std::vector{kDirect, kNccl}));
  EXPECT_FALSE(all_->HaveBitsOfCpu());
}

TEST_P(GpuAllreducesBesideOtherOrders, GoByTimesWhereTheBitsAreCanonical) {
  Select(test_.group, true, GetParam());
  for (const auto way : {kStaged, kDirect}) {
    Give(TimesWonBy(way));
    EXPECT_TRUE(SumIsRight(200'000)) << WordOf(way);
  }
  EXPECT_EQ(measurements_, OfSeveralRanks(2));
}

/// Rank 1 closes late: a rank that does not wait for it would free what is mapped there.
TEST_F(GpuAllreduces, FreeWhatTheyWereMeasuredWith) {
  const auto before = BlocksOfGpu();
  if (Rank() == 1) fake_gpu_delay_closes(50);
  Use(
      [](const DevicePlace& place, std::span<const GpuAllreduce> ways, Group& group) {
        MeasureAllreduces(place, ways, group);
        return TimesWonBy(kStaged);
      },
      {});
  EXPECT_TRUE(SumIsRight(200'000));
  fake_gpu_delay_closes(0);
  EXPECT_EQ(BlocksOfGpu(), before);
  EXPECT_FALSE(GoesByGpus(200'000));
}

TEST_F(GpuAllreduces, DoWithoutTimesWhereAGpuHasNoMemoryForASample) {
  Use(
      [](const DevicePlace& place, std::span<const GpuAllreduce> ways, Group& group) {
        if (Rank() == 1) fake_gpu_fail_call("cuMemAlloc_v2", 1, fake_gpu::kOutOfMemory);
        return MeasureAllreduces(place, ways, group);
      },
      {});
  EXPECT_TRUE(SumIsRight(200'000));
  EXPECT_FALSE(GoesByGpus(200'000));
  EXPECT_EQ(measurements_, OfSeveralRanks(1));
  if (Ranks() == 1) return;
  const auto facts = Facts().at(0);
  EXPECT_NE(facts["not_measured"].get<std::string>().find("rank 1: cuMemAlloc failed"), std::string::npos);
  EXPECT_EQ(facts["ways"], Json::parse(R"([{"up_to_bytes": null, "way": "staged"}])"));
}

/// No memory for the block of one rank.
TEST_F(GpuAllreduces, AreNotMeasuredWhereOnlyTheCpuCan) {
  Give(TimesWonBy(kDirect));
  if (Rank() == 1) fake_gpu_fail_call("cuMemAlloc_v2", 2, fake_gpu::kOutOfMemory);  // the first is the message's
  EXPECT_TRUE(SumIsRight(200'000));
  EXPECT_FALSE(GoesByGpus(200'000));
  EXPECT_EQ(measurements_, 0);
  if (Ranks() == 1) return;
  const auto facts = Facts().at(0);
  EXPECT_NE(facts["without_direct"].get<std::string>().find("memory"), std::string::npos) << facts.dump();
  EXPECT_EQ(facts["ways"], Json::parse(R"([{"up_to_bytes": null, "way": "staged"}])"));
}

/// What waits for GPUs while another thread calls. Each message is behind a stream that the test holds.
class AwaitedGpuAllreduces : public GpuAllreduces {
 protected:
  static constexpr std::int64_t kFloats = 50'000;
  static constexpr Reduction kSum{SLIPWAY_FLOAT32, SLIPWAY_SUM};

  void SetUp() override {
    if (Ranks() == 1) GTEST_SKIP() << "a lone rank waits for nothing";
    fake_gpu_set_order(FAKE_GPU_LAZY, 0);
  }
  void UseDirect(GpuWaits waits) {
    auto settings = Named(GpuExchange::kDirect);
    settings.gpu_waits = waits;
    Give({}, settings);
  }
  /// What makes and frees things comes first: with a held stream, it would wait.
  void MakeReady(Group& group) {
    Select(group, false);
    EXPECT_TRUE(SumIsRight(kFloats * 4, group));
  }
  void Sum(GpuBuffer& there, Group& group, void* stream) {
    all_->Allreduce(*PlaceOf(there.data()), there.data(), kFloats, kSum, group, stream);
  }
  static std::uint64_t Questions() { return fake_gpu_calls("cuEventQuery"); }
  /// Returns when another thread waits for a GPU.
  static void AwaitQuestions(std::uint64_t before) {
    while (Questions() == before) std::this_thread::yield();
  }
};

TEST_F(AwaitedGpuAllreduces, HoldUpNoOtherGroup) {
  UseDirect(GpuWaits::kEvents);
  TestGroup other;
  for (auto* group : {&test_.group, &other.group}) MakeReady(*group);
  auto values = OrderSensitiveBytes(kFloats, Seed(7, 0));
  GpuBuffer awaited(values.size());
  GpuBuffer beside(values.size());
  GpuStream stream;
  for (auto* buffer : {&awaited, &beside}) buffer->Fill(values.data(), stream.handle());
  EXPECT_TRUE(beside.Read(stream.handle()) == values);
  HeldStream held;
  Sum(awaited, test_.group, held.handle());
  std::atomic<bool> found = false;
  const auto asked = Questions();
  std::thread saver([&] {
    auto waiter = test_.waiter();
    all_->AwaitSums(waiter);
    found = true;
  });
  AwaitQuestions(asked);
  Sum(beside, other.group, stream.handle());
  EXPECT_FALSE(found);
  held.LetGo();
  saver.join();
  EXPECT_TRUE(found);
  const Piece piece{values.data(), kFloats};
  Allreduce({.pieces = {&piece, 1}, .reduction = kSum}, test_.group);
  EXPECT_TRUE(awaited.Read(held.handle()) == values);
  EXPECT_TRUE(beside.Read(stream.handle()) == values);
  all_->Forget(other.group);
}

/// The thread may need what the one that waits does later.
TEST_F(AwaitedGpuAllreduces, AreLeftOutWhileAnotherThreadIsInTheNextOne) {
  UseDirect(GpuWaits::kCpu);
  MakeReady(test_.group);
  GpuBuffer there(kFloats * sizeof(float));
  HeldStream held;
  const auto asked = Questions();
  std::thread caller([&] { Sum(there, test_.group, held.handle()); });
  AwaitQuestions(asked);
  auto waiter = test_.waiter();
  all_->AwaitSums(waiter);
  held.LetGo();
  caller.join();
}

/// Also where the CPUs wait for the sums: a copy back is still on its way.
TEST_F(AwaitedGpuAllreduces, AreThereWithTheirCopiesBack) {
  UseDirect(GpuWaits::kCpu);
  MakeReady(test_.group);
  GpuBuffer there(kFloats * sizeof(float));
  GpuStream stream;
  Sum(there, test_.group, stream.handle());
  const auto copied = fake_gpu_count(FAKE_GPU_BYTES_ON_DEVICE);
  auto waiter = test_.waiter();
  all_->AwaitSums(waiter);
  EXPECT_GT(fake_gpu_count(FAKE_GPU_BYTES_ON_DEVICE), copied);
}

/// 16-bit floats would be rounded after each addition.
TEST_F(GpuAllreduces, GoByNcclWhereAnyBitsAreGood) {
  if (Ranks() == 1) GTEST_SKIP() << "a lone rank exchanges nothing";
  Give(TimesWonBy(kNccl), WithAnyBits());
  for (const auto dtype : {SLIPWAY_FLOAT32, SLIPWAY_FLOAT64, SLIPWAY_BFLOAT16}) {
    const auto sums = fake_nccl_calls("ncclAllReduce");
    EXPECT_TRUE(IsRight(RandomBytes(dtype, 100'000, Seed(4, 0)), {dtype, SLIPWAY_SUM}, test_.group)) << NameOf(dtype);
    EXPECT_EQ(fake_nccl_calls("ncclAllReduce") - sums, dtype == SLIPWAY_BFLOAT16 ? 0u : 1u) << NameOf(dtype);
  }
  EXPECT_EQ(candidates_, (std::vector{kDirect, kNccl}));
  EXPECT_FALSE(all_->HaveBitsOfCpu());
  const auto facts = Facts().at(0);
  EXPECT_EQ(facts["ways"].back()["way"], "nccl") << facts.dump();
  EXPECT_EQ(facts["without_mpi"], "no job with gpu_exchange mpi has ended here yet") << facts.dump();
  EXPECT_EQ(facts["ways_of_16_bits"].back()["way"], "staged") << facts.dump();
}

TEST_F(GpuAllreduces, KeepTheirBitsUnlessOthersAreGood) {
  if (Ranks() == 1) GTEST_SKIP() << "a lone rank exchanges nothing";
  for (const bool canonical : {false, true}) {
    Select(test_.group, canonical);
    Give(TimesWonBy(kDirect), canonical ? WithAnyBits() : TeamSettings());
    EXPECT_TRUE(SumIsRight(200'000));
    EXPECT_EQ(candidates_, std::vector{kDirect}) << canonical;
    EXPECT_FALSE(Facts().at(0).contains("ways_of_16_bits"));
  }
  EXPECT_EQ(measurements_, 2);
}

TEST_F(GpuAllreduces, OfNamedNcclGoByTheGpusOfTheNodeWhereBitsAreCanonical) {
  if (Ranks() == 1) GTEST_SKIP() << "a lone rank exchanges nothing";
  Select(test_.group, true);
  Give(TimesWonBy(kNccl), Named(GpuExchange::kNccl));
  EXPECT_TRUE(SumIsRight(200'000));
  EXPECT_TRUE(GoesByGpus(200'000));
  EXPECT_EQ(fake_nccl_communicators(), 0u);
  EXPECT_TRUE(all_->HaveBitsOfCpu());
}

TEST_F(GpuAllreduces, DoWithoutNcclBesideAnotherUser) {
  if (Ranks() == 1) GTEST_SKIP() << "a lone rank exchanges nothing";
  Give(TimesWonBy(kNccl), WithAnyBits());
  TestGroup other;
  Select(other.group, false);
  const auto add_up = [&](Group& group) {
    candidates_.clear();
    EXPECT_TRUE(IsRight(RandomBytes(SLIPWAY_FLOAT32, 100'000, Seed(4, 0)), {SLIPWAY_FLOAT32, SLIPWAY_SUM}, group));
  };
  add_up(test_.group);
  EXPECT_EQ(candidates_, (std::vector{kDirect, kNccl}));
  add_up(other.group);
  EXPECT_EQ(candidates_, std::vector{kDirect});
  const auto facts = Facts().at(1);
  EXPECT_NE(facts["without_nccl"].get<std::string>().find("another team or group"), std::string::npos) << facts.dump();
  for (auto* group : {&test_.group, &other.group}) all_->Forget(*group);
  add_up(other.group);
  EXPECT_EQ(candidates_, (std::vector{kDirect, kNccl}));
  all_->Forget(other.group);
}

TEST_F(GpuAllreduces, DoWithoutNcclWhereItFails) {
  if (Ranks() == 1) GTEST_SKIP() << "a lone rank exchanges nothing";
  Give(TimesWonBy(kDirect), WithAnyBits());
  if (Rank() == 1) fake_nccl_fail_call("ncclCommInitRankConfig", 1, kUnhandledCudaError);
  EXPECT_TRUE(SumIsRight(200'000));
  EXPECT_EQ(candidates_, std::vector{kDirect});
  const auto facts = Facts().at(0);
  EXPECT_NE(facts["without_nccl"].get<std::string>().find("ncclCommInitRankConfig"), std::string::npos) << facts.dump();
  EXPECT_TRUE(GoesByGpus(200'000));
}

}  // namespace
}  // namespace slipway::test
