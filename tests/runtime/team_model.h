/// A team whose results are known.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "tests/runtime/ranks.h"

namespace slipway::test {

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

inline void Unregister(const char* team) { EXPECT_EQ(slipway_unregister(team), SLIPWAY_OK) << slipway_error_message(); }

inline bool Delivered(const char* team) {
  int delivered = -1;
  EXPECT_EQ(slipway_delivered(team, &delivered), SLIPWAY_OK);
  return delivered == 1;
}

}  // namespace slipway::test
