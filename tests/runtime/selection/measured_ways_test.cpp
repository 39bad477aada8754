#include "runtime/selection/measured_ways.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "core/json.h"

namespace slipway::runtime {
namespace {

using enum SharedWay;

const NodeKind kKind{"A processor", 2, 4, true, "0.1.0"};

TEST(FastestWays, OfNothingMeasuredAreThoseOfTheRule) { EXPECT_EQ(FastestWays({}), "shared"); }

TEST(FastestWays, OfOneSizeHoldForAll) {
  const std::vector<WayTime> times{{1024, kTogether, 2e-6}, {1024, kCopies32K, 1e-6}};
  EXPECT_EQ(FastestWays(times), "shared_copies_32k:0-max");
}

TEST(FastestWays, ChangeAtTheGeometricMeanOfTwoSizes) {
  const std::vector<WayTime> times{{1024, kTogether, 1e-6},   {1024, kCopies32K, 2e-6},     {4096, kTogether, 4e-6},
                                   {4096, kCopies32K, 2e-6},  {65536, kDirect, 9e-6},       {65536, kCopies32K, 5e-6},
                                   {1 << 20, kDirect, 90e-6}, {1 << 20, kCopies32K, 100e-6}};
  EXPECT_EQ(FastestWays(times), "shared_together:0-2048;shared_copies_32k:2049-262144;shared_direct:262145-max");
}

TEST(FastestWays, OfTheLargestSizeIsThatOfTheLastRange) {
  EXPECT_EQ(FastestOfLargest({}), kByRule);
  const std::vector<WayTime> times{{65536, kCopies32K, 1e-6}, {1 << 20, kCopies128K, 9e-6}, {1 << 20, kDirect, 8e-6}};
  EXPECT_EQ(FastestOfLargest(times), kDirect);
}

TEST(FastestWays, CombineTogetherOnlyWhatIsShort) {
  const std::vector<WayTime> times{{4096, kTogether, 1e-6}, {65536, kCopies32K, 9e-6}};
  EXPECT_EQ(FastestWays(times), "shared_together:0-4096;shared_copies_32k:4097-max");
}

TEST(FastestWays, KeepThePreferredOneUnlessAnotherIsClearlyFaster) {
  const std::vector<WayTime> alike{{65536, kDirect, 10e-6}, {65536, kCopies128K, 9.5e-6}, {65536, kCopies32K, 9.1e-6}};
  EXPECT_EQ(FastestWays(alike), "shared_direct:0-max");
  const std::vector<WayTime> slower{{65536, kDirect, 10e-6}, {65536, kCopies128K, 8e-6}, {65536, kCopies32K, 7.5e-6}};
  EXPECT_EQ(FastestWays(slower), "shared_copies_128k:0-max");
}

TEST(FastestWays, AreATableThatCoversAllSizes) {
  std::vector<WayTime> times;
  for (std::int64_t bytes = 1024; bytes <= 4 << 20; bytes *= 4) {
    times.push_back({bytes, bytes % 3 == 1 ? kDirect : kCopies32K, 1e-6});
  }
  const auto table = AlgorithmTable::Default({2, 1, true}).With(FastestWays(times));
  EXPECT_EQ(table.ToText(), FastestWays(times));
}

TEST(RememberedWays, AreThoseOfTheirKindOfNode) {
  auto other = kKind;
  other.ranks = 2;
  auto forbidden = kKind;
  forbidden.direct_copies = false;
  const auto text = RememberWays(RememberWays("", kKind, "shared_direct:0-max"), other, "shared:0-max");
  EXPECT_EQ(RecallWays(text, kKind), "shared_direct:0-max");
  EXPECT_EQ(RecallWays(text, other), "shared:0-max");
  EXPECT_FALSE(RecallWays(text, forbidden));
}

TEST(RememberedWays, OfAKindAreReplaced) {
  const auto text = RememberWays(RememberWays("", kKind, "shared:0-max"), kKind, "shared_direct:0-max");
  EXPECT_EQ(RecallWays(text, kKind), "shared_direct:0-max");
  EXPECT_EQ(Json::parse(text)["nodes"].size(), 1u);
  EXPECT_EQ(Json::parse(text)["schema"], "slipway.ways/1");
}

TEST(RememberedWays, OfABrokenDocumentAreNone) {
  const auto good = RememberWays("", kKind, "shared:0-max");
  auto wrong_table = Json::parse(good);
  wrong_table["nodes"][0]["table"] = "sharde:0-max";
  auto no_text = Json::parse(good);
  no_text["nodes"][0]["table"] = 3;
  for (const auto& text :
       {std::string(), std::string("{"), std::string("[]"), std::string(R"({"schema": "other"})"),
        std::string(R"({"schema": "slipway.ways/1", "nodes": 5})"),
        std::string(R"({"schema": "slipway.ways/1", "nodes": [7]})"), wrong_table.dump(), no_text.dump()}) {
    EXPECT_FALSE(RecallWays(text, kKind)) << text;
    EXPECT_EQ(RecallWays(RememberWays(text, kKind, "shared:0-max"), kKind), "shared:0-max") << text;
  }
}

TEST(RememberedWays, AreToldFromOtherDocuments) {
  EXPECT_TRUE(HoldsWays(RememberWays("", kKind, "shared:0-max")));
  for (const char* text : {"", "precious\n", "[]", "{}", R"({"schema": 1})", R"({"schema": "slipway.ways/2"})"}) {
    EXPECT_FALSE(HoldsWays(text)) << text;
  }
}

TEST(KindOfThisNode, NamesTheMachine) {
  const auto kind = KindOfThisNode(3, false, "1.2.3");
  EXPECT_FALSE(kind.processor.empty());
  EXPECT_GE(kind.cores, 1);
  EXPECT_EQ(kind.ranks, 3);
  EXPECT_EQ(kind, KindOfThisNode(3, false, "1.2.3"));
}

TEST(RememberedGpuMpi, IsFoundByItsNameBesideTheWays) {
  const auto ways = RememberWays("", kKind, "shared:0-max");
  EXPECT_FALSE(RecallGpuMpi(ways, "MPI 1, one node"));
  const auto text = RememberGpuMpi(RememberGpuMpi(ways, "MPI 1, one node"), "MPI 1, one node");
  EXPECT_TRUE(RecallGpuMpi(text, "MPI 1, one node"));
  EXPECT_FALSE(RecallGpuMpi(text, "MPI 1, several nodes"));
  EXPECT_EQ(RecallWays(text, kKind), "shared:0-max");
  EXPECT_TRUE(RecallGpuMpi(RememberWays(text, kKind, "shared_direct:0-max"), "MPI 1, one node"));
}

TEST(RememberedGpuMpi, IsNotReadFromAnythingElse) {
  for (const char* text : {"", "{", "[]", R"({"schema": "slipway.ways/1"})",
                           R"({"schema": "slipway.ways/1", "gpu_mpi": "a"})",
                           R"({"schema": "slipway.ways/2", "gpu_mpi": ["a"]})"}) {
    EXPECT_FALSE(RecallGpuMpi(text, "a")) << text;
    EXPECT_TRUE(RecallGpuMpi(RememberGpuMpi(text, "a"), "a")) << text;
  }
}

}  // namespace
}  // namespace slipway::runtime
