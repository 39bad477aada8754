#include "ensemble/samplers/sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/error.h"
#include "core/nearest_word.h"
#include "ensemble/samplers/grid_sampler.h"
#include "ensemble/samplers/random_sampler.h"

namespace slipway::ensemble {
namespace {

const std::array<std::string, 3> kSamplers = {"auto", "grid", "random"};

bool IsContinuous(const Parameter& parameter) {
  return std::holds_alternative<UniformDomain>(parameter.domain) || std::holds_alternative<LogDomain>(parameter.domain);
}

// Nobody means a larger grid.
constexpr std::int64_t kLargestGrid = 1'000'000;

bool FitsGrid(const SearchSpace& space, std::int64_t trials) {
  const auto& parameters = space.parameters();
  if (std::any_of(parameters.begin(), parameters.end(), IsContinuous)) return false;
  const std::int64_t most = std::min(trials, kLargestGrid);
  return CountGrid(space, /*points_per_range=*/2, /*limit=*/most + 1) <= most;
}

}  // namespace

std::string ResolveSampler(const SamplerSettings& settings, const SearchSpace& space) {
  if (std::find(kSamplers.begin(), kSamplers.end(), settings.name) == kSamplers.end()) {
    throw Error(ErrorKind::kUsage,
                fmt::format("unknown sampler '{}'{}", settings.name, SuggestWord(settings.name, kSamplers)));
  }
  if (settings.name != "auto") return settings.name;
  return FitsGrid(space, settings.trials) ? "grid" : "random";
}

std::int64_t GridSize(const SearchSpace& space, int grid_points) {
  const std::int64_t size = CountGrid(space, grid_points, kLargestGrid + 1);
  if (size <= kLargestGrid) return size;
  throw Error(ErrorKind::kUsage, fmt::format("the grid has more than {} points", kLargestGrid),
              "set 'trials', or make the space smaller");
}

std::unique_ptr<Sampler> MakeSampler(const SamplerSettings& settings, SearchSpace space) {
  if (settings.grid_points < 2) {
    throw Error(ErrorKind::kUsage, fmt::format("grid_points must be at least 2, not {}", settings.grid_points));
  }
  if (ResolveSampler(settings, space) == "grid") {
    return std::make_unique<GridSampler>(std::move(space), settings.grid_points);
  }
  return std::make_unique<RandomSampler>(std::move(space), settings.seed);
}

}  // namespace slipway::ensemble
