// Tensors of a team that lie elsewhere than where they were registered.

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/runtime/ranks.h"
#include "tests/runtime/team_model.h"

namespace slipway::test {
namespace {

class TensorsElsewhere : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Memory, TensorsElsewhere, testing::Bool(),
                         [](const auto& shared) { return shared.param ? "shared" : "ordinary"; });

TEST_P(TensorsElsewhere, AreCopied) {
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

TEST_P(TensorsElsewhere, AreTakenWhereverTheyAre) {
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

TEST(TensorsElsewhereDelayed, GetTheirResultsWhereTheyAreNow) {
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

}  // namespace
}  // namespace slipway::test
