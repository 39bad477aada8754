#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <thread>
#include <vector>

#include "tests/runtime/ranks.h"

namespace slipway::test {
namespace {

constexpr std::int64_t kSizes[] = {0, 1, 7, 4097, 100003};
constexpr slipway_op kOps[] = {SLIPWAY_SUM, SLIPWAY_MEAN, SLIPWAY_MIN, SLIPWAY_MAX, SLIPWAY_PRODUCT};

template <class Number>
constexpr slipway_dtype kDtype = SLIPWAY_FLOAT32;
template <>
constexpr slipway_dtype kDtype<double> = SLIPWAY_FLOAT64;
template <>
constexpr slipway_dtype kDtype<std::int32_t> = SLIPWAY_INT32;
template <>
constexpr slipway_dtype kDtype<std::int64_t> = SLIPWAY_INT64;

/// Small whole numbers of both signs: their sums are exact in every dtype and in every order.
std::int64_t ValueOf(int rank, std::int64_t index) { return (rank * 7919 + index * 31) % 1000 - 500; }

template <class Number>
Number Serial(slipway_op op, std::int64_t index, int ranks) {
  std::int64_t sum = 0;
  std::int64_t product = 1;
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  std::int64_t most = std::numeric_limits<std::int64_t>::min();
  for (int rank = 0; rank < ranks; ++rank) {
    const auto value = ValueOf(rank, index);
    sum += value;
    product *= value;
    least = std::min(least, value);
    most = std::max(most, value);
  }
  switch (op) {
    case SLIPWAY_MIN: return static_cast<Number>(least);
    case SLIPWAY_MAX: return static_cast<Number>(most);
    case SLIPWAY_MEAN: return static_cast<Number>(sum) / static_cast<Number>(ranks);
    case SLIPWAY_PRODUCT: return static_cast<Number>(product);
    case SLIPWAY_SUM: break;
  }
  return static_cast<Number>(sum);
}

template <class Number>
bool Near(Number value, Number expected) {
  if constexpr (std::is_integral_v<Number>) return value == expected;
  return std::abs(value - expected) <= std::abs(expected) * 2 * std::numeric_limits<Number>::epsilon();
}

template <class Number>
class Allreduce : public testing::Test {
 public:
  static std::vector<Number> Values(std::int64_t size) {
    std::vector<Number> values;
    for (std::int64_t i = 0; i < size; ++i) values.push_back(static_cast<Number>(ValueOf(Rank(), i)));
    return values;
  }
  /// Elements that differ from the serial result.
  static std::int64_t WrongOnes(const std::vector<Number>& values, slipway_op op) {
    std::int64_t wrong = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (!Near(values[i], Serial<Number>(op, static_cast<std::int64_t>(i), Ranks()))) ++wrong;
    }
    return wrong;
  }
};

using Dtypes = testing::Types<float, double, std::int32_t, std::int64_t>;
TYPED_TEST_SUITE(Allreduce, Dtypes);

TYPED_TEST(Allreduce, GivesTheSerialResultForEveryOperationAndSize) {
  for (const auto op : kOps) {
    for (const auto size : kSizes) {
      auto values = this->Values(size);
      ASSERT_EQ(slipway_allreduce(values.data(), size, kDtype<TypeParam>, op, SLIPWAY_ALL), SLIPWAY_OK)
          << slipway_error_message();
      EXPECT_EQ(this->WrongOnes(values, op), 0) << "operation " << op << ", " << size << " elements";
    }
  }
}

TYPED_TEST(Allreduce, LeavesTheMemoryAroundAsItIs) {
  auto values = this->Values(4097);
  const auto before = values;
  ASSERT_EQ(slipway_allreduce(values.data() + 1, 4095, kDtype<TypeParam>, SLIPWAY_SUM, SLIPWAY_ALL), SLIPWAY_OK);
  EXPECT_EQ(values.front(), before.front());
  EXPECT_EQ(values.back(), before.back());
}

TYPED_TEST(Allreduce, TakesMemoryThatIsNotAligned) {
  auto values = this->Values(4097);
  const auto bytes = values.size() * sizeof(TypeParam);
  std::vector<char> memory(bytes + 1);
  std::memcpy(memory.data() + 1, values.data(), bytes);
  ASSERT_EQ(slipway_allreduce(memory.data() + 1, 4097, kDtype<TypeParam>, SLIPWAY_MEAN, SLIPWAY_ALL), SLIPWAY_OK);
  std::memcpy(values.data(), memory.data() + 1, bytes);
  EXPECT_EQ(this->WrongOnes(values, SLIPWAY_MEAN), 0);
}

/// Numbers of very different sizes: their float sum depends on the order.
std::vector<float> OrderSensitive(std::size_t size) {
  std::mt19937 random(static_cast<unsigned>(Rank()) + 1);
  std::uniform_real_distribution<float> exponent(-20, 20);
  std::vector<float> values(size);
  for (auto& value : values) value = std::exp2(exponent(random)) * ((random() & 1) != 0 ? 1.0f : -1.0f);
  return values;
}

TEST(AllreduceBits, AreTheSameOnAllRanks) {
  for (const auto op : {SLIPWAY_SUM, SLIPWAY_MEAN}) {
    for (const std::size_t size : {1u, 3u, 1000u, 100003u}) {
      auto values = OrderSensitive(size);
      ASSERT_EQ(slipway_allreduce(values.data(), static_cast<std::int64_t>(size), SLIPWAY_FLOAT32, op, SLIPWAY_ALL),
                SLIPWAY_OK);
      EXPECT_TRUE(SameOnAllRanks(values.data(), size * sizeof(float))) << size << " elements, operation " << op;
    }
  }
}

TEST(AllreduceBits, AreTheSameAgain) {
  auto first = OrderSensitive(10007);
  auto second = first;
  ASSERT_EQ(slipway_allreduce(first.data(), 10007, SLIPWAY_FLOAT32, SLIPWAY_SUM, SLIPWAY_ALL), SLIPWAY_OK);
  ASSERT_EQ(slipway_allreduce(second.data(), 10007, SLIPWAY_FLOAT32, SLIPWAY_SUM, SLIPWAY_ALL), SLIPWAY_OK);
  EXPECT_EQ(std::memcmp(first.data(), second.data(), 10007 * sizeof(float)), 0);
}

TEST(AllreduceBits, KeepNanAndInfinity) {
  float values[] = {Rank() == Ranks() - 1 ? std::numeric_limits<float>::quiet_NaN() : 1.0f,
                    Rank() == 0 ? std::numeric_limits<float>::infinity() : 1.0f};
  ASSERT_EQ(slipway_allreduce(values, 2, SLIPWAY_FLOAT32, SLIPWAY_MEAN, SLIPWAY_ALL), SLIPWAY_OK);
  EXPECT_TRUE(std::isnan(values[0]));
  EXPECT_TRUE(std::isinf(values[1]));
}

TEST(Average, IsTheMeanOfDoubles) {
  double values[] = {1.0 + Rank(), -2.0 * Rank(), 0.5};
  ASSERT_EQ(slipway_average(values, 3), SLIPWAY_OK);
  EXPECT_DOUBLE_EQ(values[0], 1 + (Ranks() - 1) / 2.0);
  EXPECT_DOUBLE_EQ(values[1], -(Ranks() - 1.0));
  EXPECT_DOUBLE_EQ(values[2], 0.5);
}

TEST(Average, TakesNothing) { EXPECT_EQ(slipway_average(nullptr, 0), SLIPWAY_OK); }

/// The same clock in all processes of a machine, which MPI_Wtime need not be.
double Now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

TEST(Barrier, HoldsUntilTheLastRankHasCome) {
  double last_arrival = 0;
  if (Rank() == Ranks() - 1) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    last_arrival = Now();
  }
  ASSERT_EQ(slipway_barrier(SLIPWAY_ALL), SLIPWAY_OK);
  const double left = Now();
  MPI_Bcast(&last_arrival, 1, MPI_DOUBLE, Ranks() - 1, MPI_COMM_WORLD);
  EXPECT_GE(left, last_arrival);
}

TEST(Ranks, AreThoseOfMpi) {
  int rank = -1;
  int size = -1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  EXPECT_EQ(Rank(), rank);
  EXPECT_EQ(Ranks(), size);
  EXPECT_EQ(slipway_local_rank(), rank);  // all on this machine
  EXPECT_EQ(slipway_local_size(), size);
}

}  // namespace
}  // namespace slipway::test
