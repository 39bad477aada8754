// The parameter server: the synchronous one against the serial computation, the asynchronous one against its bound.

#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <ctime>
#include <random>
#include <thread>
#include <vector>

#include "tests/runtime/ranks.h"

namespace slipway::test {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

/// Parameters or gradients of one dtype.
template <class Number>
class Model {
 public:
  explicit Model(std::vector<std::int64_t> sizes) : sizes_(std::move(sizes)) {
    for (const auto size : sizes_) {
      data_.emplace_back(static_cast<std::size_t>(size));
      names_.push_back("t" + std::to_string(names_.size()));
    }
  }

  std::vector<slipway_tensor> Tensors() {
    constexpr auto kDtype = sizeof(Number) == 8   ? SLIPWAY_FLOAT64
                            : sizeof(Number) == 4 ? SLIPWAY_FLOAT32
                                                  : SLIPWAY_BFLOAT16;
    std::vector<slipway_tensor> list;
    for (std::size_t i = 0; i < data_.size(); ++i) {
      list.push_back({names_[i].c_str(), kDtype, 1, &sizes_[i], data_[i].data()});
    }
    return list;
  }
  /// Calls `action(number, index over all tensors)`.
  template <class Action>
  void ForEach(Action action) {
    std::int64_t index = 0;
    for (auto& tensor : data_) {
      for (auto& number : tensor) action(number, index++);
    }
  }
  /// Values of which no sum is exact; `salt` makes them others.
  void Fill(int salt) {
    ForEach([&](Number& number, std::int64_t i) { number = Value(salt, i); });
  }
  static Number Value(int salt, std::int64_t index) {
    return static_cast<Number>(std::sin(static_cast<double>(salt) * 7.1 + static_cast<double>(index)));
  }
  bool SameBits(const Model& other) const {
    for (std::size_t i = 0; i < data_.size(); ++i) {
      if (!data_[i].empty() &&
          std::memcmp(data_[i].data(), other.data_[i].data(), data_[i].size() * sizeof(Number)) != 0)
        return false;
    }
    return true;
  }
  bool SameOnAllRanks() {
    bool same = true;
    for (auto& tensor : data_) same = test::SameOnAllRanks(tensor.data(), tensor.size() * sizeof(Number)) && same;
    return same;
  }

 private:
  std::vector<std::int64_t> sizes_;
  std::vector<std::vector<Number>> data_;
  std::vector<std::string> names_;
};

template <class Number>
int Create(const char* server, Model<Number>& parameters, double rate, std::int64_t staleness) {
  const auto list = parameters.Tensors();
  return slipway_server_create(server, list.data(), static_cast<int>(list.size()), rate, staleness);
}

template <class Number>
int Push(const char* server, Model<Number>& gradients) {
  const auto list = gradients.Tensors();
  return slipway_server_push(server, list.data(), static_cast<int>(list.size()));
}

std::int64_t Lead(const char* server) {
  std::int64_t lead = -1;
  EXPECT_EQ(slipway_server_lead(server, &lead), SLIPWAY_OK) << slipway_error_message();
  return lead;
}

/// What rank 0, 1, ... and then plain SGD on the mean would do alone.
template <class Number>
void SerialStep(Model<Number>& parameters, int step, double rate) {
  const auto salt = [&](int rank) { return 1 + step * Ranks() + rank; };
  parameters.ForEach([&](Number& number, std::int64_t i) {
    Number sum = Model<Number>::Value(salt(0), i);
    for (int rank = 1; rank < Ranks(); ++rank) sum = sum + Model<Number>::Value(salt(rank), i);
    const Number mean = sum * (Number(1) / static_cast<Number>(Ranks()));
    const Number change = mean * static_cast<Number>(rate);
    number = number - change;
  });
}

template <class Number>
void ExpectTheSerialBits(int seed) {
  const std::vector<std::int64_t> sizes{1000, 0, 3, 20003, 64, 1};
  Model<Number> parameters(sizes);
  Model<Number> expected(sizes);
  Model<Number> gradients(sizes);
  parameters.Fill(Rank());  // the others take those of rank 0
  expected.Fill(0);
  ASSERT_EQ(Create("sync", parameters, 0.1, 0), SLIPWAY_OK) << slipway_error_message();
  EXPECT_TRUE(parameters.SameBits(expected));
  std::mt19937 random(static_cast<unsigned>(seed + Rank()));
  for (int step = 0; step < 6; ++step) {
    const double rate = step < 3 ? 0.1 : 0.03;
    ASSERT_EQ(slipway_server_set_rate("sync", rate), SLIPWAY_OK);
    std::this_thread::sleep_for(microseconds(random() % 5000));
    gradients.Fill(1 + step * Ranks() + Rank());
    ASSERT_EQ(Push("sync", gradients), SLIPWAY_OK) << slipway_error_message();
    gradients.Fill(-1);  // they are the program's again
    SerialStep(expected, step, rate);
    std::this_thread::sleep_for(microseconds(random() % 5000));
    if (step % 2 == Rank() % 2) continue;  // who does not pull must not change what the others get
    ASSERT_EQ(slipway_server_pull("sync"), SLIPWAY_OK) << slipway_error_message();
    EXPECT_TRUE(parameters.SameBits(expected)) << "step " << step;
    EXPECT_EQ(Lead("sync"), 0);
  }
  ASSERT_EQ(slipway_server_pull("sync"), SLIPWAY_OK) << slipway_error_message();
  EXPECT_TRUE(parameters.SameBits(expected));
  ASSERT_EQ(slipway_server_free("sync"), SLIPWAY_OK) << slipway_error_message();
}

TEST(SynchronousServer, GivesTheBitsOfTheSerialComputationWhateverTheDelays) {
  for (const int seed : {1, 100}) {
    ExpectTheSerialBits<float>(seed);
    ExpectTheSerialBits<double>(seed);
  }
}

/// 1 and 0.001 have no sum in bfloat16: the updates would be lost one by one.
TEST(SynchronousServer, LosesNoSmallUpdatesOf16BitParameters) {
  const auto short_of = [](float value) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    return static_cast<std::uint16_t>(bits >> 16);
  };
  Model<std::uint16_t> parameters({5000});
  Model<std::uint16_t> gradients({5000});
  parameters.ForEach([&](std::uint16_t& number, std::int64_t) { number = short_of(1); });
  gradients.ForEach([&](std::uint16_t& number, std::int64_t) { number = short_of(-1); });
  ASSERT_EQ(Create("short", parameters, 0.001, 0), SLIPWAY_OK) << slipway_error_message();
  for (int step = 0; step < 500; ++step) ASSERT_EQ(Push("short", gradients), SLIPWAY_OK) << slipway_error_message();
  ASSERT_EQ(slipway_server_pull("short"), SLIPWAY_OK);
  std::int64_t wrong = 0;
  parameters.ForEach([&](std::uint16_t number, std::int64_t) { wrong += number == short_of(1.5f) ? 0 : 1; });
  EXPECT_EQ(wrong, 0);
  ASSERT_EQ(slipway_server_free("short"), SLIPWAY_OK);
}

/// The steps of all ranks, in memory that all of them see: not through what is tested.
class Steps {
 public:
  Steps() {
    MPI_Win_allocate_shared(sizeof(std::int64_t), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &own_, &window_);
    *own_ = 0;
    MPI_Barrier(MPI_COMM_WORLD);
  }
  Steps(const Steps&) = delete;
  Steps& operator=(const Steps&) = delete;
  ~Steps() {
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_free(&window_);
  }
  void Next() { __atomic_add_fetch(own_, 1, __ATOMIC_SEQ_CST); }
  std::int64_t own() const { return *own_; }
  std::int64_t Of(int rank) const {
    MPI_Aint size = 0;
    int unit = 0;
    std::int64_t* of_rank = nullptr;
    MPI_Win_shared_query(window_, rank, &size, &unit, &of_rank);
    return __atomic_load_n(of_rank, __ATOMIC_SEQ_CST);
  }
  std::int64_t Lead() const {
    auto slowest = own();
    for (int rank = 0; rank < Ranks(); ++rank) slowest = std::min(slowest, Of(rank));
    return own() - slowest;
  }

 private:
  std::int64_t* own_ = nullptr;
  MPI_Win window_ = MPI_WIN_NULL;
};

/// The last rank is slow, the others now and then.
void Dawdle(std::mt19937& random) {
  if (Rank() == Ranks() - 1) std::this_thread::sleep_for(milliseconds(4));
  if (random() % 4 == 0) std::this_thread::sleep_for(microseconds(random() % 3000));
}

/// The last rank begins when rank 0 is as far ahead as it may be, or cannot get there.
void LetRank0Lead(const Steps& steps, std::int64_t staleness) {
  if (Ranks() == 1 || Rank() != Ranks() - 1) return;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (steps.Of(0) <= staleness && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(milliseconds(1));
  }
}

void ExpectTheBound(std::int64_t staleness, bool pulls) {
  Steps steps;
  Model<float> parameters({3000, 7});
  Model<float> gradients({3000, 7});
  ASSERT_EQ(Create("stale", parameters, 0.01, staleness), SLIPWAY_OK) << slipway_error_message();
  std::mt19937 random(static_cast<unsigned>(Rank() + 1));
  std::int64_t farthest = 0;
  LetRank0Lead(steps, staleness);
  for (int step = 0; step < 40; ++step) {
    Dawdle(random);
    steps.Next();
    ASSERT_EQ(Push("stale", gradients), SLIPWAY_OK) << slipway_error_message();
    ASSERT_LE(steps.Lead(), staleness + 1);
    if (pulls) {
      ASSERT_EQ(slipway_server_pull("stale"), SLIPWAY_OK) << slipway_error_message();
      ASSERT_LE(steps.Lead(), staleness);
      ASSERT_LE(Lead("stale"), staleness);
    }
    farthest = std::max(farthest, pulls ? Lead("stale") : steps.Lead());
  }
  // The test would see a bound that is too narrow, too.
  if (Ranks() > 1 && Rank() == 0) {
    EXPECT_GE(farthest, staleness);
  }
  ASSERT_EQ(slipway_server_free("stale"), SLIPWAY_OK) << slipway_error_message();
}

TEST(AsynchronousServer, HoldsItsBoundUnderRandomDelays) {
  for (const int staleness : {1, 3}) {
    ExpectTheBound(staleness, true);
    ExpectTheBound(staleness, false);
  }
}

/// Each rank has a quadratic of its own; the minimum of their mean is where the mean of their centres is.
TEST(AsynchronousServer, ConvergesOnAConvexProblem) {
  Model<float> x({50, 1, 2000});
  Model<float> gradients({50, 1, 2000});
  ASSERT_EQ(Create("convex", x, 0.2, 3), SLIPWAY_OK) << slipway_error_message();
  const auto center = [](int rank, std::int64_t i) { return Model<float>::Value(5 + rank, i); };
  std::mt19937 random(static_cast<unsigned>(Rank() + 7));
  for (int step = 0; step < 300; ++step) {
    if (random() % 20 == 0) std::this_thread::sleep_for(milliseconds(random() % 5));
    std::vector<float> values;
    x.ForEach([&](float value, std::int64_t i) { values.push_back(value - center(Rank(), i)); });
    gradients.ForEach([&](float& value, std::int64_t i) { value = values[static_cast<std::size_t>(i)]; });
    ASSERT_EQ(slipway_server_set_rate("convex", 0.2 / (1 + step / 20.0)), SLIPWAY_OK);
    ASSERT_EQ(Push("convex", gradients), SLIPWAY_OK) << slipway_error_message();
    ASSERT_EQ(slipway_server_pull("convex"), SLIPWAY_OK) << slipway_error_message();
  }
  // All pushes have been applied between the two barriers, and none comes: all ranks get the same.
  ASSERT_EQ(slipway_barrier(SLIPWAY_ALL), SLIPWAY_OK);
  ASSERT_EQ(slipway_server_pull("convex"), SLIPWAY_OK);
  ASSERT_EQ(slipway_barrier(SLIPWAY_ALL), SLIPWAY_OK);
  EXPECT_TRUE(x.SameOnAllRanks());
  double worst = 0;
  x.ForEach([&](float value, std::int64_t i) {
    double mean = 0;
    for (int rank = 0; rank < Ranks(); ++rank) mean += center(rank, i) / Ranks();
    worst = std::max(worst, std::abs(value - mean));
  });
  EXPECT_LT(worst, 0.05);
  ASSERT_EQ(slipway_server_free("convex"), SLIPWAY_OK);
}

TEST(Servers, WorkBesideEachOtherAndBesideATeam) {
  Model<float> first({300});
  Model<double> second({1, 2, 3});
  Model<float> gradients({300});
  Model<double> more_gradients({1, 2, 3});
  std::vector<float> team(5000);
  const std::vector<std::int64_t> shape{5000};
  const auto of_team = Tensor("team", shape, team.data());
  ASSERT_EQ(Create("first", first, 1, 0), SLIPWAY_OK) << slipway_error_message();
  ASSERT_EQ(Create("second", second, 1, 2), SLIPWAY_OK) << slipway_error_message();
  ASSERT_EQ(slipway_register("beside", &of_team, 1, 0), SLIPWAY_OK) << slipway_error_message();
  gradients.ForEach([](float& value, std::int64_t) { value = static_cast<float>(-Rank()); });
  more_gradients.ForEach([](double& value, std::int64_t) { value = -1; });
  for (int step = 0; step < 10; ++step) {
    std::fill(team.begin(), team.end(), static_cast<float>(Rank()));
    ASSERT_EQ(slipway_submit("beside", 0), SLIPWAY_OK);
    ASSERT_EQ(Push("second", more_gradients), SLIPWAY_OK) << slipway_error_message();
    ASSERT_EQ(Push("first", gradients), SLIPWAY_OK) << slipway_error_message();
    ASSERT_EQ(slipway_server_pull("first"), SLIPWAY_OK) << slipway_error_message();
    ASSERT_EQ(slipway_server_pull("second"), SLIPWAY_OK) << slipway_error_message();
    ASSERT_EQ(slipway_wait("beside"), SLIPWAY_OK) << slipway_error_message();
    EXPECT_EQ(team[17], static_cast<float>(Ranks() - 1) / 2);
  }
  ASSERT_EQ(slipway_barrier(SLIPWAY_ALL), SLIPWAY_OK);
  ASSERT_EQ(slipway_server_pull("second"), SLIPWAY_OK);
  first.ForEach([](float value, std::int64_t) { EXPECT_NEAR(value, 5.0 * (Ranks() - 1), 1e-4); });
  second.ForEach([](double value, std::int64_t) { EXPECT_NEAR(value, 10, 1e-9); });
  ASSERT_EQ(slipway_unregister("beside"), SLIPWAY_OK);
  ASSERT_EQ(slipway_server_free("second"), SLIPWAY_OK);
  ASSERT_EQ(slipway_server_free("first"), SLIPWAY_OK);
}

TEST(Servers, OfNothingMakeSteps) {
  ASSERT_EQ(slipway_server_create("empty", nullptr, 0, 1, 0), SLIPWAY_OK) << slipway_error_message();
  for (int step = 0; step < 3; ++step) {
    ASSERT_EQ(slipway_server_push("empty", nullptr, 0), SLIPWAY_OK) << slipway_error_message();
    ASSERT_EQ(slipway_server_pull("empty"), SLIPWAY_OK) << slipway_error_message();
  }
  ASSERT_EQ(slipway_server_free("empty"), SLIPWAY_OK);
}

double ProcessorSeconds() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

TEST(Servers, CostLittleWhenNobodyAsks) {
  Model<float> parameters({100000});
  ASSERT_EQ(Create("idle", parameters, 1, 0), SLIPWAY_OK) << slipway_error_message();
  MPI_Barrier(MPI_COMM_WORLD);
  std::this_thread::sleep_for(milliseconds(50));
  const double before = ProcessorSeconds();
  const auto begin = std::chrono::steady_clock::now();
  std::this_thread::sleep_for(milliseconds(500));
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
  const double share = (ProcessorSeconds() - before) / elapsed.count();
  RecordProperty("share_of_a_core", std::to_string(share));
  EXPECT_LT(share, 0.05);
  ASSERT_EQ(slipway_server_free("idle"), SLIPWAY_OK);
}

TEST(ServerErrors, AreNamedOnAllRanks) {
  Model<float> parameters({10, 3});
  const int last = Ranks() - 1;
  const bool odd_one = Rank() == last;
  const std::string who = Ranks() > 1 ? "rank " + std::to_string(last) + ": " : "";
  ExpectRefused(Create("", parameters, 1, 0), SLIPWAY_ERROR_ARGUMENT, "has no name");
  ExpectRefused(Create("x", parameters, odd_one ? -1.0 : 1.0, 0), SLIPWAY_ERROR_ARGUMENT,
                who + "the learning rate is -1");
  ExpectRefused(Create("x", parameters, NAN, 0), SLIPWAY_ERROR_ARGUMENT, "the learning rate is nan");
  ExpectRefused(Create("x", parameters, 1, -1), SLIPWAY_ERROR_ARGUMENT, "the staleness is negative");
  ExpectRefused(slipway_server_create("x", nullptr, 2, 1, 0), SLIPWAY_ERROR_ARGUMENT, "a null pointer");
  std::int64_t number = 0;
  const slipway_tensor integer{"n", SLIPWAY_INT64, 0, nullptr, &number};
  ExpectRefused(slipway_server_create("x", &integer, 1, 1, 0), SLIPWAY_ERROR_ARGUMENT, "'n' is of int64");
  if (Ranks() > 1) {
    Model<float> others({10, 4});
    ExpectRefused(Create("x", odd_one ? others : parameters, 1, 0), SLIPWAY_ERROR_MISMATCH,
                  who + "tensor 1 is 't1 float32 [4]', but 't1 float32 [3]' on rank 0");
    ExpectRefused(Create("x", parameters, 1, odd_one ? 2 : 1), SLIPWAY_ERROR_MISMATCH, "staleness 2");
    ExpectRefused(Create("x", parameters, odd_one ? 2 : 1, 0), SLIPWAY_ERROR_MISMATCH, "rate 2");
  }
  ASSERT_EQ(Create("x", parameters, 1, 0), SLIPWAY_OK) << slipway_error_message();
  ExpectRefused(Create("x", parameters, 1, 0), SLIPWAY_ERROR_STATE, "there is a parameter server 'x' already");
  ExpectRefused(slipway_server_free("y"), SLIPWAY_ERROR_STATE, "there is no parameter server 'y'");
  ExpectRefused(slipway_server_free(nullptr), SLIPWAY_ERROR_ARGUMENT, "has no name");
  ASSERT_EQ(slipway_server_free("x"), SLIPWAY_OK) << slipway_error_message();
  EXPECT_EQ(slipway_server_pull("x"), SLIPWAY_ERROR_STATE);
}

TEST(ServerErrors, OfOneRankAloneHarmNobody) {
  Model<float> parameters({10, 3});
  Model<float> gradients({10, 3});
  ASSERT_EQ(Create("x", parameters, 1, 0), SLIPWAY_OK) << slipway_error_message();
  Model<float> too_many({10, 3, 1});
  Model<float> others({10, 4});
  Model<double> wide({10, 3});
  const auto refused = [](int result, const std::string& text) {
    EXPECT_EQ(result, SLIPWAY_ERROR_ARGUMENT);
    EXPECT_NE(std::string(slipway_error_message()).find(text), std::string::npos) << slipway_error_message();
  };
  if (Rank() == 0) {
    refused(Push("x", too_many), "3 gradients for 2 parameters");
    refused(Push("x", others), "gradient 1 is 't1 float32 [4]', but the parameter is 't1 float32 [3]'");
    refused(Push("x", wide), "gradient 0 is 't0 float64 [10]'");
    refused(slipway_server_push("x", nullptr, 2), "a null pointer");
    refused(slipway_server_push(nullptr, nullptr, 0), "has no name");
    refused(slipway_server_set_rate("x", -2), "the learning rate is -2");
    refused(slipway_server_lead("x", nullptr), "null pointer");
    EXPECT_EQ(Push("y", gradients), SLIPWAY_ERROR_STATE);
  }
  for (int step = 0; step < 2; ++step) {
    ASSERT_EQ(Push("x", gradients), SLIPWAY_OK) << slipway_error_message();
    ASSERT_EQ(slipway_server_pull("x"), SLIPWAY_OK) << slipway_error_message();
  }
  ASSERT_EQ(slipway_server_free("x"), SLIPWAY_OK) << slipway_error_message();
}

}  // namespace
}  // namespace slipway::test
