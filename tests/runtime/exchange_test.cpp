#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/runtime/ranks.h"

namespace slipway::test {
namespace {

float MeanOfRanks() { return static_cast<float>(Ranks() - 1) / 2; }

/// Expects `count` values to be first + step * index plus the mean of the ranks.
void ExpectMeans(const float* values, int count, float first) {
  for (int i = 0; i < count; ++i) EXPECT_FLOAT_EQ(values[i], first + static_cast<float>(i) + MeanOfRanks());
}

void Fill(float* values, int count, float first) {
  for (int i = 0; i < count; ++i) values[i] = first + static_cast<float>(i) + static_cast<float>(Rank());
}

TEST(Gradients, OfOneRunOfMemoryAreAveraged) {
  const std::vector<std::int64_t> kernel{2, 3}, bias{4};
  std::vector<float> memory(10);
  const slipway_tensor tensors[] = {Tensor("kernel", kernel, memory.data()), Tensor("bias", bias, memory.data() + 6)};
  ASSERT_EQ(slipway_register("contiguous", tensors, 2, 100), SLIPWAY_OK) << slipway_error_message();
  for (int step = 0; step < 3; ++step) {
    Fill(memory.data(), 10, static_cast<float>(step));
    ASSERT_EQ(slipway_gradients("contiguous"), SLIPWAY_OK) << slipway_error_message();
    ExpectMeans(memory.data(), 10, static_cast<float>(step));
  }
}

TEST(Gradients, ThatLieApartAreAveragedAndWhatLiesBetweenIsNot) {
  const std::vector<std::int64_t> four{4}, scalar;
  std::vector<float> memory(10, -1.0f);
  // In another order than in memory, on every rank.
  const slipway_tensor tensors[] = {Tensor("late", four, memory.data() + 6), Tensor("early", four, memory.data()),
                                    Tensor("scalar", scalar, memory.data() + 5)};
  ASSERT_EQ(slipway_register("scattered", tensors, 3, 0), SLIPWAY_OK) << slipway_error_message();
  Fill(memory.data(), 4, 10);
  Fill(memory.data() + 5, 1, 20);
  Fill(memory.data() + 6, 4, 30);
  ASSERT_EQ(slipway_gradients("scattered"), SLIPWAY_OK) << slipway_error_message();
  ExpectMeans(memory.data(), 4, 10);
  ExpectMeans(memory.data() + 5, 1, 20);
  ExpectMeans(memory.data() + 6, 4, 30);
  EXPECT_EQ(memory[4], -1.0f);
}

TEST(Gradients, MayLieTogetherOnOneRankAndApartOnAnother) {
  const std::vector<std::int64_t> four{4};
  std::vector<float> memory(9);
  float* second = memory.data() + (Rank() == 0 ? 4 : 5);
  const slipway_tensor tensors[] = {Tensor("a", four, memory.data()), Tensor("b", four, second)};
  ASSERT_EQ(slipway_register("mixed", tensors, 2, 0), SLIPWAY_OK) << slipway_error_message();
  Fill(memory.data(), 4, 1);
  Fill(second, 4, 5);
  ASSERT_EQ(slipway_gradients("mixed"), SLIPWAY_OK) << slipway_error_message();
  ExpectMeans(memory.data(), 4, 1);
  ExpectMeans(second, 4, 5);
}

TEST(Gradients, MayBeEmptyAndOfSeveralDtypes) {
  const std::vector<std::int64_t> none{3, 0}, two{2};
  float floats[] = {static_cast<float>(Rank()), 1};
  double doubles[] = {static_cast<double>(Rank()), 2};
  std::int64_t integers[] = {Rank() * 10, 3};
  const slipway_tensor tensors[] = {
      Tensor("nothing", none, nullptr), Tensor("floats", two, floats), Tensor("nothing either", none, nullptr),
      Tensor("doubles", two, doubles, SLIPWAY_FLOAT64), Tensor("integers", two, integers, SLIPWAY_INT64)};
  ASSERT_EQ(slipway_register("several", tensors, 5, 0), SLIPWAY_OK) << slipway_error_message();
  ASSERT_EQ(slipway_gradients("several"), SLIPWAY_OK) << slipway_error_message();
  EXPECT_FLOAT_EQ(floats[0], MeanOfRanks());
  EXPECT_DOUBLE_EQ(doubles[0], (Ranks() - 1) / 2.0);
  EXPECT_EQ(integers[0], (Ranks() - 1) * 10 / 2);
  EXPECT_EQ(integers[1], 3);
  ASSERT_EQ(slipway_register("nothing at all", nullptr, 0, 0), SLIPWAY_OK) << slipway_error_message();
  EXPECT_EQ(slipway_gradients("nothing at all"), SLIPWAY_OK) << slipway_error_message();
}

TEST(Gradients, OfAnUnknownTeamAreRefused) {
  ExpectRefused(slipway_gradients("nobody"), SLIPWAY_ERROR_STATE, "team 'nobody' is not registered");
}

TEST(Register, RefusesTheSameNameTwice) {
  ASSERT_EQ(slipway_register("once", nullptr, 0, 0), SLIPWAY_OK) << slipway_error_message();
  ExpectRefused(slipway_register("once", nullptr, 0, 0), SLIPWAY_ERROR_STATE, "'once' is registered already");
}

/// Registers two tensors, the second of which `last` differs on the last rank; expects all ranks to be told.
void ExpectLastRankRefused(const char* team, const slipway_tensor& usual, const slipway_tensor& last,
                           const std::string& text) {
  const std::vector<std::int64_t> one{1};
  float memory = 0;
  const bool differs = Ranks() > 1 && Rank() == Ranks() - 1;
  const slipway_tensor tensors[] = {Tensor("first", one, &memory), differs ? last : usual};
  const int result = slipway_register(team, tensors, 2, 0);
  if (Ranks() == 1) return;
  ExpectRefused(result, SLIPWAY_ERROR_MISMATCH, "rank " + std::to_string(Ranks() - 1) + ": tensor 1 is " + text);
  EXPECT_EQ(slipway_gradients(team), SLIPWAY_ERROR_STATE);  // nothing was registered
}

TEST(Register, NamesTheTensorAndTheRankThatDiffer) {
  const std::vector<std::int64_t> three{3}, four{4}, matrix{3, 1};
  float memory[4] = {};
  const auto usual = Tensor("weights", three, memory);
  ExpectLastRankRefused("shapes", usual, Tensor("weights", four, memory),
                        "'weights float32 [4]', but 'weights float32 [3]' on rank 0");
  ExpectLastRankRefused("dimensions", usual, Tensor("weights", matrix, memory),
                        "'weights float32 [3, 1]', but 'weights float32 [3]' on rank 0");
  ExpectLastRankRefused("names", usual, Tensor("wieghts", three, memory),
                        "'wieghts float32 [3]', but 'weights float32 [3]' on rank 0");
  ExpectLastRankRefused("dtypes", usual, Tensor("weights", three, memory, SLIPWAY_INT32),
                        "'weights int32 [3]', but 'weights float32 [3]' on rank 0");
}

TEST(Register, NamesTheTensorThatIsMissing) {
  const std::vector<std::int64_t> one{1};
  float memory[2] = {};
  const slipway_tensor tensors[] = {Tensor("a", one, memory), Tensor("b", one, memory + 1)};
  const int result = slipway_register("counts", tensors, Rank() == 0 ? 2 : 1, 0);
  if (Ranks() == 1) return;
  ExpectRefused(result, SLIPWAY_ERROR_MISMATCH, "rank 1: tensor 1 is missing, but 'b float32 [1]' on rank 0");
}

TEST(Register, ComparesTheNamesOfTeams) {
  const int result = slipway_register(Rank() == 0 ? "generator" : "discriminator", nullptr, 0, 0);
  if (Ranks() == 1) return;
  ExpectRefused(result, SLIPWAY_ERROR_MISMATCH,
                "rank 1: called for team 'discriminator' of 0 steps, but for team 'generator' of 0 steps on rank 0");
}

TEST(Register, WithABadArgumentOnOneRankIsRefusedOnAll) {
  const std::vector<std::int64_t> one{1}, negative{-1};
  float memory = 0;
  const bool bad = Rank() == Ranks() - 1;
  const auto tensor = Tensor("x", bad ? negative : one, &memory);
  ExpectRefused(slipway_register("bad shape", &tensor, 1, 0), SLIPWAY_ERROR_ARGUMENT,
                "tensor 'x' has a negative extent: -1");
  ExpectRefused(slipway_register(bad ? nullptr : "no name", nullptr, 0, 0), SLIPWAY_ERROR_ARGUMENT, "no name");
  ExpectRefused(slipway_register("bad list", nullptr, bad ? 1 : 0, 0), SLIPWAY_ERROR_ARGUMENT, "null pointer");
}

TEST(Broadcast, CopiesFromEveryRoot) {
  const std::vector<std::int64_t> five{5}, none{0}, large{100, 1001};
  for (int root = 0; root < Ranks(); ++root) {
    std::int32_t small[5];
    for (auto& value : small) value = Rank() + 1;
    std::vector<double> big(100100, Rank() + 1);
    const slipway_tensor tensors[] = {Tensor("small", five, small, SLIPWAY_INT32), Tensor("none", none, nullptr),
                                      Tensor("big", large, big.data(), SLIPWAY_FLOAT64)};
    ASSERT_EQ(slipway_broadcast(tensors, 3, root, SLIPWAY_ALL), SLIPWAY_OK) << slipway_error_message();
    for (const auto value : small) EXPECT_EQ(value, root + 1);
    EXPECT_EQ(big, std::vector<double>(100100, root + 1));
  }
}

TEST(Broadcast, RefusesRanksThatDoNotAgree) {
  const std::vector<std::int64_t> five{5}, four{4};
  float memory[5] = {};
  const auto tensor = Tensor("w", Rank() == 0 ? five : four, memory);
  ExpectRefused(slipway_broadcast(&tensor, 1, Rank() == 0 ? Ranks() : 0, SLIPWAY_ALL), SLIPWAY_ERROR_ARGUMENT,
                "there is no rank " + std::to_string(Ranks()));
  if (Ranks() == 1) return;
  ExpectRefused(slipway_broadcast(&tensor, 1, 0, SLIPWAY_ALL), SLIPWAY_ERROR_MISMATCH, "'w float32 [4]'");
  ExpectRefused(slipway_broadcast(nullptr, 0, Rank() == 0 ? 0 : 1, SLIPWAY_ALL), SLIPWAY_ERROR_MISMATCH,
                "called for root 1, but for root 0 on rank 0");
}

TEST(CheckMatch, FindsOneFlippedBitAndNamesTensorAndRank) {
  const std::vector<std::int64_t> count{1003};
  std::vector<float> first(1003, 0.5f), second(1003, 0.25f), third(1003, 0.125f);
  const slipway_tensor tensors[] = {Tensor("first", count, first.data()), Tensor("second", count, second.data()),
                                    Tensor("third", count, third.data())};
  ASSERT_EQ(slipway_check_match(tensors, 3), SLIPWAY_OK) << slipway_error_message();
  if (Ranks() == 1) return;
  if (Rank() == 1) reinterpret_cast<char*>(third.data())[4011] ^= 1;  // the last, odd word
  if (Rank() == Ranks() - 1) reinterpret_cast<char*>(second.data())[17] ^= 64;
  ExpectRefused(slipway_check_match(tensors, 3), SLIPWAY_ERROR_MISMATCH,
                "rank " + std::to_string(Ranks() - 1) + ": 'second' differs from rank 0");
}

TEST(CheckMatch, TellsMinusZeroFromZero) {
  const std::vector<std::int64_t> one{1};
  float value = Rank() == 0 ? 0.0f : -0.0f;
  const auto tensor = Tensor("w", one, &value);
  EXPECT_EQ(slipway_check_match(&tensor, 1), Ranks() == 1 ? SLIPWAY_OK : SLIPWAY_ERROR_MISMATCH);
}

TEST(CheckMatch, TakesNothingAndEmptyTensors) {
  const std::vector<std::int64_t> none{0};
  const auto tensor = Tensor("none", none, nullptr);
  EXPECT_EQ(slipway_check_match(&tensor, 1), SLIPWAY_OK) << slipway_error_message();
  EXPECT_EQ(slipway_check_match(nullptr, 0), SLIPWAY_OK) << slipway_error_message();
}

}  // namespace
}  // namespace slipway::test
