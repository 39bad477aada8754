// Steps of a team: overlapped submission, delayed gradients and their schedule, several teams, compression, clipping.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include "tests/runtime/ranks.h"

namespace slipway::test {
namespace {

/// Tensors of some sizes, in ordinary or in shared memory.
class TeamModel {
 public:
  explicit TeamModel(std::vector<std::int64_t> sizes, bool shared = false) : sizes_(std::move(sizes)), shared_(shared) {
    const auto total = std::accumulate(sizes_.begin(), sizes_.end(), std::int64_t{0});
    if (shared) {
      void* memory = nullptr;
      EXPECT_EQ(slipway_alloc(total * 4, &memory), SLIPWAY_OK);
      first_ = static_cast<float*>(memory);
    } else {
      memory_.resize(static_cast<std::size_t>(total));
      first_ = memory_.data();
    }
    std::int64_t start = 0;
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
      names_.push_back("t" + std::to_string(i));
      data_.push_back(first_ + start);
      start += sizes_[i];
    }
  }
  TeamModel(const TeamModel&) = delete;
  TeamModel& operator=(const TeamModel&) = delete;
  ~TeamModel() {
    if (shared_) slipway_free(first_);
  }

  int Register(const char* team, std::int64_t total_steps = 0, const char* settings = nullptr) {
    std::vector<slipway_tensor> tensors;
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
      tensors.push_back({names_[i].c_str(), SLIPWAY_FLOAT32, 1, &sizes_[i], data_[i]});
    }
    const int result = slipway_register(team, tensors.data(), static_cast<int>(tensors.size()), total_steps);
    return result != SLIPWAY_OK || settings == nullptr ? result : slipway_configure_team(team, settings);
  }
  int tensors() const { return static_cast<int>(sizes_.size()); }
  std::int64_t size(int tensor) const { return sizes_[static_cast<std::size_t>(tensor)]; }
  float* data(int tensor) { return data_[static_cast<std::size_t>(tensor)]; }

  static float Gradient(int rank, int tensor, std::int64_t index, std::int64_t step) {
    return static_cast<float>(rank * 8 + tensor * 16 + static_cast<int>(index % 7) + static_cast<int>(step) * 64);
  }
  void FillTensor(int tensor, std::int64_t step) {
    for (std::int64_t i = 0; i < size(tensor); ++i) data(tensor)[i] = Gradient(Rank(), tensor, i, step);
  }
  void Fill(std::int64_t step) {
    for (int tensor = 0; tensor < tensors(); ++tensor) FillTensor(tensor, step);
  }
  /// Elements that are not the sum over `steps` of the mean over the ranks, times `factor`.
  std::int64_t WrongOnes(const std::vector<std::int64_t>& steps, double factor = 1) {
    std::int64_t wrong = 0;
    for (int tensor = 0; tensor < tensors(); ++tensor) {
      for (std::int64_t i = 0; i < size(tensor); ++i) {
        double expected = 0;
        for (const auto step : steps) {
          for (int rank = 0; rank < Ranks(); ++rank) expected += Gradient(rank, tensor, i, step) * factor / Ranks();
        }
        if (std::abs(data(tensor)[i] - expected) > std::abs(expected) * 1e-5) ++wrong;
      }
    }
    return wrong;
  }

 private:
  std::vector<std::int64_t> sizes_;
  bool shared_;
  std::vector<float> memory_;
  float* first_ = nullptr;
  std::vector<std::string> names_;
  std::vector<float*> data_;
};

void Unregister(const char* team) { EXPECT_EQ(slipway_unregister(team), SLIPWAY_OK) << slipway_error_message(); }

bool Delivered(const char* team) {
  int delivered = -1;
  EXPECT_EQ(slipway_delivered(team, &delivered), SLIPWAY_OK);
  return delivered == 1;
}

class Teams : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Memory, Teams, testing::Bool(),
                         [](const auto& shared) { return shared.param ? "shared" : "ordinary"; });

TEST_P(Teams, GiveTheMeanInEveryStep) {
  TeamModel model({1000, 0, 3, 200003, 64}, GetParam());
  ASSERT_EQ(model.Register("steps", 0, R"({"bucket_bytes": 4096})"), SLIPWAY_OK) << slipway_error_message();
  for (int step = 0; step < 5; ++step) {
    model.Fill(step);
    ASSERT_EQ(slipway_gradients("steps"), SLIPWAY_OK) << slipway_error_message();
    EXPECT_EQ(model.WrongOnes({step}), 0) << "step " << step;
    EXPECT_TRUE(Delivered("steps"));
  }
  Unregister("steps");
}

TEST_P(Teams, TakeTensorsInAnyOrderWhileTheProgramComputes) {
  TeamModel model({5000, 100, 30000, 7, 12000, 1}, GetParam());
  ASSERT_EQ(model.Register("any", 0, R"({"bucket_bytes": 10000})"), SLIPWAY_OK);
  std::mt19937 random(static_cast<unsigned>(Rank()) * 17 + 3);
  for (int step = 0; step < 20; ++step) {
    std::vector<int> order(static_cast<std::size_t>(model.tensors()));
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    for (const int tensor : order) {
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 500));
      model.FillTensor(tensor, step);
      if (random() % 5 != 0) {
        ASSERT_EQ(slipway_submit("any", tensor), SLIPWAY_OK) << slipway_error_message();
      }
    }
    ASSERT_EQ(slipway_wait("any"), SLIPWAY_OK) << slipway_error_message();
    EXPECT_EQ(model.WrongOnes({step}), 0) << "step " << step;
  }
  Unregister("any");
}

TEST_P(Teams, CopyWhatLiesElsewhere) {
  TeamModel model({3'000'001, 100, 7, 1, 40}, GetParam());  // the first is larger than caches
  ASSERT_EQ(model.Register("elsewhere"), SLIPWAY_OK);
  for (int step = 0; step < 3; ++step) {
    for (int tensor = 0; tensor < model.tensors() - 1; ++tensor) {
      // At every distance from a line of the cache.
      std::vector<float> source(static_cast<std::size_t>(model.size(tensor) + step));
      for (std::int64_t i = 0; i < model.size(tensor); ++i) {
        source[static_cast<std::size_t>(i + step)] = TeamModel::Gradient(Rank(), tensor, i, step);
      }
      ASSERT_EQ(slipway_submit_from("elsewhere", tensor, source.data() + step), SLIPWAY_OK) << slipway_error_message();
      std::fill(source.begin(), source.end(), -1.0F);  // may be changed at once
    }
    model.FillTensor(model.tensors() - 1, step);
    ASSERT_EQ(slipway_wait("elsewhere"), SLIPWAY_OK) << slipway_error_message();
    EXPECT_EQ(model.WrongOnes({step}), 0) << "step " << step;
  }
  Unregister("elsewhere");
}

/// In each step and on each rank elsewhere: in the tensor of another of the same size, in other shared memory, or in
/// ordinary memory.
class Elsewhere {
 public:
  Elsewhere(TeamModel& model, bool all_shared) : model_(model), all_shared_(all_shared) {
    for (int tensor = 0; tensor < model.tensors(); ++tensor) {
      const auto count = static_cast<std::size_t>(model.size(tensor));
      ordinary_.emplace_back(count);
      void* memory = nullptr;
      EXPECT_EQ(slipway_alloc(static_cast<std::int64_t>(count * sizeof(float)), &memory), SLIPWAY_OK);
      shared_.push_back(static_cast<float*>(memory));
    }
  }
  Elsewhere(const Elsewhere&) = delete;
  Elsewhere& operator=(const Elsewhere&) = delete;
  ~Elsewhere() {
    for (float* memory : shared_) slipway_free(memory);
  }

  void Submit(const char* team, std::int64_t step) {
    for (int tensor = 0; tensor < model_.tensors(); ++tensor) {
      float* place = PlaceOf(tensor, step);
      for (std::int64_t i = 0; i < model_.size(tensor); ++i) {
        place[i] = TeamModel::Gradient(Rank(), tensor, i, step);
      }
      ASSERT_EQ(slipway_submit_at(team, tensor, place), SLIPWAY_OK) << slipway_error_message();
    }
  }
  /// To where the model looks for results.
  void BringBack(std::int64_t step) {
    std::vector<std::vector<float>> results;
    for (int tensor = 0; tensor < model_.tensors(); ++tensor) {
      const float* place = PlaceOf(tensor, step);
      results.emplace_back(place, place + model_.size(tensor));
    }
    for (int tensor = 0; tensor < model_.tensors(); ++tensor) {
      std::copy(results[static_cast<std::size_t>(tensor)].begin(), results[static_cast<std::size_t>(tensor)].end(),
                model_.data(tensor));
    }
  }

 private:
  float* PlaceOf(int tensor, std::int64_t step) {
    const auto kind = (step + Rank() + tensor / 2) % (all_shared_ ? 2 : 3);
    if (kind == 0) return model_.data(tensor % 2 == 0 ? tensor + 1 : tensor - 1);
    return kind == 1 ? shared_[static_cast<std::size_t>(tensor)] : ordinary_[static_cast<std::size_t>(tensor)].data();
  }

  TeamModel& model_;
  bool all_shared_;
  std::vector<std::vector<float>> ordinary_;
  std::vector<float*> shared_;
};

TEST_P(Teams, TakeTensorsWhereverTheyAre) {
  for (const bool all_shared : {true, false}) {
    TeamModel model({5000, 5000, 3, 3, 70000, 70000, 1, 1}, GetParam());
    Elsewhere elsewhere(model, all_shared);
    ASSERT_EQ(model.Register("moving", 0, R"({"bucket_bytes": 30000})"), SLIPWAY_OK) << slipway_error_message();
    for (int step = 0; step < 7; ++step) {
      if (step % 3 == 2) {  // as registered, in between
        model.Fill(step);
      } else {
        elsewhere.Submit("moving", step);
      }
      ASSERT_EQ(slipway_wait("moving"), SLIPWAY_OK) << slipway_error_message();
      if (step % 3 != 2) elsewhere.BringBack(step);
      EXPECT_EQ(model.WrongOnes({step}), 0) << "step " << step;
    }
    Unregister("moving");
  }
}

TEST(DelayedTeams, DeliverToWhereTheTensorsAreNow) {
  TeamModel model({5000, 5000, 70, 70});
  Elsewhere elsewhere(model, false);
  ASSERT_EQ(model.Register("moving", 0, R"({"mode": "delayed", "bucket_bytes": 9000})"), SLIPWAY_OK);
  for (int step = 0; step < 6; ++step) {
    elsewhere.Submit("moving", step);
    ASSERT_EQ(slipway_wait("moving"), SLIPWAY_OK) << slipway_error_message();
    elsewhere.BringBack(step);
    const auto due = step > 0 ? std::vector<std::int64_t>{step - 1} : std::vector<std::int64_t>{};
    EXPECT_EQ(model.WrongOnes(due), 0) << "step " << step;
  }
  Unregister("moving");
}

TEST_P(Teams, DeliverDelayedGradientsLagStepsLater) {
  for (const int lag : {1, 3}) {
    TeamModel model({3000, 70, 20000}, GetParam());
    const auto settings = R"({"mode": "delayed", "bucket_bytes": 9000, "lag": )" + std::to_string(lag) + "}";
    ASSERT_EQ(model.Register("late", 0, settings.c_str()), SLIPWAY_OK) << slipway_error_message();
    for (int step = 0; step < 8; ++step) {
      model.Fill(step);
      ASSERT_EQ(slipway_gradients("late"), SLIPWAY_OK) << slipway_error_message();
      EXPECT_EQ(Delivered("late"), step >= lag);
      EXPECT_EQ(model.WrongOnes(step >= lag ? std::vector<std::int64_t>{step - lag} : std::vector<std::int64_t>{}), 0)
          << "step " << step << ", lag " << lag;
    }
    Unregister("late");
  }
}

/// First and last steps synchronous: every gradient counts exactly once.
TEST(DelayedTeams, FollowTheirSchedule) {
  TeamModel model({3000, 70});
  ASSERT_EQ(model.Register("schedule", 10, R"({"mode": "delayed", "sync_first": 2, "sync_last": "30%"})"), SLIPWAY_OK)
      << slipway_error_message();
  const std::vector<std::vector<std::int64_t>> expected{{0}, {1}, {}, {2}, {3}, {4}, {5}, {6, 7}, {8}, {9}};
  for (int step = 0; step < 10; ++step) {
    model.Fill(step);
    ASSERT_EQ(slipway_gradients("schedule"), SLIPWAY_OK) << slipway_error_message();
    const auto& steps = expected[static_cast<std::size_t>(step)];
    EXPECT_EQ(model.WrongOnes(steps), 0) << "step " << step;
    EXPECT_EQ(Delivered("schedule"), !steps.empty());
  }
  Unregister("schedule");
}

TEST(DelayedTeams, LoseNothingInARestart) {
  TeamModel model({3000, 70});
  ASSERT_EQ(model.Register("before", 0, R"({"mode": "delayed", "lag": 2})"), SLIPWAY_OK);
  for (int step = 0; step < 5; ++step) {
    model.Fill(step);
    ASSERT_EQ(slipway_gradients("before"), SLIPWAY_OK);
  }
  std::size_t size = 0;
  ASSERT_EQ(slipway_state_save("before", nullptr, &size), SLIPWAY_OK) << slipway_error_message();
  std::vector<char> state(size);
  ASSERT_EQ(slipway_state_save("before", state.data(), &size), SLIPWAY_OK) << slipway_error_message();
  EXPECT_TRUE(SameOnAllRanks(state.data(), state.size()));
  Unregister("before");

  TeamModel again({3000, 70});
  ASSERT_EQ(again.Register("after", 0, R"({"mode": "delayed", "lag": 2})"), SLIPWAY_OK);
  ASSERT_EQ(slipway_state_load("after", state.data(), state.size()), SLIPWAY_OK) << slipway_error_message();
  for (int step = 5; step < 9; ++step) {
    again.Fill(step);
    ASSERT_EQ(slipway_gradients("after"), SLIPWAY_OK);
    EXPECT_TRUE(Delivered("after"));
    EXPECT_EQ(again.WrongOnes({step - 2}), 0) << "step " << step;
  }
  ExpectRefused(slipway_state_load("after", state.data(), state.size() - 1), SLIPWAY_ERROR_ARGUMENT,
                "no state of team");
  ExpectRefused(slipway_state_load("after", state.data(), state.size()), SLIPWAY_ERROR_STATE, "made steps already");
  Unregister("after");
}

/// One synchronous, one delayed; even ranks work on the one first, odd ranks on the other.
TEST(SeveralTeams, AreInFlightInDifferentOrdersOnDifferentRanks) {
  TeamModel generator({40000, 100});
  TeamModel discriminator({30000, 3});
  ASSERT_EQ(generator.Register("gan generator"), SLIPWAY_OK);
  ASSERT_EQ(discriminator.Register("gan discriminator", 0, R"({"mode": "delayed"})"), SLIPWAY_OK);
  for (int step = 0; step < 10; ++step) {
    generator.Fill(step);
    discriminator.Fill(step);
    const char* names[] = {"gan generator", "gan discriminator"};
    const int first = Rank() % 2;
    for (const int team : {first, 1 - first}) {
      for (int tensor = 0; tensor < 2; ++tensor) ASSERT_EQ(slipway_submit(names[team], tensor), SLIPWAY_OK);
    }
    for (const int team : {1 - first, first})
      ASSERT_EQ(slipway_wait(names[team]), SLIPWAY_OK) << slipway_error_message();
    EXPECT_EQ(generator.WrongOnes({step}), 0);
    EXPECT_EQ(discriminator.WrongOnes(step > 0 ? std::vector<std::int64_t>{step - 1} : std::vector<std::int64_t>{}), 0);
  }
  Unregister("gan generator");
  Unregister("gan discriminator");
}

TEST(Accumulation, ExchangesEveryKthPass) {
  TeamModel model({1000, 5});
  ASSERT_EQ(model.Register("passes", 0, R"({"accumulate": 3})"), SLIPWAY_OK);
  for (int pass = 0; pass < 6; ++pass) {
    if (pass % 3 == 0) model.Fill(pass);  // the program adds up by itself
    const float before = model.data(0)[0];
    ASSERT_EQ(slipway_gradients("passes"), SLIPWAY_OK);
    EXPECT_EQ(Delivered("passes"), pass % 3 == 2);
    if (pass % 3 == 2) {
      EXPECT_EQ(model.WrongOnes({pass - 2}, 1.0 / 3), 0);
    } else {
      EXPECT_EQ(model.data(0)[0], before);
    }
  }
  Unregister("passes");
}

TEST(Compression, RoundsAFewTimesAtMost) {
  // Four roundings of half a unit of the last place: 4 / 2^9 and 4 / 2^11.
  for (const auto& [format, tolerance] : {std::pair("bf16", 1.0 / 100), std::pair("fp16", 1.0 / 500)}) {
    for (const char* mode : {"sync", "delayed"}) {
      TeamModel model({5000, 33});
      const auto settings = std::string(R"({"compress": ")") + format + R"(", "mode": ")" + mode + R"("})";
      ASSERT_EQ(model.Register("narrow", 0, settings.c_str()), SLIPWAY_OK) << slipway_error_message();
      for (int step = 0; step < 2; ++step) {
        for (std::int64_t i = 0; i < 5000; ++i) model.data(0)[i] = 1.0f / static_cast<float>(i + 3 + Rank());
        ASSERT_EQ(slipway_gradients("narrow"), SLIPWAY_OK);
      }
      EXPECT_TRUE(SameOnAllRanks(model.data(0), 5000 * sizeof(float)));
      for (std::int64_t i = 0; i < 5000; ++i) {
        double expected = 0;
        for (int rank = 0; rank < Ranks(); ++rank) expected += 1.0 / static_cast<double>(i + 3 + rank) / Ranks();
        ASSERT_NEAR(model.data(0)[i], expected, expected * tolerance) << format << " " << mode;
      }
      Unregister("narrow");
    }
  }
}

TEST(Clipping, BoundsTheGlobalNorm) {
  TeamModel model({1000, 77});
  ASSERT_EQ(model.Register("clipped", 0, R"({"clip_norm": 2.0})"), SLIPWAY_OK);
  double norm = -1;
  for (const float size : {0.001f, 10.0f}) {
    for (int tensor = 0; tensor < 2; ++tensor)
      std::fill_n(model.data(tensor), model.size(tensor), size * static_cast<float>(Rank() + 1));
    ASSERT_EQ(slipway_gradients("clipped"), SLIPWAY_OK);
    const double mean = size * (Ranks() + 1) / 2.0;
    const double expected = mean * std::sqrt(1077.0);
    ASSERT_EQ(slipway_gradient_norm("clipped", &norm), SLIPWAY_OK);
    EXPECT_NEAR(norm, expected, expected * 1e-5);
    EXPECT_NEAR(model.data(1)[76], expected > 2 ? mean * 2 / expected : mean, 1e-5);
    EXPECT_TRUE(SameOnAllRanks(model.data(0), 4000));
  }
  Unregister("clipped");
}

TEST(FiniteCheck, NamesTensorAndRank) {
  TeamModel model({1000, 77, 5});
  ASSERT_EQ(model.Register("finite", 0, R"({"check_finite": true})"), SLIPWAY_OK);
  model.Fill(0);
  ASSERT_EQ(slipway_gradients("finite"), SLIPWAY_OK);
  model.Fill(1);
  if (Rank() == Ranks() - 1) model.data(1)[76] = std::numeric_limits<float>::quiet_NaN();
  ExpectRefused(
      slipway_gradients("finite"), SLIPWAY_ERROR_NOT_FINITE,
      "tensor 't1' of team 'finite' holds NaN or infinity on rank " + std::to_string(Ranks() - 1) + " at step 1");
  model.Fill(2);
  ASSERT_EQ(slipway_gradients("finite"), SLIPWAY_OK) << slipway_error_message();
  EXPECT_EQ(model.WrongOnes({2}), 0);
  Unregister("finite");
}

TEST(FiniteCheck, RefusesWhatSixteenBitsCannotHold) {
  for (const std::string wire : {"fp16", "bf16"}) {
    TeamModel model({3, 5});
    const auto settings = R"({"check_finite": true, "compress": ")" + wire + R"("})";
    ASSERT_EQ(model.Register("narrow", 0, settings.c_str()), SLIPWAY_OK);
    model.Fill(1);
    if (Rank() == 0) model.data(1)[4] = 70000;
    const bool refused = wire == "fp16";
    EXPECT_EQ(slipway_gradients("narrow"), refused ? SLIPWAY_ERROR_NOT_FINITE : SLIPWAY_OK) << wire;
    model.Fill(2);
    EXPECT_EQ(slipway_gradients("narrow"), SLIPWAY_OK) << slipway_error_message();
    Unregister("narrow");
  }
}

/// The step with the NaN is dropped; those before and after it come in their time, also over a restart.
TEST(FiniteCheck, DropsOneDelayedStepAlone) {
  for (const int bad : {0, 3}) {
    for (const bool restarted : {false, true}) {
      TeamModel model({1000, 77});
      const char* settings = R"({"check_finite": true, "mode": "delayed", "lag": 2, "bucket_bytes": 512})";
      ASSERT_EQ(model.Register("dropped", 0, settings), SLIPWAY_OK) << slipway_error_message();
      for (int step = 0; step < 8; ++step) {
        model.Fill(step);
        if (step == bad && Rank() == 0) model.data(0)[5] = std::numeric_limits<float>::infinity();
        EXPECT_EQ(slipway_gradients("dropped"), step == bad ? SLIPWAY_ERROR_NOT_FINITE : SLIPWAY_OK);
        const bool due = step >= 2 && step - 2 != bad;
        EXPECT_EQ(model.WrongOnes(due ? std::vector<std::int64_t>{step - 2} : std::vector<std::int64_t>{}), 0)
            << "step " << step << ", bad " << bad;
        if (step != bad + 1 || !restarted) continue;
        std::size_t size = 0;
        ASSERT_EQ(slipway_state_save("dropped", nullptr, &size), SLIPWAY_OK);
        std::vector<char> state(size);
        ASSERT_EQ(slipway_state_save("dropped", state.data(), &size), SLIPWAY_OK);
        Unregister("dropped");
        ASSERT_EQ(model.Register("dropped", 0, settings), SLIPWAY_OK);
        ASSERT_EQ(slipway_state_load("dropped", state.data(), size), SLIPWAY_OK) << slipway_error_message();
      }
      Unregister("dropped");
    }
  }
}

/// Lengths and counts of a file are anybody's.
TEST(TeamErrors, HostileStatesAreRefused) {
  TeamModel model({10});
  ASSERT_EQ(model.Register("hostile", 0, R"({"mode": "delayed", "lag": 2})"), SLIPWAY_OK);
  std::size_t size = 0;
  ASSERT_EQ(slipway_state_save("hostile", nullptr, &size), SLIPWAY_OK);
  std::vector<std::int64_t> words(size / 8 + 10);  // magic, step, pending, bytes of each
  ASSERT_EQ(slipway_state_save("hostile", words.data(), &size), SLIPWAY_OK);
  const auto refuse = [&](std::int64_t step, std::int64_t pending, std::size_t bytes) {
    auto changed = words;
    changed[1] = step;
    changed[2] = pending;
    changed[3] = 40;
    ExpectRefused(slipway_state_load("hostile", changed.data(), bytes), SLIPWAY_ERROR_ARGUMENT, "no state of team");
  };
  refuse(0, 1, size + 40);  // more on its way than steps made
  refuse(-1, 0, size);
  refuse(std::numeric_limits<std::int64_t>::max(), 0, size);
  refuse(9, 3, size + 80);
  refuse(9, -1, size);
  refuse(9, 1, size + 39);
  refuse(0, 0, 7);
  Unregister("hostile");
}

TEST(TeamErrors, StatesOfOtherStepsOnOtherRanksAreRefusedOnAll) {
  if (Ranks() == 1) GTEST_SKIP() << "needs other ranks";
  TeamModel model({10});
  ASSERT_EQ(model.Register("apart"), SLIPWAY_OK);
  std::size_t size = 64;
  std::vector<std::int64_t> words(8);
  ASSERT_EQ(slipway_state_save("apart", words.data(), &size), SLIPWAY_OK);
  words[1] = Rank() == Ranks() - 1 ? 5 : 4;
  ExpectRefused(slipway_state_load("apart", words.data(), size), SLIPWAY_ERROR_MISMATCH, "after step 5");
  Unregister("apart");
}

TEST(TeamErrors, AConfigurationAfterASubmissionOnOneRankIsRefusedOnAll) {
  TeamModel model({10, 20});
  ASSERT_EQ(model.Register("begun"), SLIPWAY_OK);
  if (Rank() == 0) {
    ASSERT_EQ(slipway_submit("begun", 0), SLIPWAY_OK);
  }
  ExpectRefused(slipway_configure_team("begun", "{}"), SLIPWAY_ERROR_STATE, "made steps already");
  ASSERT_EQ(slipway_wait("begun"), SLIPWAY_OK);
  Unregister("begun");
}

TEST(TeamErrors, OtherWordsForTheSameSettingsAreTheSame) {
  TeamModel model({10, 20});
  ASSERT_EQ(model.Register("words"), SLIPWAY_OK);
  const char* settings = Rank() == 0 ? "{\"lag\":2}" : "{ \"lag\": 2 }\n\n";
  EXPECT_EQ(slipway_configure_team("words", settings), SLIPWAY_OK) << slipway_error_message();
  Unregister("words");
}

TEST(TeamErrors, TensorsThatOverlapAreRefused) {
  float values[10] = {};
  const std::int64_t shape[] = {6};
  const slipway_tensor tensors[] = {{"a", SLIPWAY_FLOAT32, 1, shape, values + 4},
                                    {"b", SLIPWAY_FLOAT32, 1, shape, values}};
  ExpectRefused(slipway_register("overlap", tensors, 2, 0), SLIPWAY_ERROR_ARGUMENT,
                "tensors 'b' and 'a' overlap in memory");
  ExpectRefused(slipway_server_create("overlap", tensors, 2, 0.1, 0), SLIPWAY_ERROR_ARGUMENT, "overlap in memory");
}

TEST(TeamErrors, AreNamed) {
  TeamModel model({100, 5});
  ASSERT_EQ(model.Register("errors"), SLIPWAY_OK);
  ExpectRefused(slipway_configure_team("errors", R"({"lag": 0})"), SLIPWAY_ERROR_ARGUMENT,
                "lag is 0, not a number from 1");
  ExpectRefused(slipway_configure_team("errors", R"({"mode": "later"})"), SLIPWAY_ERROR_ARGUMENT,
                "one of sync delayed");
  ExpectRefused(slipway_configure_team("errors", "{"), SLIPWAY_ERROR_ARGUMENT, "no JSON");
  ExpectRefused(slipway_configure_team("errors", R"({"mode": "delayed", "sync_first": "10%"})"), SLIPWAY_ERROR_ARGUMENT,
                "pass their number to slipway_register");
  EXPECT_EQ(slipway_submit("errors", 2), SLIPWAY_ERROR_ARGUMENT);
  ExpectRefused(slipway_submit_from("errors", 2, model.data(0)), SLIPWAY_ERROR_ARGUMENT, "no tensor 2");
  ExpectRefused(slipway_submit_from("errors", 1, nullptr), SLIPWAY_ERROR_ARGUMENT, "a null pointer");
  ExpectRefused(slipway_submit_at("errors", 2, model.data(0)), SLIPWAY_ERROR_ARGUMENT, "no tensor 2");
  ExpectRefused(slipway_submit_at("errors", 1, nullptr), SLIPWAY_ERROR_ARGUMENT, "a null pointer");
  EXPECT_EQ(slipway_submit("nobody", 0), SLIPWAY_ERROR_STATE);
  ASSERT_EQ(slipway_submit("errors", 1), SLIPWAY_OK) << slipway_error_message();
  EXPECT_EQ(slipway_submit("errors", 1), SLIPWAY_ERROR_STATE);
  EXPECT_EQ(slipway_submit_from("errors", 1, model.data(0)), SLIPWAY_ERROR_STATE);
  ExpectRefused(slipway_unregister("errors"), SLIPWAY_ERROR_STATE, "in flight");
  ExpectRefused(slipway_finalize(), SLIPWAY_ERROR_STATE, "team 'errors' has a step in flight");
  ASSERT_EQ(slipway_wait("errors"), SLIPWAY_OK);
  ExpectRefused(slipway_configure_team("errors", R"({"accumulate": 2})"), SLIPWAY_ERROR_STATE, "made steps already");
  double norm = 0;
  EXPECT_EQ(slipway_gradient_norm("errors", &norm), SLIPWAY_ERROR_STATE);
  Unregister("errors");
  EXPECT_EQ(slipway_gradients("errors"), SLIPWAY_ERROR_STATE);
}

TEST(TeamErrors, ATeamOfNoTensorsMakesSteps) {
  ASSERT_EQ(slipway_register("empty", nullptr, 0, 0), SLIPWAY_OK);
  for (int step = 0; step < 3; ++step) ASSERT_EQ(slipway_gradients("empty"), SLIPWAY_OK) << slipway_error_message();
  Unregister("empty");
}

}  // namespace
}  // namespace slipway::test
