#include "ensemble/search/cube/free_points.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/error.h"
#include "ensemble/model/random.h"
#include "ensemble/search/cube/grid_walk.h"

namespace slipway::ensemble {
namespace {

constexpr std::uint32_t kRedraws = 256;
constexpr std::uint32_t kMends = 32;          // draws of one parameter within one point
constexpr std::uint32_t kMostRedraws = 1024;  // when none of the first points meets the constraints
constexpr std::uint64_t kMostSteps = 200'000;

Scalar DrawValue(const Domain& domain, const CounterRandom& random, std::uint32_t draw) {
  if (IsContinuous(domain) || std::holds_alternative<IntLogDomain>(domain)) return AtUnit(domain, random.Unit(draw));
  const auto count = CountValues(domain);
  return ValueAt(domain, count == 0 ? random.Bits(draw) : random.Below(count, draw));
}

/// As RandomPoint, but draws a parameter that breaks a constraint again at once. The points are no longer even, but far
/// more often meet the constraints.
Point MendedPoint(const SearchSpace& space, std::uint64_t seed, TrialNumber trial, std::uint32_t draw) {
  Point point;
  for (const auto& parameter : space.parameters()) {
    if (!IsActive(parameter, point)) continue;
    const CounterRandom random(seed, trial, parameter.name);
    auto& value = point.emplace_back(parameter.name, Scalar{}).second;
    for (std::uint32_t mend = 0; mend < kMends; ++mend) {
      value = DrawValue(parameter.domain, random, kRedraws + draw * kMends + mend);
      if (space.Allows(point)) break;
    }
  }
  return point;
}

/// Checks points until one is free. Keeps a point of an earlier trial in case none is.
class FirstFree {
 public:
  FirstFree(const SearchSpace& space, const TrialTable& earlier) : space_(space), earlier_(earlier) {}

  /// True when the point is free: the search can end.
  bool Take(Point point) {
    if (!space_.Allows(point)) return false;
    found_ = std::move(point);
    return IsFree(space_, *found_, earlier_);
  }
  const std::optional<Point>& found() const { return found_; }

 private:
  const SearchSpace& space_;
  const TrialTable& earlier_;
  std::optional<Point> found_;
};

/// A random one of the free points among the first ones of the grid. It checks more points than earlier trials can
/// have.
std::optional<Point> FreePointOfGrid(const SearchSpace& space, const CounterRandom& random, const TrialTable& earlier) {
  std::optional<Point> chosen;
  std::uint32_t count = 0;
  GridWalk walk(space, /*points_per_range=*/3, kMostSteps);
  for (TrialNumber left = 2 * earlier.size() + kRedraws; left > 0 && walk.Next(); --left) {
    if (!IsFree(space, walk.point(), earlier)) continue;
    ++count;
    if (random.Below(count, count) == 0) chosen = walk.point();
  }
  return chosen;
}

/// That of a random earlier trial. The table must have trials.
const Point& PointOfEarlier(const TrialTable& earlier, const CounterRandom& random) {
  const auto place = random.Below(static_cast<std::uint64_t>(earlier.size()), /*draw=*/0);
  return earlier.at(static_cast<TrialNumber>(place)).parameters;
}

std::string MostBroken(const SearchSpace& space) {
  std::vector<int> broken(space.constraints().size());
  for (std::uint32_t draw = 0; draw < kRedraws; ++draw) {
    const auto point = RandomPoint(space, 1, 0, draw);
    for (std::size_t i = 0; i < broken.size(); ++i) broken[i] += space.constraints()[i].HoldsAt(point) ? 0 : 1;
  }
  return space.constraints()[static_cast<std::size_t>(std::ranges::max_element(broken) - broken.begin())].text();
}

}  // namespace

bool IsFree(const SearchSpace& space, const Point& point, const TrialTable& earlier) {
  return space.Allows(point) && !earlier.ContainsConfiguration(ConfigurationHash(point));
}

Point RandomPoint(const SearchSpace& space, std::uint64_t seed, TrialNumber trial, std::uint32_t draw,
                  const Point& given) {
  Point point;
  for (const auto& parameter : space.parameters()) {
    if (!IsActive(parameter, point)) continue;
    const Scalar* value = Find(given, parameter.name);
    const CounterRandom random(seed, trial, parameter.name);
    point.emplace_back(parameter.name, value != nullptr ? *value : DrawValue(parameter.domain, random, draw));
  }
  return point;
}

Point RandomFreePoint(const SearchSpace& space, std::uint64_t seed, TrialNumber trial, const TrialTable& earlier) {
  FirstFree find(space, earlier);
  for (std::uint32_t draw = 0; draw < kRedraws; ++draw) {
    if (find.Take(RandomPoint(space, seed, trial, draw))) return *find.found();
  }
  for (std::uint32_t draw = 0; draw < kRedraws && !space.constraints().empty(); ++draw) {
    if (find.Take(MendedPoint(space, seed, trial, draw))) return *find.found();
  }
  if (!find.found() || IsDiscrete(space)) {
    if (const auto free = FreePointOfGrid(space, CounterRandom(seed, trial, "free points"), earlier)) return *free;
  }
  for (std::uint32_t draw = kRedraws; draw < kMostRedraws && !find.found(); ++draw) {
    if (find.Take(MendedPoint(space, seed, trial, draw))) return *find.found();
  }
  if (find.found()) return *find.found();
  if (earlier.size() > 0) return PointOfEarlier(earlier, CounterRandom(seed, trial, "earlier points"));
  throw Error(
      ErrorKind::kUsage,
      fmt::format("no point is found that meets the constraints of the search space; most often broken is \"{}\"",
                  MostBroken(space)),
      "loosen the constraints, or define the parameters so that they are met");
}

void CheckFeasible(const SearchSpace& space) {
  if (!space.constraints().empty()) RandomFreePoint(space, 1, 0, {});
}

}  // namespace slipway::ensemble
