/// Charts as SVG documents: pure functions of axes and values.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ensemble/space/parameter.h"

namespace slipway::launcher {

/// A tick of an axis.
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

/// An axis from `low` to `high`, both finite, extended to four to eleven round ticks: 1, 2 or 5 times a power of ten.
Axis LinearAxis(std::string title, double low, double high);
/// A logarithmic axis from `low` to `high`, both positive. Ticks are powers of ten; where there are few, also 2 and 5
/// times them.
Axis LogAxis(std::string title, double low, double high);
/// An axis of words; word i is at value i.
Axis WordsAxis(std::string title, const std::vector<std::string>& words);

/// An axis for all values, which are finite. Logarithmic when positive values differ by a factor of 1,000 or more.
Axis AxisFor(std::string title, std::span<const double> values);

/// An axis over the parameter's domain, logarithmic if the domain is. Values that are not numbers are words.
Axis AxisOf(const ensemble::Parameter& parameter);
/// The position of a value on that axis; nothing for a value of another type.
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

/// One line for each trial, across one axis for each parameter. The line is interrupted where the trial has no value.
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
