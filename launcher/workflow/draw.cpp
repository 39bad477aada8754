#include "launcher/workflow/draw.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/utf8_character.h"

namespace slipway::launcher {
namespace {

constexpr int kBoxWidth = 190, kBoxHeight = 44, kGapX = 24, kGapY = 48, kMargin = 16;
constexpr int kBowOfHeight = 5;           ///< a bow is so many times as high as it is wide
constexpr std::size_t kLongestNote = 34;  ///< characters that fit into a box
constexpr std::size_t kLongestName = 20;  ///< in the larger letters of names
constexpr std::size_t kMostNeedsShown = 4;

std::string NeedsText(const Workflow& workflow, StepIndex step) {
  const auto& needs = workflow.needs[step];
  if (needs.empty()) return {};
  std::string text = "  needs ";
  for (std::size_t i = 0; i < std::min(needs.size(), kMostNeedsShown); ++i) {
    text += (i == 0 ? "" : ", ") + workflow.steps[needs[i]].name;
  }
  return needs.size() > kMostNeedsShown ? fmt::format("{} and {} more", text, needs.size() - kMostNeedsShown) : text;
}

std::string_view Fill(StepLook look) {
  switch (look) {
    case StepLook::kReused: return "#dff0e2";
    case StepLook::kRuns: return "#fff2cc";
    case StepLook::kFailed: return "#f8d9d6";
    case StepLook::kBlocked: return "#f4f4f4";
    case StepLook::kPlain: break;
  }
  return "#eef1f5";
}

/// What never starts has a broken edge, so that it is told from what failed without colours.
std::string_view Edge(StepLook look) { return look == StepLook::kBlocked ? " stroke-dasharray=\"4 3\"" : ""; }

std::string EscapedXml(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      case '&': result += "&amp;"; break;
      case '"': result += "&quot;"; break;
      default: result += c;
    }
  }
  return result;
}

struct Spot {
  int x = 0;
  int y = 0;
};

/// Each layer is centred; within it the steps keep their order.
class Layers {
 public:
  explicit Layers(const Workflow& workflow) : depths_(DepthsOf(workflow)), columns_(workflow.steps.size()) {
    widths_.resize(depths_.empty() ? 0 : *std::ranges::max_element(depths_) + 1, 0);
    for (const auto step : workflow.order) columns_[step] = widths_[depths_[step]]++;
    widest_ = widths_.empty() ? 1 : *std::ranges::max_element(widths_);
  }

  Spot SpotOf(StepIndex step) const {
    return {LeftOf(depths_[step]) + columns_[step] * kStepX, kMargin + static_cast<int>(depths_[step]) * kStepY};
  }

  Spot size() const {
    return {2 * kMargin + widest_ * kStepX - kGapX, 2 * kMargin + static_cast<int>(widths_.size()) * kStepY - kGapY};
  }

  /// The right end of the boxes that a straight line between two steps would pass behind; nothing: it passes none.
  std::optional<int> BehindUntil(StepIndex from, StepIndex to) const {
    std::optional<int> right;
    const auto start = SpotOf(from), end = SpotOf(to);
    const auto layers = static_cast<int>(depths_[to] - depths_[from]);
    for (int i = 1; i < layers; ++i) {
      const int x = start.x + (end.x - start.x) * i / layers + kBoxWidth / 2;
      const auto box = BoxAt(depths_[from] + static_cast<std::size_t>(i), x);
      if (box) right = std::max(right.value_or(0), *box + kBoxWidth);
    }
    return right;
  }

 private:
  static constexpr int kStepX = kBoxWidth + kGapX, kStepY = kBoxHeight + kGapY;

  int LeftOf(std::size_t layer) const { return kMargin + (widest_ - widths_[layer]) * kStepX / 2; }

  /// The left end of the box at `x`.
  std::optional<int> BoxAt(std::size_t layer, int x) const {
    const int column = (x - LeftOf(layer)) / kStepX;
    const int left = LeftOf(layer) + column * kStepX;
    const bool is_there = x >= left && x <= left + kBoxWidth && column < widths_[layer];
    return is_there ? std::optional(left) : std::nullopt;
  }

  std::vector<std::size_t> depths_;
  std::vector<int> columns_;
  std::vector<int> widths_;  ///< steps of each layer
  int widest_ = 1;
};

std::string StraightEdge(const Spot& from, const Spot& to) {
  const int x = from.x + kBoxWidth / 2, y = from.y + kBoxHeight;
  const int end_x = to.x + kBoxWidth / 2;
  return fmt::format("<path d=\"M{} {}C{} {} {} {} {} {}\"/>\n", x, y, x, y + kGapY / 2, end_x, to.y - kGapY / 2, end_x,
                     to.y);
}

/// From side to side, so that it is seen beside the boxes between. Those of longer ways lie further out.
std::string BowedEdge(const Spot& from, const Spot& to, int right, int& picture_width) {
  const int y = from.y + kBoxHeight / 2, end_y = to.y + kBoxHeight / 2;
  const int bow = right + (end_y - y) / kBowOfHeight;
  picture_width = std::max(picture_width, bow + kMargin);
  return fmt::format("<path d=\"M{} {}C{} {} {} {} {} {}\"/>\n", from.x + kBoxWidth, y, bow, y, bow, end_y,
                     to.x + kBoxWidth, end_y);
}

std::string Shortened(const std::string& line, std::size_t most) {
  std::size_t end = 0, shown = 0;
  for (std::size_t characters = 0; end < line.size(); ++characters) {
    if (characters == most) return line.substr(0, shown) + "...";
    end += std::max<std::size_t>(1, Utf8CharacterLength(std::string_view(line).substr(end)));
    if (characters + 3 < most) shown = end;
  }
  return line;
}

std::string Box(const Step& step, const DrawnStep& drawn, const Spot& spot) {
  const auto note =
      Shortened(fmt::format("{}{}{}", WordOf(step.kind()), drawn.note.empty() ? "" : ": ", drawn.note), kLongestNote);
  return fmt::format(
      "<g><title>{0}: {1}</title><rect x=\"{2}\" y=\"{3}\" width=\"{4}\" height=\"{5}\" rx=\"6\" fill=\"{6}\"{12}/>"
      "<text x=\"{7}\" y=\"{8}\" class=\"name\">{11}</text><text x=\"{7}\" y=\"{9}\">{10}</text></g>\n",
      EscapedXml(step.name), EscapedXml(drawn.note), spot.x, spot.y, kBoxWidth, kBoxHeight, Fill(drawn.look),
      spot.x + kBoxWidth / 2, spot.y + 18, spot.y + 34, EscapedXml(note),
      EscapedXml(Shortened(step.name, kLongestName)), Edge(drawn.look));
}

}  // namespace

std::vector<std::size_t> DepthsOf(const Workflow& workflow) {
  std::vector<std::size_t> depths(workflow.steps.size(), 0);
  for (const auto step : workflow.order) {
    for (const auto need : workflow.needs[step]) depths[step] = std::max(depths[step], depths[need] + 1);
  }
  return depths;
}

std::string DrawText(const Workflow& workflow, const std::vector<DrawnStep>& steps) {
  const auto depths = DepthsOf(workflow);
  constexpr std::size_t kDeepestIndent = 12;
  std::size_t width = 0;
  for (const auto step : workflow.order) {
    width = std::max(width, 2 * std::min(depths[step], kDeepestIndent) + workflow.steps[step].name.size());
  }
  std::string text;
  for (const auto step : workflow.order) {
    const auto name = std::string(2 * std::min(depths[step], kDeepestIndent), ' ') + workflow.steps[step].name;
    text += fmt::format("{:<{}}  {:<10}  {}{}\n", name, width, WordOf(workflow.steps[step].kind()), steps[step].note,
                        NeedsText(workflow, step));
  }
  return text;
}

std::string DrawSvg(const Workflow& workflow, const std::vector<DrawnStep>& steps) {
  const Layers layers(workflow);
  auto size = layers.size();
  std::string edges, boxes;
  for (StepIndex step = 0; step < workflow.steps.size(); ++step) {
    const auto spot = layers.SpotOf(step);
    for (const auto need : workflow.needs[step]) {
      const auto right = layers.BehindUntil(need, step);
      const auto from = layers.SpotOf(need);
      edges += right ? BowedEdge(from, spot, *right, size.x) : StraightEdge(from, spot);
    }
    boxes += Box(workflow.steps[step], steps[step], spot);
  }
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\">\n"
      "<style>text{{font:11px sans-serif;text-anchor:middle;fill:#333}}.name{{font-size:14px;font-weight:600}}"
      "rect{{stroke:#8893a0}}path{{fill:none;stroke:#8893a0;stroke-width:1.5}}</style>\n{2}{3}</svg>\n",
      size.x, size.y, edges, boxes);
}

}  // namespace slipway::launcher
