// Every algorithm, dtype and operation against the serial result, and what each costs against its formula.

#include <gtest/gtest.h>

#include <bit>
#include <chrono>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <thread>

#include "runtime/collectives/allreduce.h"
#include "runtime/collectives/between_ranks.h"
#include "runtime/collectives/pairs.h"
#include "runtime/selection/torus_sides.h"
#include "tests/runtime/collectives/groups.h"
#include "tests/runtime/collectives/numbers.h"

namespace slipway::test {
namespace {

using namespace runtime;

constexpr std::int64_t kAlgorithmSizes[] = {0, 1, 7, 4097, 1000003};

class Algorithms : public testing::TestWithParam<const char*> {
 protected:
  Algorithms() : choice_(*ChoiceOf(GetParam())), test_(choice_.hierarchical ? 2 : 0) {}

  void Reduce(Array& array, std::int64_t count, const Reduction& reduction) {
    const Piece piece{array.data(), count};
    AllreduceBy(choice_, {{&piece, 1}, reduction, 0, nullptr}, test_.group);
  }

  Choice choice_;
  TestGroup test_;
};

TEST_P(Algorithms, GiveTheSerialResultForEveryDtypeAndOperation) {
  for (const auto dtype : kDtypes) {
    for (const auto op : kOperations) {
      for (const std::int64_t count : {0, 1, 7, 1031, 4097}) {
        Array array(dtype, count);
        array.Fill(Rank(), op);
        Reduce(array, count, {dtype, op});
        EXPECT_EQ(array.WrongOnes(op, Ranks()), 0) << runtime::NameOf(dtype) << ", operation " << op << ", " << count;
        EXPECT_TRUE(SameOnAllRanks(array.data(), array.bytes()));
      }
    }
  }
}

TEST_P(Algorithms, TakeLargeAndUnalignedMemory) {
  for (const std::size_t misaligned : {0u, 1u, 3u}) {
    Array array(SLIPWAY_FLOAT32, 1000003, misaligned);
    array.Fill(Rank(), SLIPWAY_SUM);
    Reduce(array, 1000003, {SLIPWAY_FLOAT32, SLIPWAY_SUM});
    EXPECT_EQ(array.WrongOnes(SLIPWAY_SUM, Ranks()), 0) << misaligned << " bytes off";
  }
}

TEST_P(Algorithms, TakeAMessageInPieces) {
  Array first(SLIPWAY_FLOAT64, 5);
  Array second(SLIPWAY_FLOAT64, 3001);
  first.Fill(Rank(), SLIPWAY_SUM);
  second.Fill(Rank(), SLIPWAY_SUM);
  const Piece pieces[] = {{first.data(), 5}, {nullptr, 0}, {second.data(), 3001}};
  AllreduceBy(choice_, {pieces, {SLIPWAY_FLOAT64, SLIPWAY_SUM}, 0, nullptr}, test_.group);
  EXPECT_EQ(first.WrongOnes(SLIPWAY_SUM, Ranks()), 0);
  EXPECT_EQ(second.WrongOnes(SLIPWAY_SUM, Ranks()), 0);
}

/// Numbers of very different sizes: their float sum depends on the order.
std::vector<float> OrderSensitiveValues(std::size_t size) {
  std::mt19937 random(static_cast<unsigned>(Rank()) + 1);
  std::uniform_real_distribution<float> exponent(-20, 20);
  std::vector<float> values(size);
  for (auto& value : values) value = std::exp2(exponent(random)) * ((random() & 1) != 0 ? 1.0f : -1.0f);
  return values;
}

TEST_P(Algorithms, GiveTheSameBitsWhoeverComesFirst) {
  std::mt19937 random(static_cast<unsigned>(Rank()) * 31 + 7);
  for (const std::size_t size : {3u, 20011u}) {
    std::vector<float> reference;
    for (int run = 0; run < 4; ++run) {
      auto values = OrderSensitiveValues(size);
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 3000));
      const Piece piece{reinterpret_cast<char*>(values.data()), static_cast<std::int64_t>(size)};
      AllreduceBy(choice_, {{&piece, 1}, {SLIPWAY_FLOAT32, SLIPWAY_MEAN}, 0, nullptr}, test_.group);
      EXPECT_TRUE(SameOnAllRanks(values.data(), size * sizeof(float)));
      if (run == 0) reference = values;
      EXPECT_EQ(std::memcmp(reference.data(), values.data(), size * sizeof(float)), 0) << "run " << run;
    }
  }
}

/// Element i of rank r: NaN on one rank in turn, zeros of both signs, infinities.
double SpecialValue(int rank, std::int64_t index) {
  static const double kSpecial[] = {0.0, -0.0, 1, -1, INFINITY, -INFINITY, 0.0, -0.0};
  if (index % 11 == 3 && index % Ranks() == rank) return NAN;
  return kSpecial[static_cast<std::size_t>((index * 5 + rank * 3) % 8)];
}

/// As IEEE 754-2019 has it.
double Extreme(slipway_op op, double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return NAN;
  if (a == b) return std::signbit(a) == (op == SLIPWAY_MIN) ? a : b;
  return (a < b) == (op == SLIPWAY_MIN) ? a : b;
}

TEST_P(Algorithms, KeepNansAndTheSignOfZeroInMinimumAndMaximum) {
  constexpr std::int64_t kCount = 1031;
  for (const auto dtype : {SLIPWAY_FLOAT32, SLIPWAY_FLOAT64, SLIPWAY_FLOAT16, SLIPWAY_BFLOAT16}) {
    for (const auto op : {SLIPWAY_MIN, SLIPWAY_MAX}) {
      Array array(dtype, kCount);
      Array expected(dtype, kCount);
      for (std::int64_t i = 0; i < kCount; ++i) {
        array.Set(i, SpecialValue(Rank(), i));
        double extreme = SpecialValue(0, i);
        for (int rank = 1; rank < Ranks(); ++rank) extreme = Extreme(op, extreme, SpecialValue(rank, i));
        expected.Set(i, extreme);
      }
      Reduce(array, kCount, {dtype, op});
      EXPECT_EQ(std::memcmp(array.data(), expected.data(), array.bytes()), 0)
          << runtime::NameOf(dtype) << ", operation " << op;
    }
  }
}

/// Near both ends of the type: on all ranks the same one, or in turn.
template <class Integer>
Integer FarValue(int rank, std::int64_t index) {
  using Limits = std::numeric_limits<Integer>;
  const Integer ends[] = {Limits::max(), Limits::min(), Limits::max() - 6, Limits::min() + 5, 0, -1};
  return ends[static_cast<std::size_t>((index + (index % 2) * rank) % 6)];
}

template <class Integer>
Integer ExactMean(std::int64_t index) {
  __extension__ __int128 sum = 0;
  for (int rank = 0; rank < Ranks(); ++rank) sum += FarValue<Integer>(rank, index);
  return static_cast<Integer>(sum / Ranks());
}

template <class Integer, class Average>
void ExpectExactMeans(Average average) {
  std::vector<Integer> values(4099);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = FarValue<Integer>(Rank(), static_cast<std::int64_t>(i));
  average({reinterpret_cast<char*>(values.data()), static_cast<std::int64_t>(values.size())});
  std::int64_t wrong = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    wrong += values[i] != ExactMean<Integer>(static_cast<std::int64_t>(i)) ? 1 : 0;
  }
  EXPECT_EQ(wrong, 0) << sizeof(Integer) << " bytes";
}

TEST_P(Algorithms, GiveTheExactMeanOfIntegers) {
  const auto average = [this](slipway_dtype dtype) {
    return [this, dtype](const Piece& piece) {
      AllreduceBy(choice_, {{&piece, 1}, {dtype, SLIPWAY_MEAN}, 0, nullptr}, test_.group);
    };
  };
  ExpectExactMeans<std::int32_t>(average(SLIPWAY_INT32));
  ExpectExactMeans<std::int64_t>(average(SLIPWAY_INT64));
}

/// The parts of a message, each exchanged by itself.
std::vector<float> InParts(const std::vector<float>& values, const MessageParts& parts,
                           const std::function<void(const AllreduceMessage&)>& allreduce) {
  auto result = values;
  const Piece all{reinterpret_cast<char*>(result.data()), static_cast<std::int64_t>(result.size())};
  for (std::int64_t part = 0; part < parts.size(); ++part) {
    std::vector<Piece> pieces;
    for (const auto& slice : parts.Of(part)) pieces.push_back({all.data + BytesOf(slice.first, 4), slice.count});
    allreduce({.pieces = pieces, .reduction = {SLIPWAY_FLOAT32, SLIPWAY_MEAN}, .whole = all.count});
  }
  return result;
}

/// As memory of GPUs travels.
TEST_P(Algorithms, GiveTheSameBitsInParts) {
  const int members = choice_.hierarchical ? test_.group.topology().nodes() : Ranks();
  for (const std::size_t size : {1u, 7u, 1031u, 20011u}) {
    const auto slices = SlicesOfOneOrder(choice_.algorithm, static_cast<std::int64_t>(size), members);
    if (slices.empty()) GTEST_SKIP() << "nothing is known of its order";
    const auto values = OrderSensitiveValues(size);
    auto whole = values;
    const Piece piece{reinterpret_cast<char*>(whole.data()), static_cast<std::int64_t>(size)};
    AllreduceBy(choice_, {.pieces = {&piece, 1}, .reduction = {SLIPWAY_FLOAT32, SLIPWAY_MEAN}}, test_.group);
    const MessageParts parts(slices, 3000);
    if (size == 20011) {
      EXPECT_GT(parts.size(), 5);
    }
    const auto result =
        InParts(values, parts, [this](const AllreduceMessage& part) { AllreduceBy(choice_, part, test_.group); });
    EXPECT_EQ(std::memcmp(result.data(), whole.data(), size * sizeof(float)), 0) << size;
  }
}

/// Their parts are equally long.
TEST(Parts, OfDifferentMessagesDoNotMeet) {
  if (Ranks() != 2) GTEST_SKIP() << "a third rank would wait for those that have left";
  for (const char* name : {"ring", "shared"}) {
    TestGroup test;
    float values[100] = {};
    const Piece piece{reinterpret_cast<char*>(values), 100};
    try {
      AllreduceBy(*ChoiceOf(name),
                  {.pieces = {&piece, 1}, .reduction = {SLIPWAY_FLOAT32, SLIPWAY_SUM}, .whole = 1000 + Rank()},
                  test.group);
      ADD_FAILURE() << name << " takes them for the same";
    } catch (const RuntimeError& error) {
      EXPECT_EQ(error.status(), SLIPWAY_ERROR_MISMATCH) << error.what();
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Algorithms,
                         testing::Values("shared", "shared_direct", "recursive_doubling", "ring", "rabenseifner",
                                         "torus", "pairwise", "mpi", "hierarchical_recursive_doubling",
                                         "hierarchical_ring", "hierarchical_rabenseifner", "hierarchical_torus",
                                         "hierarchical_pairwise"),
                         [](const auto& name) { return std::string(name.param); });

TEST(Canonical, BitsDoNotDependOnWhereTheRanksAre) {
  auto reference = OrderSensitiveValues(5003);
  std::vector<std::vector<float>> results;
  for (const int per_node : {0, 1, 2, 3}) {
    TestGroup test(per_node);
    test.group.SetSelection({AlgorithmTable::Default(test.group.placement()), true});
    auto values = reference;
    const Piece piece{reinterpret_cast<char*>(values.data()), 5003};
    Allreduce({{&piece, 1}, {SLIPWAY_FLOAT32, SLIPWAY_MEAN}, 0, nullptr}, test.group);
    results.push_back(values);
  }
  for (const auto& result : results) {
    EXPECT_EQ(std::memcmp(result.data(), results.front().data(), result.size() * sizeof(float)), 0);
  }
}

// Costs. N bytes, P ranks, p the largest power of two up to P; docs/explanation/exchange.md has the formulas.

class Costs : public testing::Test {
 protected:
  Counters Of(void (*algorithm)(void*, std::int64_t, const Reduction&, PointToPoint&), std::int64_t count) {
    PointToPoint members(test_.group.communicator());
    Array array(SLIPWAY_FLOAT32, count);
    array.Fill(Rank(), SLIPWAY_SUM);
    algorithm(array.data(), count, {SLIPWAY_FLOAT32, SLIPWAY_SUM}, members);
    return members.counters();
  }
  static std::int64_t SliceBytes(std::int64_t count, int index) {
    return SliceOf(count, Ranks(), (index + Ranks()) % Ranks()).count * 4;
  }

  TestGroup test_;
};

TEST_F(Costs, OfRecursiveDoubling) {
  const int active = static_cast<int>(std::bit_floor(static_cast<unsigned>(Ranks())));
  const int doublings = std::bit_width(static_cast<unsigned>(active)) - 1;
  const Pairs pairs(Rank(), Ranks());
  for (const auto count : kAlgorithmSizes) {
    const auto cost = Of(AllreduceByRecursiveDoubling, count);
    const std::int64_t full = count * 4;
    EXPECT_EQ(cost.steps, pairs.HandsOver() ? 2 : doublings + (pairs.StandsIn() ? 2 : 0));
    EXPECT_EQ(cost.bytes_sent, pairs.HandsOver() ? full : full * (doublings + (pairs.StandsIn() ? 1 : 0))) << count;
  }
}

TEST_F(Costs, OfTheRing) {
  for (const auto count : kAlgorithmSizes) {
    const auto cost = Of(AllreduceByRing, count);
    EXPECT_EQ(cost.steps, 2 * (Ranks() - 1));
    // All slices but the own one, then all but the next one's: 2N(P-1)/P where P divides N.
    const auto expected = Ranks() == 1 ? 0 : 2 * count * 4 - SliceBytes(count, Rank()) - SliceBytes(count, Rank() + 1);
    EXPECT_EQ(cost.bytes_sent, expected) << count;
  }
}

TEST_F(Costs, OfRabenseifner) {
  const int active = static_cast<int>(std::bit_floor(static_cast<unsigned>(Ranks())));
  const int halvings = std::bit_width(static_cast<unsigned>(active)) - 1;
  const Pairs pairs(Rank(), Ranks());
  const bool paired = pairs.HandsOver() || pairs.StandsIn();
  for (const auto count : kAlgorithmSizes) {
    const auto cost = Of(AllreduceByRabenseifner, count);
    EXPECT_EQ(cost.steps, (paired ? 3 : 0) + (pairs.HandsOver() ? 0 : 2 * halvings));
    const double full = static_cast<double>(count) * 4;
    double expected = pairs.HandsOver() ? 0 : 2 * full * (active - 1) / active;
    if (pairs.HandsOver()) expected += full;            // one half to the partner, the other half combined
    if (pairs.StandsIn()) expected += full / 2 + full;  // one half, and the whole result
    EXPECT_NEAR(static_cast<double>(cost.bytes_sent), expected, 4.0 * (2 * halvings + 3)) << count;  // odd halves
  }
}

TEST_F(Costs, OfTheTorus) {
  const auto [rows, columns] = SidesOf(Ranks());
  ASSERT_EQ(rows * columns, Ranks());
  for (const auto count : kAlgorithmSizes) {
    const auto cost = Of(AllreduceByTorus, count);
    EXPECT_EQ(cost.steps, 2 * (columns - 1) + 2 * (rows - 1));
    const double full = static_cast<double>(count) * 4;
    const double expected = 2 * full * (columns - 1) / columns + 2 * full / columns * (rows - 1) / rows;
    EXPECT_NEAR(static_cast<double>(cost.bytes_sent), expected, 4.0 * 2 * Ranks()) << count;
  }
}

TEST_F(Costs, OfPairwise) {
  for (const auto count : kAlgorithmSizes) {
    const auto cost = Of(AllreducePairwise, count);
    EXPECT_EQ(cost.steps, 2 * (Ranks() - 1));
    EXPECT_EQ(cost.bytes_sent, count * 4 + (Ranks() - 2) * SliceBytes(count, Rank())) << count;
  }
}

/// Shared memory sends nothing; the leaders send what the algorithm sends among as many ranks as there are nodes.
TEST(HierarchicalCosts, AreThoseOfTheLeaders) {
  for (const int per_node : {2, 3}) {
    TestGroup test(per_node);
    const auto& nodes = test.group.topology().leaders;
    const auto leaders = static_cast<int>(nodes.size());
    const auto at = std::find(nodes.begin(), nodes.end(), Rank());
    const auto own = static_cast<int>(at - nodes.begin());
    for (const auto count : kAlgorithmSizes) {
      const auto before = test.group.leaders().counters();
      Array array(SLIPWAY_FLOAT32, count);
      array.Fill(Rank(), SLIPWAY_SUM);
      const Piece piece{array.data(), count};
      AllreduceBy({Algorithm::kRing, true}, {{&piece, 1}, {SLIPWAY_FLOAT32, SLIPWAY_SUM}, 0, nullptr}, test.group);
      const auto after = test.group.leaders().counters();
      const bool leads = at != nodes.end() && leaders > 1;
      const auto slice = [&](int index) { return SliceOf(count, leaders, index % leaders).count * 4; };
      EXPECT_EQ(after.steps - before.steps, leads ? 2 * (leaders - 1) : 0) << per_node;
      EXPECT_EQ(after.bytes_sent - before.bytes_sent, leads ? 2 * count * 4 - slice(own) - slice(own + 1) : 0) << count;
      EXPECT_EQ(test.group.members().counters().bytes_sent, 0);
    }
  }
}

TEST(TorusSides, AreAsNearToEachOtherAsCanBe) {
  EXPECT_EQ(SidesOf(1).columns, 1);
  EXPECT_EQ(SidesOf(7).columns, 7);
  EXPECT_EQ(SidesOf(12).rows, 3);
  EXPECT_EQ(SidesOf(1024).rows, 32);
}

}  // namespace
}  // namespace slipway::test
