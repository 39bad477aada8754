#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

#include "launcher/watch/draw_parts.h"
#include "launcher/watch/plot.h"
#include "launcher/watch/rows.h"

namespace slipway::launcher::watch {
namespace {

constexpr int kFewestPlotRows = 6;  // with its heading
constexpr double kGap = std::numeric_limits<double>::quiet_NaN();

/// One series from all attempts; a gap between two, and where a value is not finite.
Series SeriesOf(const std::vector<const CurveView*>& attempts) {
  Series series;
  for (const auto* curve : attempts) {
    if (!series.dots.empty()) series.dots.push_back({series.dots.back().x, kGap});
    for (std::size_t i = 0; i < curve->step.size(); ++i) {
      series.dots.push_back({curve->step[i], curve->value[i].value_or(kGap)});
    }
  }
  return series;
}

std::string HeadingOf(const std::string& metric, const std::vector<const CurveView*>& attempts, bool log_scale) {
  const auto& last = *attempts.back();
  std::uint64_t not_finite = 0;
  for (const auto* curve : attempts) not_finite += curve->not_finite;
  auto text = metric;
  if (!last.value.empty())
    text += fmt::format("  {}", last.value.back() ? ShortNumber(*last.value.back()) : "not finite");
  if (last.lowest && last.highest)
    text += fmt::format("  from {} to {}", ShortNumber(*last.lowest), ShortNumber(*last.highest));
  if (not_finite > 0) text += fmt::format("  {} not finite", not_finite);
  return log_scale ? text + "  log scale" : text;
}

}  // namespace

void DrawMetrics(Frame& frame, const Rectangle& place, const std::vector<CurveView>& curves, bool log_scale) {
  std::map<std::string, std::vector<const CurveView*>> metrics;
  for (const auto& curve : curves) {
    if (!curve.step.empty()) metrics[curve.metric].push_back(&curve);
  }
  if (metrics.empty()) {
    if (place.rows > 0) frame.Put(place.row, place.column, "no metric was reported yet", Style::kDim);
    return;
  }
  const int count = std::clamp(place.rows / kFewestPlotRows, 1, static_cast<int>(metrics.size()));
  const int rows = place.rows / count;
  int row = place.row, left = count;
  for (const auto& [metric, attempts] : metrics) {
    if (left-- == 0) break;
    if (rows > 0) frame.Put(row, place.column, HeadingOf(metric, attempts, log_scale), Style::kStrong, place.columns);
    DrawPlot(frame, {row + 1, place.column, rows - 1, place.columns}, {SeriesOf(attempts)},
             log_scale ? Scale::kLog : Scale::kLinear);
    row += rows;
  }
}

void DrawCurves(Frame& frame, const Rectangle& place, const Model& model) {
  DrawMetrics(frame, place, model.data->run->curves, model.log_scale);
}

void DrawTrial(Frame& frame, const Rectangle& place, const Model& model) {
  const auto& run = *model.data->run;
  const auto row = static_cast<std::size_t>(model.trial.value_or(0));
  if (!model.trial || !run.trials || row >= run.trials->number.size()) {
    frame.Put(place.row, place.column, "this trial is not in the book", Style::kDim);
    return;
  }
  const auto& trials = *run.trials;
  auto rest = place;
  const auto line = [&](std::string_view text, Style style = Style::kPlain) {
    if (text.empty() || rest.rows <= 0) return;
    frame.Put(rest.row, rest.column, text, style, rest.columns);
    ++rest.row, --rest.rows;
  };
  line(fmt::format("{}  {} {}  rank {}  {}  attempt {}", trials.state[row],
                   run.objectives.empty() ? "value" : run.objectives.front().name,
                   trials.value.empty() ? "-" : NumberText(trials.value[0][row]),
                   trials.rank[row] ? std::to_string(*trials.rank[row]) : "-",
                   DurationText(DurationOfTrial(run, row, model.now)), trials.attempts[row]),
       StyleOfState(trials.state[row]));
  line(trials.place[row].empty() ? "" : "place " + trials.place[row]);
  line(ParametersOf(trials, row));
  line(trials.reason[row], Style::kBad);
  const auto& read = model.data->trial;
  ++rest.row, --rest.rows;
  if (!read || read->trial != *model.trial) {
    frame.Put(rest.row, rest.column, "reading ...", Style::kDim);
    return;
  }
  DrawMetrics(frame, rest, read->curves, model.log_scale);
}

void DrawLog(Frame& frame, const Rectangle& place, const Model& model) {
  const auto& log = model.data->log;
  const auto folder = model.step.empty() ? std::filesystem::path(model.data->run->folder) : model.workflow;
  const auto path = log.file.lexically_relative(folder).string();
  frame.Put(place.row, place.column, log.cut ? path + "  the last 64 KiB; all of it: slipway logs" : path, Style::kDim,
            place.columns);
  if (!log.exists || log.lines.empty()) {
    frame.Put(place.row + 1, place.column, log.exists ? "it is empty so far" : "there is no such log yet", Style::kDim);
    return;
  }
  const int rows = place.rows - 1, count = static_cast<int>(log.lines.size());
  const int end = std::clamp(count - model.log_lines_below, std::min(rows, count), count);
  for (int i = std::max(0, end - rows), row = place.row + 1; i < end; ++i, ++row) {
    frame.Put(row, place.column, log.lines[static_cast<std::size_t>(i)], Style::kPlain, place.columns);
  }
}

}  // namespace slipway::launcher::watch
