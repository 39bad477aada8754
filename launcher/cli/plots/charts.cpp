#include "launcher/cli/plots/charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "launcher/cli/plots/svg.h"

namespace slipway::launcher {
namespace {

constexpr double kMostSteps = 10;
constexpr double kWideFactor = 1000;
constexpr std::size_t kMostWords = 64;

std::string Label(double value) { return fmt::format("{:.6g}", value == 0 ? 0.0 : value); }

/// The smallest round number with which `extent` takes at most kMostSteps.
double RoundStep(double extent) {
  const double power = std::pow(10, std::floor(std::log10(extent / kMostSteps)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (extent / (factor * power) <= kMostSteps) return factor * power;
  }
  return 10 * power;
}

/// An extent that can be divided: one value is shown with something around it.
std::pair<double, double> Widened(double low, double high) {
  const double least = std::max({std::abs(low), std::abs(high), 1e-300}) * 1e-9;
  if (high - low > least) return {low, high};
  const double around = low == 0 ? 1 : std::abs(low) / 2;
  return {low - around, high + around};
}

std::vector<std::string> WordsOf(const std::vector<ensemble::Scalar>& values) {
  std::vector<std::string> words;
  for (const auto& value : values) words.push_back(ensemble::Brief(value));
  return words;
}

struct AxisOfDomain {
  const std::string& title;

  Axis operator()(const ensemble::UniformDomain& domain) const { return LinearAxis(title, domain.low, domain.high); }
  Axis operator()(const ensemble::LogDomain& domain) const { return LogAxis(title, domain.low, domain.high); }
  Axis operator()(const ensemble::IntDomain& domain) const {
    return LinearAxis(title, static_cast<double>(domain.low), static_cast<double>(domain.high));
  }
  Axis operator()(const ensemble::IntLogDomain& domain) const {
    return LogAxis(title, static_cast<double>(domain.low), static_cast<double>(domain.high));
  }
  Axis operator()(const ensemble::ChoiceDomain& domain) const { return WordsAxis(title, WordsOf(domain.values)); }
  Axis operator()(const ensemble::OrdinalDomain& domain) const { return WordsAxis(title, WordsOf(domain.values)); }
  Axis operator()(const ensemble::FixedDomain& domain) const {
    return WordsAxis(title, {ensemble::Brief(domain.value)});
  }
};

bool HasWords(const ensemble::Domain& domain) {
  return std::holds_alternative<ensemble::ChoiceDomain>(domain) ||
         std::holds_alternative<ensemble::OrdinalDomain>(domain) ||
         std::holds_alternative<ensemble::FixedDomain>(domain);
}

}  // namespace

double Axis::PlaceOf(double value) const {
  if (logarithmic) return std::log(value / low) / std::log(high / low);
  return (value - low) / (high - low);
}

Axis LinearAxis(std::string title, double low, double high) {
  std::tie(low, high) = Widened(low, high);
  const double step = RoundStep(high - low);
  const double first = std::floor(low / step + 1e-9);
  const double last = std::ceil(high / step - 1e-9);
  Axis axis{std::move(title), false, first * step, last * step};
  for (double i = first; i <= last; ++i) axis.ticks.push_back({i * step, Label(i * step)});
  return axis;
}

Axis LogAxis(std::string title, double low, double high) {
  if (high <= low * (1 + 1e-9)) std::tie(low, high) = std::pair(low / 2, high * 2);
  Axis axis{std::move(title), true, low, high};
  const double first = std::floor(std::log10(low));
  const double last = std::ceil(std::log10(high));
  const double decades = std::max(1.0, std::ceil((last - first) / kMostSteps));
  const bool few = std::log10(high / low) < 3;
  for (double power = first; power <= last; power += decades) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double value = factor * std::pow(10, power);
      const bool fits = value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9);
      if (fits && (few || factor == 1.0)) axis.ticks.push_back({value, Label(value)});
    }
  }
  return axis;
}

Axis WordsAxis(std::string title, const std::vector<std::string>& words) {
  Axis axis{std::move(title), false, -0.5, static_cast<double>(words.size()) - 0.5};
  const std::size_t each = (words.size() + kMostWords - 1) / kMostWords;
  for (std::size_t i = 0; i < words.size(); i += each) axis.ticks.push_back({static_cast<double>(i), words[i]});
  return axis;
}

Axis AxisFor(std::string title, std::span<const double> values) {
  if (values.empty()) return LinearAxis(std::move(title), 0, 1);
  const auto [low, high] = std::ranges::minmax(values);
  const bool wide = low > 0 && high / low >= kWideFactor;
  return wide ? LogAxis(std::move(title), low, high) : LinearAxis(std::move(title), low, high);
}

Axis AxisOf(const ensemble::Parameter& parameter) { return std::visit(AxisOfDomain{parameter.name}, parameter.domain); }

std::optional<double> ValueOnAxis(const ensemble::Domain& domain, const ensemble::Scalar& value) {
  if (HasWords(domain)) {
    const auto index = ensemble::IndexOf(domain, value);
    return index ? std::optional(static_cast<double>(*index)) : std::nullopt;
  }
  if (!ensemble::Contains(domain, value)) return std::nullopt;
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
  const auto* number = std::get_if<double>(&value);
  return number != nullptr ? std::optional(*number) : std::nullopt;
}

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
