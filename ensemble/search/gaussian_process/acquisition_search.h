/// Maximises the acquisition function (log expected improvement) of a Gaussian process.
#pragma once

#include <algorithm>
#include <vector>

#include "ensemble/search/cube/activity.h"
#include "ensemble/search/cube/encoding.h"
#include "ensemble/search/gaussian_process/gaussian_process.h"
#include "ensemble/search/numbers/draws.h"

namespace slipway::ensemble {

/// The box of a search: continuous and ordered axes lie in [low, high]. With a centre, categorical axes mostly keep its
/// value.
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

  /// A random place in the box. With a centre, every second place shares most of its coordinates with it.
  Coordinates Anywhere(const SearchBox& box, Draws& draws) const;
  /// A place near `from`, at a random distance from 0.001 to 0.2 of an axis. Some axes keep their values.
  Coordinates Near(const Coordinates& from, const SearchBox& box, Draws& draws) const;
  /// All places that differ from `from` by a step on one ordered axis, or on one categorical axis (up to 16 values).
  std::vector<Coordinates> Neighbours(const Coordinates& from, const SearchBox& box, Draws& draws) const;

  /// Whether a search by gradient moves along this axis; ordered ones with many values count as continuous.
  bool IsSmooth(std::size_t axis) const;
  /// Whether there are axes without a gradient.
  bool HasSteps() const;
  /// Rounds axes that are not continuous. Sets inactive axes to NaN, and active ones with NaN to a random value.
  void Settle(Coordinates& at, const SearchBox& box, Draws& draws) const;

 private:
  /// The part of the axes that is moved if not all are.
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

/// log E[max(best - Y, 0)] for a normal Y. `deviation` is positive. Exact to rounding at any distance: it has a
/// gradient even where the improvement itself would be rounded to 0.
/// Source: Ament, Daulton, Eriksson, Balandat, Bakshy: "Unexpected improvements to expected improvement", NeurIPS 2023.
LogExpectedImprovement LogImprovement(double mean, double deviation, double best);

struct Promise {
  Coordinates at;
  double log_improvement = 0;
};

struct AcquisitionTask {
  const GaussianProcess& process;
  const FeatureMap& map;  ///< the one that the process was made with
  double best = 0;        ///< the value to improve on
  SearchBox box;
  std::vector<Coordinates> starts;  ///< good places; their neighbourhoods are searched, too
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

  /// Many random places of the box, the most promising first. The best of them are improved: by the gradient along
  /// smooth axes, by steps along the others.
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
