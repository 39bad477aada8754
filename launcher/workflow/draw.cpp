#include "launcher/workflow/draw.h"

#include <fmt/format.h>

#include <algorithm>

namespace slipway::launcher {
namespace {

constexpr int kBoxWidth = 190, kBoxHeight = 44, kGapX = 24, kGapY = 48, kMargin = 16;
constexpr std::size_t kLongestNote = 30;
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
    case StepLook::kPlain: break;
  }
  return "#eef1f5";
}

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
std::vector<Spot> Spots(const Workflow& workflow, Spot& size) {
  const auto depths = DepthsOf(workflow);
  std::vector<int> widths(depths.empty() ? 0 : *std::ranges::max_element(depths) + 1, 0);
  std::vector<Spot> spots(workflow.steps.size());
  for (const auto step : workflow.order) spots[step].x = widths[depths[step]]++;
  const int widest = widths.empty() ? 1 : *std::ranges::max_element(widths);
  for (StepIndex step = 0; step < spots.size(); ++step) {
    const int free = (widest - widths[depths[step]]) * (kBoxWidth + kGapX) / 2;
    spots[step] = {kMargin + free + spots[step].x * (kBoxWidth + kGapX),
                   kMargin + static_cast<int>(depths[step]) * (kBoxHeight + kGapY)};
  }
  size = {2 * kMargin + widest * (kBoxWidth + kGapX) - kGapX,
          2 * kMargin + static_cast<int>(widths.size()) * (kBoxHeight + kGapY) - kGapY};
  return spots;
}

std::string Edge(const Spot& from, const Spot& to) {
  const int x = from.x + kBoxWidth / 2, y = from.y + kBoxHeight;
  const int end_x = to.x + kBoxWidth / 2;
  return fmt::format("<path d=\"M{} {}C{} {} {} {} {} {}\"/>\n", x, y, x, y + kGapY / 2, end_x, to.y - kGapY / 2, end_x,
                     to.y);
}

std::string Box(const Step& step, const DrawnStep& drawn, const Spot& spot) {
  const auto note =
      fmt::format("{}{}{}", WordOf(step.kind()), drawn.note.empty() ? "" : ": ",
                  drawn.note.size() > kLongestNote ? drawn.note.substr(0, kLongestNote) + "..." : drawn.note);
  return fmt::format(
      "<g><title>{0}: {1}</title><rect x=\"{2}\" y=\"{3}\" width=\"{4}\" height=\"{5}\" rx=\"6\" fill=\"{6}\"/>"
      "<text x=\"{7}\" y=\"{8}\" class=\"name\">{0}</text><text x=\"{7}\" y=\"{9}\">{10}</text></g>\n",
      EscapedXml(step.name), EscapedXml(drawn.note), spot.x, spot.y, kBoxWidth, kBoxHeight, Fill(drawn.look),
      spot.x + kBoxWidth / 2, spot.y + 18, spot.y + 34, EscapedXml(note));
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
  Spot size;
  const auto spots = Spots(workflow, size);
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\">\n"
      "<style>text{{font:11px sans-serif;text-anchor:middle;fill:#333}}.name{{font-size:14px;font-weight:600}}"
      "rect{{stroke:#8893a0}}path{{fill:none;stroke:#8893a0;stroke-width:1.5}}</style>\n",
      size.x, size.y);
  for (StepIndex step = 0; step < workflow.steps.size(); ++step) {
    for (const auto need : workflow.needs[step]) text += Edge(spots[need], spots[step]);
  }
  for (StepIndex step = 0; step < workflow.steps.size(); ++step) {
    text += Box(workflow.steps[step], steps[step], spots[step]);
  }
  return text + "</svg>\n";
}

}  // namespace slipway::launcher
