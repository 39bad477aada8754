#include "ensemble/analysis/ped_anova.h"

#include <algorithm>
#include <cmath>

#include "ensemble/analysis/cells.h"

namespace slipway::ensemble {
namespace {

constexpr std::size_t kFewestBest = 5;

/// How many trials lie in each cell of an axis.
using Tally = std::vector<double>;

double CutOff(std::span<const Observation> trials, double quantile) {
  std::vector<double> values;
  for (const auto& trial : trials) values.push_back(trial.value);
  const auto wanted = static_cast<std::size_t>(std::ceil(quantile * static_cast<double>(values.size())));
  const auto best = std::min(std::max(wanted, kFewestBest), values.size());
  const auto last = values.begin() + static_cast<std::ptrdiff_t>(best) - 1;
  std::ranges::nth_element(values, last);
  return *last;
}

double Sum(const Tally& counts) {
  double sum = 0;
  for (const double count : counts) sum += count;
  return sum;
}

/// Standard deviation of the active cells, in cells.
double Spread(const Tally& counts, std::size_t active) {
  double n = 0;
  double mean = 0;
  double squares = 0;
  for (std::size_t i = 0; i < active; ++i) {
    const double step = static_cast<double>(i) - mean;
    if (counts[i] == 0) continue;
    n += counts[i];
    mean += step * counts[i] / n;
    squares += counts[i] * step * (static_cast<double>(i) - mean);
  }
  return n > 1 ? std::sqrt(squares / (n - 1)) : 0;
}

double NormalDistribution(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

/// What a trial in cell `from` adds to each cell: all to its own, or, where neighbours are alike, a normal distribution
/// of width `bandwidth` that ends at the borders of the axis.
std::vector<double> KernelRow(const AxisCells& cells, std::size_t from, double bandwidth) {
  std::vector<double> row(cells.size(), 0.0);
  if (!cells.is_ordered() || from >= cells.active()) {
    row[from] = 1;
    return row;
  }
  double sum = 0;
  for (std::size_t to = 0; to < cells.active(); ++to) {
    const double distance = static_cast<double>(to) - static_cast<double>(from);
    row[to] = NormalDistribution((distance + 0.5) / bandwidth) - NormalDistribution((distance - 0.5) / bandwidth);
    sum += row[to];
  }
  for (auto& part : row) part /= sum;
  return row;
}

/// Scott's rule; half a cell at least, which counting in cells blurs anyway.
double Bandwidth(const Tally& best, const AxisCells& cells) {
  return std::max(0.5, 1.059 * Spread(best, cells.active()) * std::pow(Sum(best), -0.2));
}

/// The divergence of one axis, less its mean over all choices of as many trials as are in `best`.
double Divergence(const AxisCells& cells, const Tally& best, const Tally& all) {
  const double m = Sum(best);
  const double n = Sum(all);
  const double bandwidth = Bandwidth(best, cells);
  std::vector<double> good(cells.size(), 0.0);     // density of the best
  std::vector<double> usual(cells.size(), 0.0);    // of all
  std::vector<double> squares(cells.size(), 0.0);  // mean square of what a trial adds
  for (std::size_t from = 0; from < cells.size(); ++from) {
    if (all[from] == 0) continue;
    const auto row = KernelRow(cells, from, bandwidth);
    for (std::size_t to = 0; to < cells.size(); ++to) {
      good[to] += best[from] / m * row[to];
      usual[to] += all[from] / n * row[to];
      squares[to] += all[from] / n * row[to] * row[to];
    }
  }
  const double chance = (n - m) / (m * (n - 1));  // drawn without putting back
  double divergence = 0;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (!(usual[i] > 0)) continue;
    const double difference = good[i] - usual[i];
    divergence += (difference * difference - chance * (squares[i] - usual[i] * usual[i])) / usual[i];
  }
  return std::max(0.0, divergence);
}

}  // namespace

std::vector<double> PedAnova(const Encoding& encoding, std::span<const Observation> trials, double quantile) {
  std::vector<double> divergences(encoding.axes().size(), 0.0);
  if (trials.size() < 2) return divergences;
  const double cut_off = CutOff(trials, quantile);
  const auto cells = CellsOf(encoding, trials);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    Tally best(cells[i].size(), 0.0);
    Tally all(cells[i].size(), 0.0);
    for (const auto& trial : trials) {
      const auto cell = cells[i].CellOf(trial.at[i]);
      ++all[cell];
      if (trial.value <= cut_off) ++best[cell];
    }
    divergences[i] = Divergence(cells[i], best, all);
  }
  return divergences;
}

}  // namespace slipway::ensemble
