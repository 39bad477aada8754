#include "launcher/cli/commands/trials_pareto.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/error.h"
#include "core/output.h"
#include "core/text.h"
#include "core/text_table.h"
#include "ensemble/analysis/ranking.h"
#include "launcher/cli/commands/trials_leaderboard.h"

namespace slipway::launcher {
namespace {

using ensemble::Objectives;
using ensemble::Standing;
using ensemble::TrialRecord;

/// The complete trials of a study, or with repeats its configurations, and where each stands.
struct Fronts {
  std::vector<TrialRecord> trials;
  std::vector<Standing> order;
  Objectives reference;  ///< as the user counts; empty without trials
  double hypervolume = 0;
};

Fronts FrontsOf(const TrialsView& view) {
  Fronts fronts;
  for (auto& row : LeaderboardOf(view)) {
    if (row.front) fronts.trials.push_back(std::move(row.trial));
  }
  std::ranges::sort(fronts.trials, {}, &TrialRecord::number);
  std::vector<Objectives> points;
  for (const auto& trial : fronts.trials) points.push_back(LowerIsBetter(ValuesOf(trial), view.study));
  fronts.order = ensemble::OrderByFronts(points);
  if (const auto worst = ensemble::WorstPoint(points)) {
    fronts.hypervolume = ensemble::Hypervolume(points, *worst);
    fronts.reference = LowerIsBetter(*worst, view.study);
  }
  return fronts;
}

void Shorten(std::vector<Standing>& order, const TrialsParetoOptions& options) {
  if (!options.all) std::erase_if(order, [](const Standing& standing) { return standing.front > 0; });
  const auto limit = static_cast<std::size_t>(options.limit);
  if (limit > 0 && order.size() > limit) order.resize(limit);
}

Json DocumentOf(const TrialsView& view, const Fronts& fronts) {
  Json rows = Json::array();
  for (const auto& standing : fronts.order) {
    const auto& trial = fronts.trials[standing.point];
    rows.push_back(Json{{"trial", trial.number},
                        {"front", standing.front + 1},
                        {"values", ValuesOf(trial)},
                        {"parameters", ensemble::ToJson(trial.parameters)}});
  }
  return Json{{"schema", "slipway.trials.pareto/1"}, {"study", StudyDocument(view.study)},
              {"complete", fronts.trials.size()},    {"reference", fronts.reference},
              {"hypervolume", fronts.hypervolume},   {"trials", std::move(rows)}};
}

std::string TableOf(const TrialsView& view, const Fronts& fronts, std::optional<int> columns) {
  std::vector<std::string> header = {"front", "trial"};
  for (const auto& objective : view.study.objectives) header.push_back(objective.ValueName());
  header.push_back("parameters");
  TextTable table(header);
  for (const auto& standing : fronts.order) {
    const auto& trial = fronts.trials[standing.point];
    std::vector<std::string> row = {std::to_string(standing.front + 1), std::to_string(trial.number)};
    for (const double value : ValuesOf(trial)) row.push_back(NumberCell(value));
    row.push_back(ensemble::Describe(trial.parameters));
    table.AddRow(std::move(row));
  }
  table.CutToFit("parameters", columns);
  return table.Render();
}

std::string TextOf(const TrialsView& view, const Fronts& fronts, std::optional<int> columns) {
  return fmt::format("{} of {} complete trials; {}; hypervolume {:.6g}\n", fronts.order.size(), fronts.trials.size(),
                     GoalsText(view.study), fronts.hypervolume) +
         TableOf(view, fronts, columns);
}

}  // namespace

int TrialsPareto(const TrialsParetoOptions& options, Output& output) {
  const TrialsView view = OpenTrials(options.run_folder);
  if (view.study.objectives.size() < 2) {
    throw Error(ErrorKind::kUsage,
                fmt::format("this ensemble has one objective, {}: one trial is the best, there is no front",
                            view.study.objectives.front().ValueName()),
                "slipway trials best");
  }
  auto fronts = FrontsOf(view);
  Shorten(fronts.order, options);
  std::string brief;
  for (const auto& standing : fronts.order) brief += fmt::format("{}\n", fronts.trials[standing.point].number);
  output.Print({DocumentOf(view, fronts), TextOf(view, fronts, output.Columns()), brief});
  return 0;
}

}  // namespace slipway::launcher
