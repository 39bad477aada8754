/// Curves of braille dots, and lines of blocks as small as a word.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "launcher/watch/frame.h"

namespace slipway::launcher::watch {

struct Dot {
  double x = 0;
  double y = 0;  ///< what is not finite leaves a gap
};

struct Series {
  std::vector<Dot> dots;  ///< by x
  Style style = Style::kAccent;
};

enum class Scale { kLinear, kLog };

/// Draws the series into one picture with the range of both axes beside it. With Scale::kLog, values of 0 and less
/// are left out. Where no value can be drawn it says so. Needs at least 3 rows and 20 columns; draws nothing in less.
void DrawPlot(Frame& frame, const Rectangle& place, const std::vector<Series>& series, Scale scale = Scale::kLinear);

/// `width` blocks for all values; each stands for the mean of its share. Values that are not finite are left out.
std::string Sparkline(std::span<const double> values, int width);

/// "[#####.....]" of `width` columns in blocks; `share` from 0 to 1.
std::string Bar(double share, int width);

/// A number of at most six digits, short: "0.00012", "1.2e+09".
std::string ShortNumber(double number);

}  // namespace slipway::launcher::watch
