#include "ensemble/search/results/pareto.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>

namespace slipway::ensemble {
namespace {

using Indices = std::vector<std::size_t>;

/// Adds what objective `m` contributes to the crowding of the members of one front.
void AddDistances(std::span<const Objectives> points, Indices front, std::size_t m, std::vector<double>& crowding) {
  std::ranges::stable_sort(front, {}, [&](std::size_t i) { return points[i][m]; });
  const double extent = points[front.back()][m] - points[front.front()][m];
  crowding[front.front()] = crowding[front.back()] = std::numeric_limits<double>::infinity();
  if (!(extent > 0)) return;
  for (std::size_t k = 1; k + 1 < front.size(); ++k) {
    crowding[front[k]] += (points[front[k + 1]][m] - points[front[k - 1]][m]) / extent;
  }
}

}  // namespace

bool Dominates(const Objectives& left, const Objectives& right) {
  bool better = false;
  for (std::size_t m = 0; m < left.size(); ++m) {
    if (left[m] > right[m]) return false;
    better = better || left[m] < right[m];
  }
  return better;
}

std::vector<std::size_t> Fronts(std::span<const Objectives> points) {
  Indices order(points.size());  // who dominates a point stands before it
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t i, std::size_t j) { return points[i] < points[j]; });
  std::vector<Indices> members;  // of each front
  Indices fronts(points.size(), 0);
  for (const auto i : order) {
    const auto dominates = [&](std::size_t j) { return Dominates(points[j], points[i]); };
    // A point that is dominated by one front is also dominated by every front before it.
    const auto front = std::ranges::partition_point(
        members, [&](const Indices& front_of) { return std::any_of(front_of.rbegin(), front_of.rend(), dominates); });
    fronts[i] = static_cast<std::size_t>(front - members.begin());
    if (front == members.end()) members.emplace_back();
    members[fronts[i]].push_back(i);
  }
  return fronts;
}

std::vector<double> CrowdingDistances(std::span<const Objectives> points, std::span<const std::size_t> fronts) {
  // Only the first of equal points counts: else all of them would be kept at the end of a front.
  std::map<std::size_t, std::map<Objectives, std::size_t>> distinct;
  for (std::size_t i = 0; i < points.size(); ++i) distinct[fronts[i]].emplace(points[i], i);
  std::vector<double> crowding(points.size(), 0.0);
  for (const auto& [number, members] : distinct) {
    Indices front;
    for (const auto& [objectives, i] : members) front.push_back(i);
    for (std::size_t m = 0; m < points[front.front()].size(); ++m) AddDistances(points, front, m, crowding);
  }
  return crowding;
}

std::vector<std::size_t> SelectBest(std::span<const Objectives> points, std::size_t count) {
  const auto fronts = Fronts(points);
  const auto crowding = CrowdingDistances(points, fronts);
  Indices order(points.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return std::tuple(fronts[i], -crowding[i]); });
  order.resize(std::min(count, order.size()));
  return order;
}

}  // namespace slipway::ensemble
