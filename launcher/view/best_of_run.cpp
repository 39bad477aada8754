#include "launcher/view/best_of_run.h"

#include <algorithm>
#include <cctype>
#include <string_view>

#include "core/error.h"
#include "core/lines.h"
#include "core/metrics_line.h"
#include "launcher/ranks/monitor/log_tail.h"
#include "launcher/trials/trials_glance.h"

namespace slipway::launcher {
namespace {

constexpr std::size_t kLinesOfLastReport = 20;

/// By the last word of its name, in any case: "eval_accuracy", "mAP". Of all others less is better.
ensemble::Goal GoalOf(const std::string& metric) {
  static constexpr std::string_view kWords[] = {"accuracy", "acc",    "auc",   "auroc",     "bleu", "dice",
                                                "f1",       "iou",    "map",   "precision", "psnr", "r2",
                                                "recall",   "reward", "score", "ssim"};
  auto word = metric.substr(metric.find_last_of("_/.-") + 1);
  std::ranges::transform(word, word.begin(),
                         [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return std::ranges::find(kWords, word) != std::end(kWords) ? ensemble::Goal::kMaximize : ensemble::Goal::kMinimize;
}

std::optional<TrialsGlance> GlanceIfReadable(const RunFolder& folder) try {
  return GlanceAtTrials(folder.path());
} catch (const Error&) {  // `slipway status` and `slipway trials ls` say why
  return {};
}

}  // namespace

std::optional<BestValue> BestOfMetrics(const std::map<std::string, double>& metrics, const std::string& metric) {
  auto found = metrics.find(metric.empty() ? "loss" : metric);
  if (found == metrics.end() && metric.empty() && metrics.size() == 1) found = metrics.begin();
  if (found == metrics.end()) return {};
  return BestValue{found->first, GoalOf(found->first), found->second, {}, {}};
}

std::optional<BestValue> BestOf(const RunFolder& folder, const RunState& state, const std::string& metric) {
  if (!state.ensemble) return BestOfMetrics(state.metrics, metric);
  const auto glance = GlanceIfReadable(folder);
  if (!glance || glance->trials.empty() || !glance->trials.front().value) return {};
  const auto& objective = glance->study.objectives.front();
  if (!metric.empty() && metric != objective.metric && metric != objective.ValueName()) return {};
  const auto& best = glance->trials.front();
  return BestValue{objective.ValueName(), objective.ValueGoal(), *best.value, best.trial.number, {}};
}

std::optional<LastReport> LastReportOf(const RunFolder& folder, int attempt) {
  const auto text = LastLines(folder.attempt(attempt) / "metrics.jsonl", kLinesOfLastReport);
  std::optional<LastReport> report;
  LineWords lines(text);
  while (!lines.rest().empty()) {
    const auto line = ParseMetricsLine(lines.Word('\n'));
    if (!line) continue;
    if (!report) report.emplace();
    if (line->has_step) report->step = line->step;
    for (const auto& [name, value] : line->values) report->metrics[name] = value;
  }
  return report;
}

}  // namespace slipway::launcher
