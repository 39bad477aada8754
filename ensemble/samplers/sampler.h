/// The port of the samplers: which configuration the next trial gets.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ensemble/model/trial_table.h"
#include "ensemble/space/space.h"

namespace slipway::ensemble {

/// A sampler holds no state that its rows could not give again: after a restart the same rows lead to the same asks.
class Sampler {
 public:
  virtual ~Sampler() = default;
  /// The configuration of trial number `trial`, given all earlier ones. Nothing: the space is exhausted.
  virtual std::optional<Point> Ask(TrialNumber trial, const TrialTable& earlier) = 0;
  /// Which of its methods the last ask's configuration comes from, to be kept as TrialRecord::origin; empty when there
  /// is only one.
  virtual std::string_view Origin() const { return {}; }
};

struct SamplerSettings {
  std::string name = "auto";  ///< one of SamplerNames()
  std::uint64_t seed = 1;
  int grid_points = 3;  ///< how many values `grid` takes of a uniform or log range; 3: ends and middle
  std::int64_t trials = 1;
  Goal goal = Goal::kMaximize;
  std::vector<Goal> further = {};  ///< of the further objectives
  std::vector<Point> points = {};  ///< for the first trials, as the user wrote them: they may leave parameters out
};

/// "auto", then every sampler by its name.
const std::vector<std::string>& SamplerNames();

/// The sampler that `auto` stands for: `grid` when the space has no uniform or log range and not more points than
/// trials, else `portfolio`. Other names are returned as they are.
/// Errors: Error(kUsage) for an unknown name, listing what exists.
std::string ResolveSampler(const SamplerSettings& settings, const SearchSpace& space);

/// The number of different first points and of the grid's other points: the budget of an ensemble that names none.
/// Errors: Error(kUsage) beyond a million; of a point that is not one of the space.
std::int64_t GridSize(const SamplerSettings& settings, const SearchSpace& space);

/// The same, counted up to `most` only. Nothing: 300,000 steps on the grid, whose constraints may leave few points, do
/// not tell. Errors: Error(kUsage) of a point that is not one of the space.
std::optional<std::int64_t> GridSizeUpTo(std::int64_t most, const SamplerSettings& settings, const SearchSpace& space);

/// Errors: as ResolveSampler; grid_points below 2; a first point that is not one of the space, or a space without any
/// point that meets its constraints.
std::unique_ptr<Sampler> MakeSampler(const SamplerSettings& settings, SearchSpace space);

}  // namespace slipway::ensemble
