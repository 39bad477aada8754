#include "runtime/selection/bits.h"

#include <gtest/gtest.h>

namespace slipway::runtime {
namespace {

constexpr Placement kTwoNodes{8, 2, true};
constexpr std::int64_t kBucket = 4 << 20;

std::string HashWith(const std::string& algorithms, int ranks = 8, int per_node = 4, bool canonical = false,
                     std::int64_t bucket = kBucket, std::string_view version = "0.1.0") {
  const auto table = AlgorithmTable::Default(kTwoNodes).With(algorithms);
  return HashOf(BasisOfBits(table, ranks, per_node, canonical, bucket, version));
}

/// Stored in plan.json and comm.json of runs that may be resumed by a later version.
TEST(HashOfBits, StaysAsItIs) { EXPECT_EQ(HashWith("ring"), "77cb5f7cc667ba92"); }

TEST(HashOfBits, ChangesWithEachThingThatFixesTheBits) {
  const auto hash = HashWith("ring");
  EXPECT_NE(hash, HashWith("torus"));
  EXPECT_NE(hash, HashWith("ring", 9));
  EXPECT_NE(hash, HashWith("ring", 8, 2));
  EXPECT_NE(hash, HashWith("ring", 8, 4, false, kBucket + 1));
  EXPECT_NE(hash, HashWith("ring", 8, 4, false, kBucket, "0.1.1"));
}

TEST(HashOfBits, IsThatOfWhatIsUsedNotOfWhatWasAskedFor) {
  EXPECT_EQ(HashWith("shared"), HashWith("hierarchical_rabenseifner"));
}

TEST(HashOfBits, DoesNotKnowTheWaysOfSharedMemory) {
  const auto hash = [](const char* algorithms) {
    const auto table = AlgorithmTable::Default({4, 1, true}).With(algorithms);
    return HashOf(BasisOfBits(table, 4, 4, false, kBucket, "0.1.0"));
  };
  EXPECT_EQ(hash("shared"), hash("shared_together:0-2048;shared_copies_32k:2049-65536;shared_direct:65537-max"));
}

TEST(OrderOfRanks, IsThatOfSharedMemoryAlone) {
  const auto on_one_node = [](const char* algorithms, bool canonical = false) {
    return AddsInOrderOfRanks(AlgorithmTable::Default({4, 1, true}).With(algorithms), canonical);
  };
  EXPECT_TRUE(on_one_node(""));
  EXPECT_TRUE(on_one_node("shared_together:0-2048;shared_direct:2049-max"));
  EXPECT_FALSE(on_one_node("ring"));
  EXPECT_FALSE(on_one_node("ring:200000-max"));
  EXPECT_TRUE(on_one_node("ring", true)) << "canonical does without the table";
  EXPECT_FALSE(AddsInOrderOfRanks(AlgorithmTable::Default(kTwoNodes), false));
}

TEST(HashOfBits, OfCanonicalOrderKnowsNoPlacement) {
  EXPECT_EQ(HashWith("ring", 8, 4, true), HashWith("torus", 8, 2, true));
  EXPECT_NE(HashWith("ring", 8, 4, true), HashWith("ring", 9, 4, true));
  EXPECT_NE(HashWith("ring", 8, 4, true), HashWith("ring", 8, 4, false));
}

}  // namespace
}  // namespace slipway::runtime
