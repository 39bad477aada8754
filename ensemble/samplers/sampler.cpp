#include "ensemble/samplers/sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <set>

#include "core/error.h"
#include "core/nearest_word.h"
#include "ensemble/samplers/first_points.h"
#include "ensemble/search/cube/encoding.h"
#include "ensemble/search/cube/free_points.h"
#include "ensemble/search/cube/grid_walk.h"
#include "ensemble/search/evolution/cmaes.h"
#include "ensemble/search/evolution/genetic.h"
#include "ensemble/search/gaussian_process/gp_proposer.h"
#include "ensemble/search/numbers/sobol.h"
#include "ensemble/search/portfolio/restarts.h"
#include "ensemble/search/proposer.h"
#include "ensemble/search/quadratic/quadratic_search.h"
#include "ensemble/search/results/observations.h"
#include "ensemble/search/tpe/tpe.h"

namespace slipway::ensemble {
namespace {

/// Proposes the next point of the walk that no earlier trial has, whatever its origin. Nothing: all points are taken.
class GridSampler final : public Sampler {
 public:
  GridSampler(SearchSpace space, int points_per_range) : space_(std::move(space)), points_per_range_(points_per_range) {
    Rewind();
  }

  std::optional<Point> Ask(TrialNumber trial, const TrialTable& earlier) override {
    if (trial < asked_) Rewind();
    asked_ = trial;
    while (at_point_ && earlier.ContainsConfiguration(ConfigurationHash(walk_->point()))) at_point_ = walk_->Next();
    return at_point_ ? std::optional(walk_->point()) : std::nullopt;
  }

 private:
  void Rewind() {
    walk_.emplace(space_, points_per_range_);
    at_point_ = walk_->Next();
  }

  SearchSpace space_;
  int points_per_range_;
  std::optional<GridWalk> walk_;
  bool at_point_ = false;  // the walk has not ended
  TrialNumber asked_ = 0;  // trials before it have all points that the walk has passed
};

/// Draws each active parameter evenly from its domain. Repeats a point of an earlier trial only if no other is found.
class RandomSampler final : public Sampler {
 public:
  RandomSampler(SearchSpace space, std::uint64_t seed) : space_(std::move(space)), seed_(seed) {}

  std::optional<Point> Ask(TrialNumber trial, const TrialTable& earlier) override {
    return RandomFreePoint(space_, seed_, trial, earlier);
  }

 private:
  SearchSpace space_;
  std::uint64_t seed_;
};

/// Trial n gets scrambled Sobol point n, with a dimension for each axis; those of inactive parameters are not used.
/// A point that is not free, because an earlier trial has it or a constraint forbids it, is replaced by a random one.
class SobolSampler final : public Sampler {
 public:
  SobolSampler(SearchSpace space, std::uint64_t seed)
      : encoding_(std::move(space)), seed_(seed), points_(seed, encoding_.axes().size()) {}

  std::optional<Point> Ask(TrialNumber trial, const TrialTable& earlier) override {
    Point point = encoding_.Decode(UnitToAxes(points_.Point(static_cast<std::uint64_t>(trial)), encoding_.axes()));
    if (IsFree(encoding_.space(), point, earlier)) return point;
    return RandomFreePoint(encoding_.space(), seed_, trial, earlier);
  }

 private:
  Encoding encoding_;
  std::uint64_t seed_;
  ScrambledSobol points_;
};

/// A sampler around a search method. The first `start` trials get scrambled Sobol points, and so do all trials until
/// the first one is complete. Then the method proposes. It has 32 attempts to propose a free point; then a random free
/// point is taken. A point is free if no earlier trial has it and no constraint forbids it.
class LearningSampler final : public Sampler {
 public:
  using MakeProposer = std::function<std::unique_ptr<Proposer>(const Encoding& encoding, std::uint64_t seed)>;

  /// Reads goals and seed from `settings`.
  LearningSampler(const SamplerSettings& settings, SearchSpace space, TrialNumber start, const MakeProposer& make)
      : encoding_(std::move(space)),
        log_(encoding_, settings.goal, settings.further),
        seed_(settings.seed),
        start_(start),
        first_(encoding_.space(), settings.seed),
        proposer_(make(encoding_, settings.seed)) {}

  std::optional<Point> Ask(TrialNumber trial, const TrialTable& earlier) override {
    const auto& known = log_.Update(trial, earlier);
    proposed_ = false;
    if (trial < start_ || known.complete.empty() || encoding_.axes().empty()) return first_.Ask(trial, earlier);
    for (std::uint32_t attempt = 0; attempt < kAttempts; ++attempt) {
      auto point = encoding_.Decode(proposer_->Propose(known, trial, attempt));
      if (!IsFree(encoding_.space(), point, earlier)) continue;
      proposed_ = true;
      return point;
    }
    return RandomFreePoint(encoding_.space(), seed_, trial, earlier);
  }

  std::string_view Origin() const override { return proposed_ ? proposer_->Origin() : std::string_view(); }

 private:
  static constexpr std::uint32_t kAttempts = 32;

  Encoding encoding_;
  ObservationLog log_;
  std::uint64_t seed_;
  TrialNumber start_;
  SobolSampler first_;
  std::unique_ptr<Proposer> proposer_;
  bool proposed_ = false;  // the last ask's point is the proposer's
};

struct SamplerEntry {
  std::string_view name;
  std::unique_ptr<Sampler> (*make)(const SamplerSettings& settings, SearchSpace space);
};

/// Makes a LearningSampler; the method is asked after `kStart` trials.
template <class Method, TrialNumber kStart>
std::unique_ptr<Sampler> Learning(const SamplerSettings& settings, SearchSpace space) {
  return std::make_unique<LearningSampler>(
      settings, std::move(space), kStart,
      [](const Encoding& encoding, std::uint64_t seed) { return std::make_unique<Method>(encoding, seed); });
}

/// All samplers and their names; `auto` stands for one of them.
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

// A larger grid is taken for a mistake.
constexpr std::int64_t kLargestGrid = 1'000'000;
// They take less than a second, also with first points.
constexpr std::uint64_t kMostStepsToTell = 300'000;

bool FitsGrid(const SearchSpace& space, std::int64_t trials) {
  if (!IsDiscrete(space)) return false;
  const std::int64_t most = std::min(trials, kLargestGrid);
  return CountGrid(space, /*points_per_range=*/2, /*limit=*/most + 1) <= most;
}

/// The number of different first points and further points of a walk, up to `most`.
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
    throw Error(ErrorKind::kUsage, fmt::format("grid_points must be at least 2, not {}", settings.grid_points),
                "set grid_points to 2 or more");
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
