/// Where a Gaussian process promises most.
#pragma once

#include <algorithm>
#include <vector>

#include "ensemble/search/cube/activity.h"
#include "ensemble/search/cube/encoding.h"
#include "ensemble/search/gaussian_process/gaussian_process.h"
#include "ensemble/search/numbers/draws.h"

namespace slipway::ensemble {

/// Where a search looks: continuous and ordered axes lie in [low, high]. With a centre, categorical axes mostly keep
/// its value.
struct SearchBox {
  std::vector<double> low;
  std::vector<double> high;
  Coordinates centre;  ///< empty: none

  /// All of the space.
  static SearchBox Whole(std::size_t axes) {
    return {std::vector<double>(axes, 0.0), std::vector<double>(axes, 1.0), {}};
  }
};

/// Random places of a mixed and conditional space, and their neighbours.
class Candidates {
 public:
  explicit Candidates(const Encoding& encoding) : encoding_(encoding), axes_(encoding.axes()), activity_(encoding) {}

  /// Somewhere in the box; with a centre, every second place shares most of its coordinates with it.
  Coordinates Anywhere(const SearchBox& box, Draws& draws) const;
  /// Near `from`, at a distance that is anything from 0.001 to 0.2 of an axis; some axes keep their values.
  Coordinates Near(const Coordinates& from, const SearchBox& box, Draws& draws) const;
  /// Every place that differs from `from` in one ordered axis by a step or in one categorical axis (up to 16 values).
  std::vector<Coordinates> Neighbours(const Coordinates& from, const SearchBox& box, Draws& draws) const;

  /// Whether a search by gradient moves along this axis; ordered ones with many values count as continuous.
  bool IsSmooth(std::size_t axis) const;
  /// There are axes along which no gradient leads.
  bool HasSteps() const;
  /// Rounds what is not continuous and sets inactive axes to NaN, active ones that are NaN to a random value.
  void Settle(Coordinates& at, const SearchBox& box, Draws& draws) const;

 private:
  /// How many of the axes are moved when not all are.
  double MovedShare() const { return std::max(0.3, 1.5 / static_cast<double>(axes_.size())); }
  double Draw(std::size_t axis, const SearchBox& box, Draws& draws) const;
  double Nudged(std::size_t axis, double from, double reach, const SearchBox& box, Draws& draws) const;
  double OnAxis(std::size_t axis, double at) const;

  const Encoding& encoding_;
  const std::vector<Axis>& axes_;
  Activity activity_;
};

struct LogExpectedImprovement {
  double value = 0;
  double by_mean = 0;       ///< derivative by the mean
  double by_deviation = 0;  ///< derivative by the standard deviation
};

/// log E[max(best - Y, 0)] for a normal Y. `deviation` is positive. Exact to rounding at any distance, so that its
/// gradient shows the way also from places where the improvement itself would be rounded to 0.
/// Source: Ament, Daulton, Eriksson, Balandat, Bakshy: "Unexpected improvements to expected improvement", NeurIPS 2023.
LogExpectedImprovement LogImprovement(double mean, double deviation, double best);

struct Promise {
  Coordinates at;
  double log_improvement = 0;
};

struct AcquisitionTask {
  const GaussianProcess& process;
  const FeatureMap& map;  ///< the one that the process was made with
  double best = 0;        ///< what is to be improved on
  SearchBox box;
  std::vector<Coordinates> starts;  ///< good places, in whose neighbourhood to look too
};

struct AcquisitionEffort {
  int anywhere = 200;
  int near = 150;  ///< divided among the starts
  int refined = 4;
  int iterations = 40;
};

class AcquisitionSearch {
 public:
  explicit AcquisitionSearch(const Encoding& encoding) : candidates_(encoding) {}

  /// Many places of the box, the most promising first: random ones, the best of them improved by their gradient along
  /// smooth axes and by steps along the others.
  /// Cost: (candidates + 3 * refined * iterations) * n^2 flops.
  std::vector<Promise> Rank(const AcquisitionTask& task, Draws& draws, const AcquisitionEffort& effort = {}) const;

  const Candidates& candidates() const { return candidates_; }

 private:
  std::vector<Promise> Judged(const AcquisitionTask& task, std::vector<Coordinates> places) const;
  Promise Refined(const AcquisitionTask& task, const Promise& from, int iterations, Draws& draws) const;
  Promise Stepped(const AcquisitionTask& task, Promise from, int iterations, Draws& draws) const;

  Candidates candidates_;
};

}  // namespace slipway::ensemble
