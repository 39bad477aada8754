#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "core/text.h"
#include "core/units.h"
#include "launcher/watch/draw_parts.h"
#include "launcher/watch/plot.h"
#include "launcher/watch/rows.h"

namespace slipway::launcher::watch {
namespace {

constexpr int kLabel = 12;  // columns of "checkpoint  "
constexpr int kBarColumns = 20;
constexpr int kTwoColumns = 70;  // from here on, plot and leaderboard stand side by side
constexpr int kCurveLineColumns = 24;
constexpr std::size_t kMostCurveLines = 4;
constexpr std::size_t kMostGpuLines = 4;
constexpr double kUnknownUse = 2;  // above all that are known
constexpr std::ptrdiff_t kMostPhases = 6;

/// Lines with a label each, from the top down.
class Lines {
 public:
  Lines(Frame& frame, const Rectangle& place) : frame_(frame), rest_(place) {}

  void Add(std::string_view label, std::string_view text, Style style = Style::kPlain) {
    if (rest_.rows <= 0) return;
    frame_.Put(rest_.row, rest_.column, label, Style::kDim, kLabel - 1);
    frame_.Put(rest_.row, rest_.column + kLabel, text, style, rest_.columns - kLabel);
    ++rest_.row, --rest_.rows;
  }
  void Skip() { ++rest_.row, --rest_.rows; }
  const Rectangle& rest() const { return rest_; }

 private:
  Frame& frame_;
  Rectangle rest_;
};

/// The latest stays in phases; being created takes no time worth showing.
std::string PhasesText(const RunView& run, double now) {
  std::vector<std::string> words;
  for (const auto& span : run.phases) {
    if (span.phase == PhaseName(Phase::kCreated)) continue;
    const double until = span.to.value_or(run.ended.value_or(now));
    words.push_back(fmt::format("{} {}", span.phase, FormatDuration(Seconds(std::max(0.0, until - span.from)))));
  }
  if (std::ssize(words) > kMostPhases) {
    words.erase(words.begin(), words.end() - kMostPhases);
    words.insert(words.begin(), "...");
  }
  if (HasEnded(run.phase) || words.empty()) words.emplace_back(PhaseName(run.phase));
  return fmt::format("{}", fmt::join(words, "  ›  "));
}

std::string StagedText(const WatchData& data) {
  const auto& run = *data.run;
  std::uint64_t bytes = 0;
  for (const auto& dataset : run.datasets) bytes += dataset.bytes;
  auto text = fmt::format("{} of {} datasets, {}", run.datasets.size(),
                          std::max(data.plan.datasets.size(), run.datasets.size()), FormatBytes({bytes}));
  for (const auto& dataset : run.datasets) {
    text +=
        fmt::format("; {}: {}{}", dataset.name, dataset.tier,
                    dataset.found ? ", was there" : fmt::format(" in {}", FormatDuration(Seconds(dataset.seconds))));
  }
  return text;
}

/// Steps a second over the latest quarter of what the curve holds.
std::optional<double> StepRate(const CurveView& curve) {
  const auto count = curve.step.size();
  if (count < 2) return {};
  const auto from = count - std::max<std::size_t>(2, count / 4);
  const double seconds = curve.time.back() - curve.time[from], steps = curve.step.back() - curve.step[from];
  return seconds > 0 && steps > 0 ? std::optional(steps / seconds) : std::nullopt;
}

const CurveView* LatestCurve(const RunView& run) {
  const CurveView* latest = nullptr;
  for (const auto& curve : run.curves) {
    if (curve.step.empty()) continue;
    if (latest == nullptr || curve.attempt > latest->attempt) latest = &curve;
  }
  return latest;
}

std::string ProgressText(const Model& model) {
  const auto& run = *model.data->run;
  std::string text;
  if (run.progress && run.progress->total && *run.progress->total > 0) {
    const double share = run.progress->done / *run.progress->total;
    text = fmt::format("{} {:.0f} %  {:.0f} of {:.0f} {}", Bar(share, kBarColumns), 100 * share, run.progress->done,
                       *run.progress->total, run.progress->unit);
  } else if (run.progress) {
    text = fmt::format("step {:.0f}", run.progress->done);
  }
  const auto* curve = LatestCurve(run);
  const auto rate = curve != nullptr && !HasEnded(run.phase) ? StepRate(*curve) : std::nullopt;
  if (rate) text += fmt::format("  {:.3g} steps/s", *rate);
  if (run.progress && run.progress->left_s) text += fmt::format("  about {} left", DurationText(run.progress->left_s));
  const bool has_limit = model.data->plan.time_limit_s && run.started && !HasEnded(run.phase);
  if (has_limit) {
    const double left = *model.data->plan.time_limit_s - (model.now - *run.started);
    text += fmt::format("  time limit in {}", FormatDuration(Seconds(std::max(0.0, left))));
  }
  return text;
}

std::string CheckpointText(const Model& model) {
  const auto& run = *model.data->run;
  const auto& last = run.checkpoints.back();
  const double age = std::max(0.0, model.now - last.time);
  auto text = fmt::format("step {}, {}", last.step, FormatBytes({last.bytes}));
  if (last.seconds > 0) text += fmt::format(" in {}", FormatDuration(Seconds(last.seconds)));
  if (last.time > 0) text += fmt::format(", {} ago", FormatDuration(Seconds(age)));
  if (const auto every = model.data->plan.checkpoint_every_s; every && !HasEnded(run.phase)) {
    text += fmt::format("; next in about {}", FormatDuration(Seconds(std::max(0.0, *every - age))));
  }
  return text;
}

std::vector<double> FiniteValues(const CurveView& curve) {
  std::vector<double> values;
  for (const auto& value : curve.value) {
    if (value) values.push_back(*value);
  }
  return values;
}

void AddCurveLines(Lines& lines, const RunView& run) {
  std::vector<const CurveView*> shown;
  for (const auto& curve : run.curves) {
    if (curve.attempt == run.attempt && !curve.step.empty()) shown.push_back(&curve);
  }
  std::ranges::stable_partition(shown, [](const CurveView* curve) { return curve->metric == "loss"; });
  if (shown.size() > kMostCurveLines) shown.resize(kMostCurveLines);
  for (const auto* curve : shown) {
    const auto values = FiniteValues(*curve);
    lines.Add(curve->metric,
              fmt::format("{:<12} {}", curve->value.back() ? ShortNumber(*curve->value.back()) : "not finite",
                          Sparkline(values, kCurveLineColumns)));
  }
}

std::string RanksText(const Model& model) {
  const auto& data = *model.data;
  std::vector<std::string> slow;
  for (const auto& rank : data.ranks) {
    if (rank.straggler) slow.push_back(std::to_string(rank.rank));
  }
  auto text = fmt::format("{} on {}", data.run->ranks, Counted(data.run->nodes, "node"));
  if (!slow.empty()) text += fmt::format("; the others wait for rank {}", slow.front());
  return text;
}

std::string UseText(const char* before, std::optional<std::uint64_t> used, std::uint64_t of, std::optional<double> busy,
                    const char* after) {
  std::vector<std::string> words;
  if (used) words.push_back(fmt::format("{}{} of {}", before, FormatBytes({*used}), FormatBytes({of})));
  if (busy) words.push_back(fmt::format("{:.0f} % busy{}", 100 * *busy, after));
  return words.empty() ? "does not answer" : fmt::format("{}", fmt::join(words, ", "));
}

/// "41.2 GB of 80 GB, 93 % busy"; of a run that has ended its peak and mean.
std::string GpuText(const MeasuredGpu& gpu, bool ended) {
  const auto of = gpu.memory_bytes.value_or(0);
  return ended ? UseText("at most ", gpu.memory_peak_bytes, of, gpu.mean_utilisation, " on average")
               : UseText("", gpu.memory_used_bytes, of, gpu.utilisation, "");
}

using Gpus = std::vector<MeasuredGpu>;

/// The mean of those that answer, at the last look.
std::optional<double> BusyNow(const Gpus& gpus) {
  double sum = 0;
  int count = 0;
  for (const auto& gpu : gpus) {
    if (gpu.utilisation) sum += *gpu.utilisation, ++count;
  }
  return count > 0 ? std::optional(sum / count) : std::nullopt;
}

std::optional<double> BusyOf(const Gpus& gpus, bool ended) { return ended ? UseOf(gpus).utilisation : BusyNow(gpus); }
std::optional<double> BusyOf(const MeasuredGpu& gpu, bool ended) {
  return ended ? gpu.mean_utilisation : gpu.utilisation;
}

/// "up to 41.2 GB of 80 GB, 93 % busy": the memory of the GPU that uses most, and the mean of all.
std::string GpusText(const Gpus& gpus, bool ended) {
  std::optional<std::uint64_t> used;
  std::uint64_t of = 0;
  for (const auto& gpu : gpus) {
    used = std::max(used, ended ? gpu.memory_peak_bytes : gpu.memory_used_bytes);
    of = std::max(of, gpu.memory_bytes.value_or(0));
  }
  return UseText(ended ? "at most " : "up to ", used, of, BusyOf(gpus, ended), ended ? " on average" : "");
}

/// A line for each node, or one for all of them and one for the node that waits most.
void AddNodesOfGpus(Lines& lines, const std::map<std::string, Gpus>& nodes, const Gpus& all, bool ended) {
  if (nodes.size() <= kMostGpuLines) {
    for (const auto& [node, gpus] : nodes) {
      lines.Add("gpus", fmt::format("{}  {}: {}", node, gpus.size(), GpusText(gpus, ended)));
    }
    return;
  }
  lines.Add("gpus", fmt::format("{} on {} nodes: {}", all.size(), nodes.size(), GpusText(all, ended)));
  const auto busy = [&](const auto& node) { return BusyOf(node.second, ended).value_or(kUnknownUse); };
  const auto least = std::ranges::min_element(nodes, {}, busy);
  if (BusyOf(least->second, ended)) lines.Add("least busy", least->first + "  " + GpusText(least->second, ended));
}

void AddLeastBusyGpu(Lines& lines, const Gpus& gpus, bool ended) {
  const auto busy = [&](const auto& gpu) { return BusyOf(gpu, ended).value_or(kUnknownUse); };
  const auto least = std::ranges::min_element(gpus, {}, busy);
  if (!BusyOf(*least, ended)) return;
  lines.Add("least busy", fmt::format("gpu {}  {}", least - gpus.begin(), GpuText(*least, ended)));
}

void AddGpus(Lines& lines, const RunView& run) {
  const bool ended = HasEnded(run.phase);
  std::map<std::string, Gpus> nodes;
  for (const auto& gpu : run.gpus) nodes[gpu.host].push_back(gpu);
  if (nodes.size() > 1) return AddNodesOfGpus(lines, nodes, run.gpus, ended);
  const auto shown = std::min(run.gpus.size(), kMostGpuLines);
  for (std::size_t i = 0; i < shown; ++i) lines.Add(fmt::format("gpu {}", i), GpuText(run.gpus[i], ended));
  if (shown == run.gpus.size()) return;
  const std::vector rest(run.gpus.begin() + static_cast<std::ptrdiff_t>(shown), run.gpus.end());
  lines.Add("gpus", fmt::format("{} more: {}", rest.size(), GpusText(rest, ended)));
  AddLeastBusyGpu(lines, run.gpus, ended);
}

void AddEnd(Lines& lines, const RunView& run, const WatchData& data) {
  if (!run.reason.empty()) {
    lines.Add(HasEnded(run.phase) ? "why" : "now", run.reason,
              HasEnded(run.phase) ? StyleOfState(PhaseName(run.phase)) : Style::kPlain);
  }
  if (!data.finding.empty()) lines.Add("watch", data.finding, Style::kBad);
  if (!run.warnings.empty()) lines.Add("warning", run.warnings.front(), Style::kWarning);
}

// ---- ensembles

std::string CountsText(const WatchData& data) {
  std::string text;
  for (const auto& [state, count] : data.states) text += fmt::format("{}{} {}", text.empty() ? "" : "  ", state, count);
  return text.empty() ? "no trial yet" : text;
}

std::string BestText(const WatchData& data) {
  const auto& run = *data.run;
  if (!run.best) return "no trial is complete";
  auto text = fmt::format("{} {}", run.best->metric, ShortNumber(run.best->value));
  if (!run.best->trial) return text;
  text += fmt::format("  trial {}", *run.best->trial);
  const auto row = static_cast<std::size_t>(*run.best->trial);
  if (run.trials && row < run.trials->number.size()) text += "  " + ParametersOf(*run.trials, row);
  return text;
}

/// The unit in which so many seconds are a readable number.
std::pair<const char*, double> UnitFor(double seconds) {
  if (seconds < 2 * 60) return {"seconds", 1};
  return seconds < 2 * 3600 ? std::pair("minutes", 60.0) : std::pair("hours", 3600.0);
}

void DrawBestSoFar(Frame& frame, const Rectangle& place, const WatchData& data) {
  if (data.best_so_far.empty()) return;
  const double begin = data.best_so_far.front().first;
  const auto [name, unit] = UnitFor(data.best_so_far.back().first - begin);
  Series series;
  for (const auto& [time, value] : data.best_so_far) {
    if (!series.dots.empty()) series.dots.push_back({(time - begin) / unit, series.dots.back().y});  // it steps
    series.dots.push_back({(time - begin) / unit, value});
  }
  frame.Put(place.row, place.column, fmt::format("best so far, by {}", name), Style::kStrong);
  DrawPlot(frame, {place.row + 1, place.column, place.rows - 1, place.columns}, {series});
}

void DrawLeaders(Frame& frame, const Rectangle& place, const Model& model) {
  const auto& trials = *model.data->run->trials;
  ListState list;
  const auto shown = std::min(model.data->leaders.size(), static_cast<std::size_t>(std::max(0, place.rows - 1)));
  list.order.assign(model.data->leaders.begin(), model.data->leaders.begin() + static_cast<std::ptrdiff_t>(shown));
  list.cursor = list.order.size();  // no row is selected
  DrawTable(frame, place,
            {{{"rank", 4, true}, {"trial", 6, true}, {"value", 11, true}, {"parameters"}},
             [&](std::size_t row) -> std::vector<TableCell> {
               return {{std::to_string(trials.rank[row].value_or(0))},
                       {std::to_string(trials.number[row])},
                       {trials.value.empty() ? "-" : NumberText(trials.value[0][row])},
                       {ParametersOf(trials, row)}};
             },
             "no trial is complete"},
            list);
}

void DrawRunning(Frame& frame, const Rectangle& place, const Model& model) {
  ListState list;
  const auto& running = model.data->running;
  const auto shown = std::min(running.size(), static_cast<std::size_t>(std::max(0, place.rows - 1)));
  list.order.assign(running.begin(), running.begin() + static_cast<std::ptrdiff_t>(shown));
  list.cursor = list.order.size();  // no row is selected
  DrawPlaces(frame, place, model, list);
}

void DrawUpperHalf(Frame& frame, const Rectangle& place, const Model& model) {
  if (place.columns < kTwoColumns) return DrawLeaders(frame, place, model);
  const int left = place.columns / 2 - 1;
  DrawBestSoFar(frame, {place.row, place.column, place.rows, left}, *model.data);
  DrawLeaders(frame, {place.row, place.column + left + 2, place.rows, place.columns - left - 2}, model);
}

}  // namespace

void DrawSingle(Frame& frame, const Rectangle& place, const Model& model) {
  const auto& data = *model.data;
  const auto& run = *data.run;
  Lines lines(frame, place);
  lines.Add("phases", PhasesText(run, model.now), StyleOfState(PhaseName(run.phase)));
  if (!data.plan.datasets.empty() || !run.datasets.empty()) lines.Add("staged", StagedText(data));
  if (const auto text = ProgressText(model); !text.empty()) lines.Add("progress", text);
  if (!run.checkpoints.empty()) lines.Add("checkpoint", CheckpointText(model));
  if (run.ranks > 1) lines.Add("ranks", RanksText(model));
  AddGpus(lines, run);
  AddEnd(lines, run, data);
  AddCurveLines(lines, run);
  lines.Skip();
  DrawMetrics(frame, lines.rest(), run.curves, model.log_scale);
}

void DrawEnsemble(Frame& frame, const Rectangle& place, const Model& model) {
  const auto& data = *model.data;
  Lines lines(frame, place);
  lines.Add("trials", CountsText(data));
  if (const auto text = ProgressText(model); !text.empty()) lines.Add("progress", text);
  lines.Add("best", BestText(data), Style::kGood);
  if (!data.plan.datasets.empty() || !data.run->datasets.empty()) lines.Add("staged", StagedText(data));
  AddGpus(lines, *data.run);
  AddEnd(lines, *data.run, data);
  if (!data.run->trials) return;
  lines.Skip();
  const auto& rest = lines.rest();
  const int running = std::min(static_cast<int>(data.running.size()) + 2, rest.rows / 2);
  const int upper = data.running.empty() ? rest.rows : rest.rows - running;
  DrawUpperHalf(frame, {rest.row, rest.column, upper, rest.columns}, model);
  if (!data.running.empty()) DrawRunning(frame, {rest.row + upper, rest.column, running, rest.columns}, model);
}

}  // namespace slipway::launcher::watch
