#include "launcher/cli/plots/charts.h"

#include <algorithm>

#include "launcher/cli/plots/svg.h"

namespace slipway::launcher {
namespace {

constexpr double kWidth = 760;
constexpr double kHeight = 440;
constexpr double kTop = 44;
constexpr double kBottom = 60;
constexpr double kLeft = 96;
constexpr double kRight = 24;
constexpr double kBarHeight = 26;
constexpr double kLabelsOfBars = 220;
constexpr double kBetweenAxes = 150;

/// Where values are drawn.
struct Area {
  double left = kLeft;
  double top = kTop;
  double right = kWidth - kRight;
  double bottom = kHeight - kBottom;

  double X(const Axis& axis, double value) const { return left + axis.PlaceOf(value) * (right - left); }
  double Y(const Axis& axis, double value) const { return bottom - axis.PlaceOf(value) * (bottom - top); }
};

void DrawX(Svg& svg, const Area& area, const Axis& axis) {
  for (const auto& tick : axis.ticks) {
    const double x = area.X(axis, tick.value);
    svg.Line("grid", {x, area.top}, {x, area.bottom});
    svg.Text({x, area.bottom + 20}, Anchor::kMiddle, tick.label);
  }
  svg.Line("axis", {area.left, area.bottom}, {area.right, area.bottom});
  svg.Text({(area.left + area.right) / 2, area.bottom + 44}, Anchor::kMiddle, axis.title);
}

void DrawY(Svg& svg, const Area& area, const Axis& axis) {
  for (const auto& tick : axis.ticks) {
    const double y = area.Y(axis, tick.value);
    svg.Line("grid", {area.left, y}, {area.right, y});
    svg.Text({area.left - 8, y + 4}, Anchor::kEnd, tick.label);
  }
  svg.Line("axis", {area.left, area.top}, {area.left, area.bottom});
  svg.TextUpwards({18, (area.top + area.bottom) / 2}, axis.title);
}

void DrawSteps(Svg& svg, const Area& area, const ScatterPlot& plot) {
  std::vector<Spot> spots;
  for (const auto& [x, y] : plot.steps) {
    const Spot spot{area.X(plot.x, x), area.Y(plot.y, y)};
    if (!spots.empty()) spots.push_back({spot.x, spots.back().y});
    spots.push_back(spot);
  }
  svg.Path("line", spots);
}

/// The parts of the thread between which it is interrupted.
void DrawThread(Svg& svg, const std::vector<Area>& areas, const ParallelPlot& plot,
                const ParallelPlot::Thread& thread) {
  std::vector<Spot> part;
  const auto finish = [&] {
    svg.Path(thread.stands_out ? "strong" : "thread", part);
    part.clear();
  };
  for (std::size_t i = 0; i < plot.axes.size(); ++i) {
    if (!thread.values[i]) {
      finish();
      continue;
    }
    part.push_back({areas[i].left, areas[i].Y(plot.axes[i], *thread.values[i])});
  }
  finish();
}

void DrawUpright(Svg& svg, const Area& area, const Axis& axis) {
  svg.Line("axis", {area.left, area.top}, {area.left, area.bottom});
  svg.Text({area.left, area.bottom + 24}, Anchor::kMiddle, axis.title);
  for (const auto& tick : axis.ticks) {
    const double y = area.Y(axis, tick.value);
    svg.Line("axis", {area.left - 3, y}, {area.left + 3, y});
    svg.Text({area.left - 6, y + 4}, Anchor::kEnd, tick.label);
  }
}

}  // namespace

std::string Draw(const ScatterPlot& plot) {
  Svg svg(kWidth, kHeight);
  const Area area;
  svg.Text({area.left, 26}, Anchor::kStart, plot.title);
  DrawX(svg, area, plot.x);
  DrawY(svg, area, plot.y);
  for (const bool stands_out : {false, true}) {  // the important ones above the others
    for (const auto& mark : plot.marks) {
      if (mark.stands_out != stands_out) continue;
      svg.Dot(stands_out ? "best" : "dot", {area.X(plot.x, mark.x), area.Y(plot.y, mark.y)}, mark.hint);
    }
  }
  DrawSteps(svg, area, plot);
  return svg.Finish(plot.title);
}

std::string Draw(const BarPlot& plot) {
  const double height = kTop + kBottom + kBarHeight * static_cast<double>(plot.bars.size());
  Svg svg(kWidth, height);
  const Area area{kLabelsOfBars, kTop, kWidth - kRight, height - kBottom};
  svg.Text({kRight, 26}, Anchor::kStart, plot.title);
  DrawX(svg, area, plot.x);
  for (std::size_t i = 0; i < plot.bars.size(); ++i) {
    const double top = area.top + kBarHeight * static_cast<double>(i);
    svg.Bar("bar", {area.left, top + 4}, area.X(plot.x, plot.bars[i].second) - area.left, kBarHeight - 8);
    svg.Text({area.left - 8, top + kBarHeight / 2 + 4}, Anchor::kEnd, plot.bars[i].first);
  }
  return svg.Finish(plot.title);
}

std::string Draw(const ParallelPlot& plot) {
  const double width = std::max(kWidth, kLeft + kBetweenAxes * static_cast<double>(plot.axes.size()));
  Svg svg(width, kHeight);
  svg.Text({kRight, 26}, Anchor::kStart, plot.title);
  std::vector<Area> areas(plot.axes.size());
  const double between = (width - kLeft - 2 * kRight) / std::max(1.0, static_cast<double>(plot.axes.size()) - 1);
  for (std::size_t i = 0; i < areas.size(); ++i) areas[i].left = kLeft + between * static_cast<double>(i);
  for (const bool stands_out : {false, true}) {
    for (const auto& thread : plot.threads) {
      if (thread.stands_out == stands_out) DrawThread(svg, areas, plot, thread);
    }
  }
  for (std::size_t i = 0; i < areas.size(); ++i) DrawUpright(svg, areas[i], plot.axes[i]);
  return svg.Finish(plot.title);
}

}  // namespace slipway::launcher
