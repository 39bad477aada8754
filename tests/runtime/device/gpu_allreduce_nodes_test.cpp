// Who combines single messages in the memory of GPUs on several nodes: four ranks on two pretended nodes, with times
// that a test gives.

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "runtime/exchange/library_allreduce.h"
#include "tests/runtime/device/fake_nccl/fake_nccl.h"
#include "tests/runtime/device/gpu_allreduces.h"

namespace slipway::test {
namespace {

using namespace runtime;
using enum CombineWay;

constexpr Reduction kSum{SLIPWAY_FLOAT32, SLIPWAY_SUM};
constexpr std::int64_t kLarge = 100'000;  ///< float32

class GpuAllreducesBetweenNodes : public AllreducesOfGroup {
 protected:
  GpuAllreducesBetweenNodes() : AllreducesOfGroup(2) {}
  void TearDown() override {
    AllreducesOfGroup::TearDown();
    EXPECT_EQ(fake_nccl_communicators(), 0u);
  }

  /// Sums that are exact in every order.
  bool IsRight(std::int64_t count, const Reduction& reduction = kSum) {
    return AllreducesOfGroup::IsRight(RandomBytes(reduction.dtype, count, Seed(1, static_cast<int>(count % 97))),
                                      reduction, test_.group);
  }
  /// The calls of NCCL that a sum makes.
  std::uint64_t CallsOf(const char* nccl, std::int64_t count, const Reduction& reduction = kSum) {
    const auto before = fake_nccl_calls(nccl);
    EXPECT_TRUE(IsRight(count, reduction)) << count << " of " << NameOf(reduction.dtype);
    return fake_nccl_calls(nccl) - before;
  }
  static std::string WayOfLarge(const Json& facts) { return facts["ways"].back()["way"]; }
};

TEST_F(GpuAllreducesBetweenNodes, GoByNcclInNodesWhereThatIsFastest) {
  Give(TimesWonBy(kNcclInNodes), WithAnyBits());
  for (const auto order : {FAKE_GPU_LAZY, FAKE_GPU_EAGER, FAKE_GPU_RANDOM}) {
    fake_gpu_set_order(order, 11);
    for (const auto dtype : {SLIPWAY_FLOAT32, SLIPWAY_FLOAT64}) {
      for (const auto op : {SLIPWAY_SUM, SLIPWAY_MEAN}) {
        for (const std::int64_t count : {1025, 40'001}) {
          EXPECT_EQ(CallsOf("ncclReduceScatter", count, {dtype, op}), 1u) << "order " << order;
        }
      }
    }
  }
  EXPECT_EQ(candidates_, (std::vector{kNcclInNodes, kNccl}));
  EXPECT_EQ(measurements_, 1);
  EXPECT_FALSE(all_->HaveBitsOfCpu());
  const auto facts = Facts().at(0);
  EXPECT_EQ(WayOfLarge(facts), "nccl_in_nodes") << facts.dump();
  EXPECT_EQ(facts["without_direct"], "the ranks are on several nodes") << facts.dump();
}

TEST_F(GpuAllreducesBetweenNodes, GoPartByPart) {
  Give(TimesWonBy(kNcclInNodes), WithAnyBits());
  EXPECT_TRUE(IsRight(2000));  // chooses
  constexpr std::int64_t kPart = NodeNcclAllreduce::kPartBytes / sizeof(float);
  EXPECT_EQ(CallsOf("ncclAllGather", kPart + 5), 2u);
}

TEST_F(GpuAllreducesBetweenNodes, GoByNcclWhereThatIsFastest) {
  Give(TimesWonBy(kNccl), WithAnyBits());
  EXPECT_EQ(CallsOf("ncclAllReduce", kLarge), 1u);
  EXPECT_EQ(CallsOf("ncclAllReduce", kLarge, {SLIPWAY_BFLOAT16, SLIPWAY_SUM}), 0u) << "it rounds after each addition";
  EXPECT_EQ(WayOfLarge(Facts().at(0)), "nccl");
}

TEST_F(GpuAllreducesBetweenNodes, AreLeftToTheCpuWhereItIsFastest) {
  Give({{kCrossing, kStaged, 1e-6}, {kCrossing, kNcclInNodes, 2e-6}, {kCrossing, kNccl, 3e-6}}, WithAnyBits());
  EXPECT_TRUE(IsRight(kLarge));
  EXPECT_EQ(fake_nccl_communicators(), 0u) << "what is fastest for no size is ended";
  EXPECT_TRUE(all_->HaveBitsOfCpu());
}

TEST_F(GpuAllreducesBetweenNodes, KeepTheirBitsUnlessOthersAreGood) {
  for (const bool canonical : {false, true}) {
    Select(test_.group, canonical);
    Give(TimesWonBy(kNcclInNodes), canonical ? WithAnyBits() : TeamSettings());
    EXPECT_TRUE(IsRight(kLarge));
    EXPECT_EQ(measurements_, 0);
    EXPECT_TRUE(all_->HaveBitsOfCpu());
  }
}

/// Between its two ways: the CPU is no candidate.
TEST_F(GpuAllreducesBetweenNodes, OfNamedNcclGoByItsFastestWay) {
  for (const auto way : {kNcclInNodes, kNccl}) {
    const double in_nodes = way == kNcclInNodes ? 2e-6 : 4e-6;
    Give({{kCrossing, kStaged, 1e-6}, {kCrossing, kNcclInNodes, in_nodes}, {kCrossing, kNccl, 3e-6}},
         Named(GpuExchange::kNccl));
    const char* call = way == kNcclInNodes ? "ncclReduceScatter" : "ncclAllReduce";
    EXPECT_EQ(CallsOf(call, kLarge), 1u) << WordOf(way);
    const auto before = fake_nccl_calls(call);
    Combined(RandomBytes(SLIPWAY_BFLOAT16, kLarge, 1), {SLIPWAY_BFLOAT16, SLIPWAY_SUM}, test_.group);
    EXPECT_EQ(fake_nccl_calls(call) - before, 1u) << WordOf(way);
    EXPECT_EQ(WayOfLarge(Facts().back()), WordOf(way));
    EXPECT_EQ(candidates_, (std::vector{kNcclInNodes, kNccl}));
  }
}

/// Such messages go through the CPU.
TEST_F(GpuAllreducesBetweenNodes, OfNamedNcclKeepNoWayForSmallMessagesAlone) {
  constexpr std::int64_t kLittle = 4 << 10;
  constexpr std::int64_t kMuch = 1 << 20;  // the ways cross at 64 KiB
  Give({{kLittle, kNcclInNodes, 2e-6}, {kLittle, kNccl, 1e-6}, {kMuch, kNcclInNodes, 1e-6}, {kMuch, kNccl, 2e-6}},
       Named(GpuExchange::kNccl));
  EXPECT_EQ(CallsOf("ncclReduceScatter", kLarge), 1u);
  EXPECT_EQ(fake_nccl_communicators(), 1u) << "that of all ranks is ended";
  EXPECT_EQ(Facts().at(0)["ways"], Json::parse(R"([{"up_to_bytes": 65536, "way": "staged"},
                                                   {"up_to_bytes": null, "way": "nccl_in_nodes"}])"));
}

TEST_F(GpuAllreducesBetweenNodes, OfNamedNcclGoByItAlsoWithoutTimes) {
  Use([](const auto&...) -> std::vector<AllreduceTime> { throw RuntimeError(SLIPWAY_ERROR_DEVICE, "no sample"); },
      Named(GpuExchange::kNccl));
  EXPECT_EQ(CallsOf("ncclReduceScatter", kLarge), 1u);
  EXPECT_EQ(Facts().at(0)["not_measured"], "no sample");
}

/// Their orders of sums are others.
TEST_F(GpuAllreducesBetweenNodes, OfNamedNcclOrMpiKeepCanonicalBits) {
  Select(test_.group, true);
  for (const auto& [way, name] : {std::pair{GpuExchange::kNccl, "NCCL"}, std::pair{GpuExchange::kMpi, "MPI"}}) {
    Give(TimesWonBy(kNccl), Named(way));
    testing::internal::CaptureStderr();
    EXPECT_TRUE(IsRight(kLarge)) << name;
    const auto said = testing::internal::GetCapturedStderr();
    const auto warning = name + std::string(" does not combine memory of GPUs here: deterministic: canonical");
    EXPECT_EQ(said.find(warning) != std::string::npos, Rank() == 0) << said;
    EXPECT_EQ(fake_nccl_communicators(), 0u);
    EXPECT_TRUE(all_->HaveBitsOfCpu()) << name;
  }
  EXPECT_EQ(measurements_, 0);
}

/// With the times of this machine.
TEST_F(GpuAllreducesBetweenNodes, AreReportedWithTheirTimes) {
  Use(MeasureAllreduces, WithAnyBits());
  EXPECT_TRUE(IsRight(kLarge));
  const auto facts = Facts().at(0);
  EXPECT_TRUE(SameOnAllRanks(facts.dump())) << facts.dump();
  for (const char* way : {"staged", "nccl_in_nodes", "nccl"}) {
    EXPECT_GT(facts["measured_ms"].back().at(way).get<double>(), 0) << facts.dump();
  }
}

TEST_F(GpuAllreducesBetweenNodes, DoWithoutAWayOfNcclThatFails) {
  Give(TimesWonBy(kNccl), WithAnyBits());
  if (Rank() == 3) fake_nccl_fail_call("ncclCommInitRankConfig", 1, kUnhandledCudaError);
  EXPECT_EQ(CallsOf("ncclAllReduce", kLarge), 1u);
  EXPECT_EQ(candidates_, std::vector{kNccl});
  const auto facts = Facts().at(0);
  EXPECT_NE(facts["without_nccl_in_nodes"].get<std::string>().find("ncclCommInitRankConfig"), std::string::npos)
      << facts.dump();
}

TEST_F(GpuAllreducesBetweenNodes, RefuseMemoryOfTheCpuOnOneRank) {
  Give(TimesWonBy(kNcclInNodes), WithAnyBits());
  EXPECT_TRUE(IsRight(kLarge));
  const auto mixed = [&] {
    if (Rank() == 2) return all_->RequireCpuMemoryOnAll(kLarge, kSum, test_.group);
    Combined(RandomBytes(SLIPWAY_FLOAT32, kLarge, 1), kSum, test_.group);
  };
  try {
    mixed();
    ADD_FAILURE() << "taken on rank " << Rank();
  } catch (const RuntimeError& error) {
    EXPECT_EQ(error.status(), SLIPWAY_ERROR_MISMATCH) << error.what();
  }
}

/// Where no message has been combined by GPUs, memory of the CPU costs no meeting. Else this would wait for ever.
TEST_F(GpuAllreducesBetweenNodes, AskNothingOfMemoryOfTheCpuBefore) {
  Give(TimesWonBy(kNcclInNodes), WithAnyBits());
  if (Rank() == 0) all_->RequireCpuMemoryOnAll(kLarge, kSum, test_.group);
  EXPECT_EQ(measurements_, 0);
}

}  // namespace
}  // namespace slipway::test
