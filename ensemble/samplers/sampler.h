/// The port of the samplers: they choose the configuration of the next trial.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ensemble/model/trial_table.h"
#include "ensemble/space/space.h"

namespace slipway::ensemble {

/// All state of a sampler derives from the rows: after a restart, the same rows lead to the same configurations.
class Sampler {
 public:
  virtual ~Sampler() = default;
  /// The configuration of trial number `trial`, given all earlier ones. Nothing: the space is exhausted.
  virtual std::optional<Point> Ask(TrialNumber trial, const TrialTable& earlier) = 0;
  /// The method that chose the configuration of the last Ask, for TrialRecord::origin. Empty if the sampler has only
  /// one method.
  virtual std::string_view Origin() const { return {}; }
};

struct SamplerSettings {
  std::string name = "auto";  ///< one of SamplerNames()
  std::uint64_t seed = 1;
  int grid_points = 3;  ///< number of values that `grid` takes of a uniform or log range; 3: ends and middle
  std::int64_t trials = 1;
  Goal goal = Goal::kMaximize;
  std::vector<Goal> further = {};  ///< of the further objectives
  std::vector<Point> points = {};  ///< for the first trials, as the user wrote them; may leave parameters out
};

/// "auto", then the names of all samplers.
const std::vector<std::string>& SamplerNames();

/// Resolves `auto`: `grid` if the space has no uniform or log range and at most as many points as trials, else
/// `portfolio`. Other names are returned as they are.
/// Errors: Error(kUsage) for an unknown name, with the nearest name or all valid ones.
std::string ResolveSampler(const SamplerSettings& settings, const SearchSpace& space);

/// The number of different first points and further points of the grid: the budget of an ensemble without `trials`.
/// Errors: Error(kUsage) beyond a million; for a point outside of the space.
std::int64_t GridSize(const SamplerSettings& settings, const SearchSpace& space);

/// The same, counted up to `most`. Nothing: 300,000 steps on the grid were not enough; constraints may leave few
/// points.
/// Errors: Error(kUsage) for a point outside of the space.
std::optional<std::int64_t> GridSizeUpTo(std::int64_t most, const SamplerSettings& settings, const SearchSpace& space);

/// Makes the sampler of this name.
/// Errors: as ResolveSampler; grid_points below 2; a first point outside of the space; a space without any point that
///         meets its constraints.
std::unique_ptr<Sampler> MakeSampler(const SamplerSettings& settings, SearchSpace space);

}  // namespace slipway::ensemble
