/// Charts as SVG documents: pure functions of axes and values.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ensemble/space/parameter.h"

namespace slipway::launcher {

/// Axes of a chart: where a value stands between the two ends, and which ticks tell so. Pure.
struct Tick {
  double value = 0;
  std::string label;
};

struct Axis {
  std::string title;
  bool logarithmic = false;
  double low = 0;  ///< value at the beginning; positive where the axis is logarithmic
  double high = 1;
  std::vector<Tick> ticks = {};

  /// 0 at `low`, 1 at `high`.
  double PlaceOf(double value) const;
};

/// From `low` to `high`, both finite, widened to round ticks: 1, 2 or 5 times a power of ten, four to eleven of them.
Axis LinearAxis(std::string title, double low, double high);
/// From `low` to `high`, both positive, with ticks at powers of ten, or at 1, 2 and 5 times them where there are few.
Axis LogAxis(std::string title, double low, double high);
/// Word i stands at i.
Axis WordsAxis(std::string title, const std::vector<std::string>& words);

/// For all values, which are finite; logarithmic where positive ones differ by a factor of 1,000 or more.
Axis AxisFor(std::string title, std::span<const double> values);

/// As wide as its domain, logarithmic where that is; values that are not numbers are words.
Axis AxisOf(const ensemble::Parameter& parameter);
/// Where a value stands on that axis; nothing for one of another kind.
std::optional<double> ValueOnAxis(const ensemble::Domain& domain, const ensemble::Scalar& value);

struct Mark {
  double x = 0;
  double y = 0;
  bool stands_out = false;
  std::string hint = {};
};

struct ScatterPlot {
  std::string title;
  Axis x;
  Axis y;
  std::vector<Mark> marks;
  std::vector<std::pair<double, double>> steps = {};  ///< a line of steps through these points
};
std::string Draw(const ScatterPlot& plot);

struct BarPlot {
  std::string title;
  Axis x;  ///< from 0
  std::vector<std::pair<std::string, double>> bars;
};
std::string Draw(const BarPlot& plot);

/// One line for each trial across an axis for each parameter; where it has no value the line is interrupted.
struct ParallelPlot {
  struct Thread {
    std::vector<std::optional<double>> values;  ///< one for each axis
    bool stands_out = false;
  };
  std::string title;
  std::vector<Axis> axes;
  std::vector<Thread> threads;
};
std::string Draw(const ParallelPlot& plot);

}  // namespace slipway::launcher
