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
#include "tests/runtime/team_model.h"

namespace slipway::test {
namespace {

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

/// They had the tensors of PyTorch in the reverse order, or the parts of those on a GPU.
class EarlierStates : public testing::TestWithParam<std::int64_t> {};
INSTANTIATE_TEST_SUITE_P(Versions, EarlierStates, testing::Values(0x31657461747377, 0x32657461747377));

TEST_P(EarlierStates, AreRefusedWithDelayedGradients) {
  for (const std::int64_t steps : {0, 1}) {
    TeamModel model({10});
    ASSERT_EQ(model.Register("earlier", 0, R"({"mode": "delayed"})"), SLIPWAY_OK);
    for (std::int64_t step = 0; step < steps; ++step) ASSERT_EQ(slipway_gradients("earlier"), SLIPWAY_OK);
    std::vector<std::int64_t> words(20);
    std::size_t size = words.size() * 8;
    ASSERT_EQ(slipway_state_save("earlier", words.data(), &size), SLIPWAY_OK);
    Unregister("earlier");
    ASSERT_EQ(model.Register("earlier", 0, R"({"mode": "delayed"})"), SLIPWAY_OK);
    words[0] = GetParam();
    if (steps == 0) {
      EXPECT_EQ(slipway_state_load("earlier", words.data(), size), SLIPWAY_OK) << slipway_error_message();
    } else {
      ExpectRefused(slipway_state_load("earlier", words.data(), size), SLIPWAY_ERROR_ARGUMENT,
                    "delayed gradients of an earlier version");
    }
    Unregister("earlier");
  }
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

TEST(TeamErrors, AStepThatOneRankHasBegunIsNamedAtTheEnd) {
  TeamModel model({10, 20});
  ASSERT_EQ(model.Register("begun"), SLIPWAY_OK);
  if (Rank() == 0) {
    ASSERT_EQ(slipway_submit("begun", 0), SLIPWAY_OK);
  }
  if (slipway_size() == 1) {
    ExpectRefused(slipway_finalize(), SLIPWAY_ERROR_STATE, "team 'begun' has a step in flight");
  } else {
    ExpectRefused(slipway_finalize(), SLIPWAY_ERROR_MISMATCH,
                  "team 'begun' has step 0 in flight on rank 0, but not on rank 1");
  }
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
  ExpectRefused(slipway_configure_team("errors", R"({"clip_nrm": 1})"), SLIPWAY_ERROR_ARGUMENT,
                "there is no setting 'clip_nrm'; did you mean 'clip_norm'?");
  ExpectRefused(slipway_configure_team("errors", R"({"network": "fat_tree"})"), SLIPWAY_ERROR_ARGUMENT,
                "there is no setting 'network'");
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
