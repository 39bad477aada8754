/// Charts as SVG documents: pure functions of axes and values.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "launcher/cli/plots/axis.h"

namespace slipway::launcher {

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
