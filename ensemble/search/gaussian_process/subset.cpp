#include "ensemble/search/gaussian_process/subset.h"

#include <algorithm>
#include <numeric>

namespace slipway::ensemble {

namespace {

std::vector<std::size_t> OrderOf(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return values[i]; });
  return order;
}

}  // namespace

std::vector<std::size_t> LowestSubset(std::span<const double> values, std::size_t count) {
  auto order = OrderOf(values);
  order.resize(std::min(count, order.size()));
  std::ranges::sort(order);
  return order;
}

std::vector<std::size_t> SpreadSubset(std::span<const double> values, std::size_t most) {
  if (values.size() <= most) return LowestSubset(values, most);
  const auto order = OrderOf(values);
  const std::size_t best = most / 2;
  const std::size_t others = most - best;
  std::vector<std::size_t> chosen(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(best));
  const std::size_t rest = order.size() - best;
  for (std::size_t i = 0; i < others; ++i) chosen.push_back(order[best + i * rest / others]);
  std::ranges::sort(chosen);
  return chosen;
}

}  // namespace slipway::ensemble
