#include "launcher/watch/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>

namespace slipway::launcher::watch {
namespace {

constexpr int kDotsAcross = 2;  // of one character
constexpr int kDotsDown = 4;
constexpr char32_t kBraille = 0x2800;
constexpr unsigned kDotBits[kDotsDown][kDotsAcross] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
constexpr int kLabelColumns = 10;
constexpr int kFewestRows = 3;
constexpr int kFewestColumns = 20;
constexpr const char* kBlocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr int kBlockCount = 8;

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  void Include(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool empty() const { return low > high; }
  /// From 0 to 1; the middle where all values are equal. Halves, because the difference of two numbers may be infinite.
  double Share(double value) const { return high > low ? (value / 2 - low / 2) / (high / 2 - low / 2) : 0.5; }
};

std::optional<double> OnScale(double y, Scale scale) {
  if (!std::isfinite(y) || (scale == Scale::kLog && y <= 0)) return {};
  return scale == Scale::kLog ? std::log10(y) : y;
}

/// The dots of one series, bit by bit.
class Canvas {
 public:
  Canvas(int rows, int columns) : rows_(rows), columns_(columns), bits_(static_cast<std::size_t>(rows * columns)) {}

  int height() const { return rows_ * kDotsDown; }
  int width() const { return columns_ * kDotsAcross; }

  void Set(int x, int y) {
    if (x < 0 || y < 0 || x >= width() || y >= height()) return;
    bits_[static_cast<std::size_t>(y / kDotsDown * columns_ + x / kDotsAcross)] |=
        kDotBits[y % kDotsDown][x % kDotsAcross];
  }

  /// By the algorithm of Bresenham.
  void Line(int x, int y, int to_x, int to_y) {
    const int across = std::abs(to_x - x), down = -std::abs(to_y - y);
    const int step_x = x < to_x ? 1 : -1, step_y = y < to_y ? 1 : -1;
    for (int error = across + down;;) {
      Set(x, y);
      if (x == to_x && y == to_y) return;
      const int twice = 2 * error;
      if (twice >= down) error += down, x += step_x;
      if (twice <= across) error += across, y += step_y;
    }
  }

  void PutInto(Frame& frame, int row, int column, Style style) const {
    for (int i = 0; i < rows_ * columns_; ++i) {
      const auto bits = bits_[static_cast<std::size_t>(i)];
      if (bits != 0) frame.Set(row + i / columns_, column + i % columns_, kBraille + bits, style);
    }
  }

 private:
  int rows_;
  int columns_;
  std::vector<unsigned> bits_;
};

void DrawSeries(Canvas& canvas, const Series& series, const Range& across, const Range& up, Scale scale) {
  std::optional<std::pair<int, int>> before;
  for (const auto& dot : series.dots) {
    const auto y = OnScale(dot.y, scale);
    if (!y || !std::isfinite(dot.x)) {
      before.reset();
      continue;
    }
    const int at_x = static_cast<int>(std::lround(across.Share(dot.x) * (canvas.width() - 1)));
    const int at_y = static_cast<int>(std::lround((1 - up.Share(*y)) * (canvas.height() - 1)));
    if (before) canvas.Line(before->first, before->second, at_x, at_y);
    canvas.Set(at_x, at_y);
    before = {at_x, at_y};
  }
}

void DrawAxes(Frame& frame, const Rectangle& place, const Range& across, const Range& up, Scale scale) {
  const auto value = [&](double y) { return ShortNumber(scale == Scale::kLog ? std::pow(10, y) : y); };
  const int axis = place.column + kLabelColumns, bottom = place.row + place.rows - 1;
  for (int row = place.row; row < bottom; ++row) frame.Set(row, axis, U'│', Style::kDim);
  frame.PutRight(place.row, axis, value(up.high), Style::kDim);
  if (up.high > up.low) frame.PutRight(bottom - 1, axis, value(up.low), Style::kDim);
  frame.Put(bottom, axis + 1, ShortNumber(across.low), Style::kDim);
  if (across.high > across.low)
    frame.PutRight(bottom, place.column + place.columns, ShortNumber(across.high), Style::kDim);
}

}  // namespace

void DrawPlot(Frame& frame, const Rectangle& place, const std::vector<Series>& series, Scale scale) {
  if (place.rows < kFewestRows || place.columns < kFewestColumns) return;
  Range across, up;
  for (const auto& each : series) {
    for (const auto& dot : each.dots) {
      const auto y = OnScale(dot.y, scale);
      if (!y || !std::isfinite(dot.x)) continue;
      across.Include(dot.x);
      up.Include(*y);
    }
  }
  if (up.empty()) {
    frame.Put(place.row, place.column, "no value to draw yet", Style::kDim);
    return;
  }
  DrawAxes(frame, place, across, up, scale);
  for (const auto& each : series) {
    Canvas canvas(place.rows - 1, place.columns - kLabelColumns - 1);
    DrawSeries(canvas, each, across, up, scale);
    canvas.PutInto(frame, place.row, place.column + kLabelColumns + 1, each.style);
  }
}

std::string Sparkline(std::span<const double> values, int width) {
  std::vector<double> finite;
  std::ranges::copy_if(values, std::back_inserter(finite), [](double value) { return std::isfinite(value); });
  if (finite.empty() || width <= 0) return {};
  Range range;
  for (const double value : finite) range.Include(value);
  const auto shown = std::min(finite.size(), static_cast<std::size_t>(width));
  std::string line;
  for (std::size_t i = 0; i < shown; ++i) {
    const auto from = i * finite.size() / shown, to = (i + 1) * finite.size() / shown;
    double sum = 0;
    for (auto at = from; at < to; ++at) sum += range.Share(finite[at]);
    const int level = static_cast<int>(sum / static_cast<double>(to - from) * kBlockCount);
    line += kBlocks[std::clamp(level, 0, kBlockCount - 1)];
  }
  return line;
}

std::string Bar(double share, int width) {
  const int filled = static_cast<int>(std::lround(std::clamp(share, 0.0, 1.0) * width));
  std::string bar;
  for (int i = 0; i < width; ++i) bar += i < filled ? "█" : "░";
  return bar;
}

std::string ShortNumber(double number) { return fmt::format("{:.5g}", number); }

}  // namespace slipway::launcher::watch
