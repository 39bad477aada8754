#include "ensemble/analysis/ranking.h"

#include <algorithm>
#include <functional>

namespace slipway::ensemble {
namespace {

using Points = std::vector<Objectives>;

/// The points that no other point dominates, in ascending order; one of equal points.
Points NonDominated(Points points) {
  std::ranges::sort(points);
  points.erase(std::unique(points.begin(), points.end()), points.end());
  Points front;
  for (auto& point : points) {  // who dominates a point stands before it
    const auto dominates = [&](const Objectives& other) { return Dominates(other, point); };
    if (std::ranges::none_of(front, dominates)) front.push_back(std::move(point));
  }
  return front;
}

/// One or two objectives: `front` is NonDominated, so the second falls as the first rises.
double Staircase(const Points& front, const Objectives& reference) {
  if (front.empty()) return 0;
  if (reference.size() == 1) return reference[0] - front.front()[0];
  double area = 0;
  double top = reference[1];
  for (const auto& point : front) {
    area += (reference[0] - point[0]) * (top - point[1]);
    top = point[1];
  }
  return area;
}

double Product(const Objectives& point, const Objectives& reference) {
  double product = 1;
  for (std::size_t m = 0; m < reference.size(); ++m) product *= reference[m] - point[m];
  return product;
}

/// Points that dominate what both front[first] and a point after it dominate.
Points Limited(const Points& front, std::size_t first) {
  Points limited;
  for (std::size_t i = first + 1; i < front.size(); ++i) {
    Objectives point = front[i];
    for (std::size_t m = 0; m < point.size(); ++m) point[m] = std::max(point[m], front[first][m]);
    limited.push_back(std::move(point));
  }
  return limited;
}

double VolumeOf(const Points& points, const Objectives& reference);

/// The volume that front[first] shares with the points after it. It is a slice with one objective less: front[first] is
/// worst in the last objective, so the limited points all have its value there.
double SharedVolume(const Points& front, std::size_t first, const Objectives& reference) {
  Points slice = Limited(front, first);
  for (auto& point : slice) point.pop_back();
  const Objectives below(reference.begin(), reference.end() - 1);
  return VolumeOf(slice, below) * (reference.back() - front[first].back());
}

double VolumeOf(const Points& points, const Objectives& reference) {
  Points front = NonDominated(points);
  if (reference.size() <= 2) return Staircase(front, reference);
  std::ranges::stable_sort(front, std::greater<>(), [](const Objectives& point) { return point.back(); });
  double volume = 0;
  for (std::size_t i = 0; i < front.size(); ++i) {
    volume += Product(front[i], reference) - SharedVolume(front, i, reference);
  }
  return volume;
}

bool IsWithin(const Objectives& point, const Objectives& reference) {
  for (std::size_t m = 0; m < reference.size(); ++m) {
    if (!(point[m] < reference[m])) return false;
  }
  return true;
}

}  // namespace

std::vector<Standing> OrderByFronts(std::span<const Objectives> points) {
  const auto fronts = Fronts(points);
  const auto crowding = CrowdingDistances(points, fronts);
  std::vector<Standing> order;
  for (std::size_t i = 0; i < points.size(); ++i) order.push_back({i, fronts[i], crowding[i]});
  std::ranges::stable_sort(order, [](const Standing& left, const Standing& right) {
    return left.front != right.front ? left.front < right.front : left.crowding > right.crowding;
  });
  return order;
}

double Hypervolume(std::span<const Objectives> points, const Objectives& reference) {
  Points within;
  std::ranges::copy_if(points, std::back_inserter(within),
                       [&](const Objectives& point) { return IsWithin(point, reference); });
  return VolumeOf(within, reference);
}

std::optional<Objectives> WorstPoint(std::span<const Objectives> points) {
  if (points.empty()) return std::nullopt;
  Objectives worst = points.front();
  Objectives best = points.front();
  for (const auto& point : points) {
    for (std::size_t m = 0; m < worst.size(); ++m) {
      worst[m] = std::max(worst[m], point[m]);
      best[m] = std::min(best[m], point[m]);
    }
  }
  for (std::size_t m = 0; m < worst.size(); ++m) worst[m] += worst[m] > best[m] ? 0.1 * (worst[m] - best[m]) : 1;
  return worst;
}

}  // namespace slipway::ensemble
