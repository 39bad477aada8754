// What a server keeps, without messages: who serves which elements, when a rank is listened to.

#include "runtime/server/shard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "runtime/server/shard_server.h"
#include "runtime/status.h"

namespace slipway::runtime {
namespace {

using std::chrono::microseconds;
using testing::ElementsAre;
using testing::IsEmpty;

std::vector<TensorInfo> Tensors(std::vector<double>& weights, std::vector<float>& bias) {
  return {{"weights", SLIPWAY_FLOAT64, {static_cast<std::int64_t>(weights.size())}, weights.data()},
          {"none", SLIPWAY_FLOAT32, {0}, nullptr},
          {"bias", SLIPWAY_FLOAT32, {static_cast<std::int64_t>(bias.size())}, bias.data()}};
}

TEST(ShardLayout, GivesEachElementToOneRankAndNearlyTheSameNumberToEach) {
  for (int ranks = 1; ranks <= 9; ++ranks) {
    std::vector<double> weights(13);
    std::vector<float> bias(4);
    const auto tensors = Tensors(weights, bias);
    std::vector<int> served(17);
    for (int rank = 0; rank < ranks; ++rank) {
      int count = 0;
      for (const auto& part : LayoutOfShard(tensors, ranks, rank).parts) {
        EXPECT_EQ(part.at % 64, 0u);
        for (auto i = part.first; i < part.first + part.count; ++i, ++count) {
          ++served[static_cast<std::size_t>(part.tensor == 0 ? i : 13 + i)];
        }
      }
      EXPECT_TRUE(count == 17 / ranks || count == 17 / ranks + 1) << count;
    }
    EXPECT_THAT(served, testing::Each(1)) << ranks;
  }
}

TEST(ShardLayout, BringsBackWhatWasGathered) {
  std::vector<double> weights(13);
  std::vector<float> bias(4);
  std::iota(weights.begin(), weights.end(), 1);
  std::iota(bias.begin(), bias.end(), 101.0f);
  std::vector<double> weights_again(13);
  std::vector<float> bias_again(4);
  for (int rank = 0; rank < 3; ++rank) {
    const auto layout = LayoutOfShard(Tensors(weights, bias), 3, rank);
    std::vector<char> message(layout.bytes);
    GatherShard(layout, Tensors(weights, bias), message.data());
    ScatterShard(layout, message.data(), Tensors(weights_again, bias_again));
  }
  EXPECT_EQ(weights_again, weights);
  EXPECT_EQ(bias_again, bias);
}

/// One number, kept for `ranks` ranks.
class OneNumber {
 public:
  OneNumber(int ranks, std::int64_t staleness)
      : shard_(LayoutOfShard(tensors_, 1, 0), tensors_, ranks, staleness), pushed_(static_cast<std::size_t>(ranks)) {}

  /// Like a server, keeps the memory of what a rank has pushed last.
  void Push(int rank, double gradient, double rate = 1) {
    auto& memory = pushed_[static_cast<std::size_t>(rank)];
    memory = gradient;
    shard_.Push(rank, rate, reinterpret_cast<const char*>(&memory));
  }
  double Pull() const {
    std::vector<char> message(shard_.layout().bytes);
    shard_.Pull(message.data());
    double value = 0;
    std::memcpy(&value, message.data(), sizeof value);
    return value;
  }
  Shard& shard() { return shard_; }

 private:
  double start_ = 100;
  std::vector<TensorInfo> tensors_{{"x", SLIPWAY_FLOAT64, {}, &start_}};
  Shard shard_;
  std::vector<double> pushed_;
};

TEST(Shard, WaitsForAllWhenItIsSynchronous) {
  OneNumber x(3, 0);
  x.Push(2, 3);
  x.Push(0, 6);
  EXPECT_EQ(x.Pull(), 100);
  EXPECT_FALSE(x.shard().Listens(2));
  EXPECT_TRUE(x.shard().Listens(1));
  EXPECT_THAT(x.shard().Behind(2), ElementsAre(1));
  EXPECT_THAT(x.shard().Behind(1), IsEmpty());
  x.Push(1, 9);
  EXPECT_EQ(x.Pull(), 94);
  for (int rank = 0; rank < 3; ++rank) EXPECT_TRUE(x.shard().Listens(rank));
}

TEST(Shard, AppliesEachPushAtOnceWhenItIsAsynchronous) {
  OneNumber x(2, 2);
  x.Push(0, 10, 0.5);
  EXPECT_EQ(x.Pull(), 97.5);
  x.Push(0, 10);
  EXPECT_EQ(x.Pull(), 92.5);
  EXPECT_TRUE(x.shard().Listens(0));
  EXPECT_EQ(x.shard().Lead(0), 2);
  x.Push(0, 10);
  EXPECT_FALSE(x.shard().Listens(0));
  EXPECT_THAT(x.shard().Behind(0), ElementsAre(1));
  x.Push(1, 10);
  EXPECT_TRUE(x.shard().Listens(0));
  EXPECT_EQ(x.shard().Lead(0), 2);
  EXPECT_EQ(x.shard().Lead(1), 0);
}

TEST(Shard, RefusesRatesThatDifferWithinAStep) {
  OneNumber x(2, 0);
  x.Push(0, 10, 0.5);
  try {
    x.Push(1, 10, 0.25);
    FAIL() << "it took them";
  } catch (const RuntimeError& error) {
    EXPECT_EQ(error.status(), SLIPWAY_ERROR_MISMATCH);
    EXPECT_STREQ(error.what(), "rank 1 pushed step 1 with rate 0.25, rank 0 with rate 0.5");
  }
  EXPECT_EQ(x.Pull(), 100);
}

TEST(ShardServer, SleepsLongerTheLongerNothingComes) {
  EXPECT_EQ(NapAfter(microseconds(60)), microseconds(20));
  EXPECT_EQ(NapAfter(microseconds(1000)), microseconds(250));
  EXPECT_EQ(NapAfter(microseconds(1'000'000)), microseconds(2000));
}

}  // namespace
}  // namespace slipway::runtime
