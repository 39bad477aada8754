#include "ensemble/samplers/sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/error.h"
#include "core/nearest_word.h"
#include "ensemble/samplers/first_points.h"
#include "ensemble/samplers/grid_sampler.h"
#include "ensemble/samplers/learning_sampler.h"
#include "ensemble/samplers/random_sampler.h"
#include "ensemble/samplers/sobol_sampler.h"
#include "ensemble/search/cube/free_points.h"
#include "ensemble/search/cube/grid_walk.h"
#include "ensemble/search/evolution/cmaes.h"
#include "ensemble/search/evolution/genetic.h"
#include "ensemble/search/evolution/nsga2.h"
#include "ensemble/search/gaussian_process/gp_proposer.h"
#include "ensemble/search/portfolio/restarts.h"
#include "ensemble/search/quadratic/quadratic_search.h"
#include "ensemble/search/tpe/tpe.h"

namespace slipway::ensemble {
namespace {

struct SamplerEntry {
  std::string_view name;
  std::unique_ptr<Sampler> (*make)(const SamplerSettings& settings, SearchSpace space);
};

/// `kStart` trials fill the space before the method is asked.
template <class Method, TrialNumber kStart>
std::unique_ptr<Sampler> Learning(const SamplerSettings& settings, SearchSpace space) {
  return std::make_unique<LearningSampler>(
      settings, std::move(space), kStart,
      [](const Encoding& encoding, std::uint64_t seed) { return std::make_unique<Method>(encoding, seed); });
}

/// Each is named once, here; `auto` stands for one of them.
const SamplerEntry kSamplers[] = {
    {"grid",
     [](const SamplerSettings& settings, SearchSpace space) -> std::unique_ptr<Sampler> {
       return std::make_unique<GridSampler>(std::move(space), settings.grid_points);
     }},
    {"quadratic", Learning<QuadraticSearch, 1>},
    {"random",
     [](const SamplerSettings& settings, SearchSpace space) -> std::unique_ptr<Sampler> {
       return std::make_unique<RandomSampler>(std::move(space), settings.seed);
     }},
    {"sobol",
     [](const SamplerSettings& settings, SearchSpace space) -> std::unique_ptr<Sampler> {
       return std::make_unique<SobolSampler>(std::move(space), settings.seed);
     }},
    {"tpe", Learning<TpeProposer, 10>},
    {"cmaes", Learning<CmaesProposer, 0>},
    {"genetic", Learning<GeneticProposer, 10>},
    {"nsga2", Learning<Nsga2Proposer, 16>},
    {"gp", Learning<GpProposer, 0>},
    {"portfolio", Learning<Restarts, 0>},
};

// Nobody means a larger grid.
constexpr std::int64_t kLargestGrid = 1'000'000;
// Less than a second, also beside first points.
constexpr std::uint64_t kMostStepsToTell = 300'000;

bool FitsGrid(const SearchSpace& space, std::int64_t trials) {
  if (!IsDiscrete(space)) return false;
  const std::int64_t most = std::min(trials, kLargestGrid);
  return CountGrid(space, /*points_per_range=*/2, /*limit=*/most + 1) <= most;
}

/// The different first points and the other points of a walk, up to `most`.
std::int64_t CountOn(GridWalk& walk, std::int64_t most, const SamplerSettings& settings, const SearchSpace& space) {
  std::set<std::string> first;
  for (const auto& point : CompletedPoints(space, settings.points, settings.seed)) {
    first.insert(ConfigurationHash(point));
  }
  auto size = std::ssize(first);
  while (size < most && walk.Next()) {
    if (first.empty() || !first.contains(ConfigurationHash(walk.point()))) ++size;
  }
  return std::min<std::int64_t>(size, most);
}

}  // namespace

const std::vector<std::string>& SamplerNames() {
  static const auto names = [] {
    std::vector<std::string> all = {"auto"};
    for (const auto& entry : kSamplers) all.emplace_back(entry.name);
    return all;
  }();
  return names;
}

std::string ResolveSampler(const SamplerSettings& settings, const SearchSpace& space) {
  if (std::ranges::find(SamplerNames(), settings.name) == SamplerNames().end()) {
    throw Error(ErrorKind::kUsage,
                fmt::format("unknown sampler '{}'{}", settings.name, SuggestWord(settings.name, SamplerNames())));
  }
  if (settings.name != "auto") return settings.name;
  return FitsGrid(space, settings.trials) ? "grid" : "portfolio";
}

std::int64_t GridSize(const SamplerSettings& settings, const SearchSpace& space) {
  GridWalk walk(space, settings.grid_points);
  const auto size = CountOn(walk, kLargestGrid + 1, settings, space);
  if (size <= kLargestGrid) return size;
  throw Error(ErrorKind::kUsage, fmt::format("the grid has more than {} points", kLargestGrid),
              "set 'trials', or make the space smaller");
}

std::optional<std::int64_t> GridSizeUpTo(std::int64_t most, const SamplerSettings& settings, const SearchSpace& space) {
  GridWalk walk(space, settings.grid_points, kMostStepsToTell);
  const auto size = CountOn(walk, most, settings, space);
  return size < most && walk.has_given_up() ? std::nullopt : std::optional(size);
}

std::unique_ptr<Sampler> MakeSampler(const SamplerSettings& settings, SearchSpace space) {
  if (settings.grid_points < 2) {
    throw Error(ErrorKind::kUsage, fmt::format("grid_points must be at least 2, not {}", settings.grid_points));
  }
  CheckFeasible(space);
  const std::string name = ResolveSampler(settings, space);
  SamplerSettings complete = settings;
  complete.points = CompletedPoints(space, settings.points, settings.seed);
  auto sampler = std::ranges::find(kSamplers, name, &SamplerEntry::name)->make(complete, std::move(space));
  if (complete.points.empty()) return sampler;
  return std::make_unique<FirstPoints>(std::move(complete.points), std::move(sampler));
}

}  // namespace slipway::ensemble
