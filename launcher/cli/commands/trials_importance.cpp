#include "launcher/cli/commands/trials_importance.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/output.h"
#include "core/text_table.h"
#include "ensemble/analysis/importance.h"
#include "launcher/trials/trials_view.h"

namespace slipway::launcher {
namespace {

using ensemble::Importances;

constexpr std::size_t kMostPairsShown = 10;

Importances Analyse(TrialsView& view, const ensemble::ImportanceOptions& options) {
  const ensemble::Encoding encoding(ensemble::ParseSpace(Json::parse(view.study.space)));
  const ensemble::TrialTable table(view.book.Trials());
  ensemble::ObservationLog log(encoding, view.study.objectives.front().ValueGoal());
  return ensemble::ImportancesOf(encoding, log.Update(table.size(), table), options);
}

Json ShareDocument(const ensemble::Share& share) {
  return Json{{"share", share.mean}, {"low", share.low}, {"high", share.high}};
}

Json DocumentOf(const TrialsView& view, const Importances& importances) {
  Json parameters = Json::array();
  for (const auto& [parameter, share] : importances.parameters) {
    parameters.push_back(ShareDocument(share));
    parameters.back()["parameter"] = parameter;
  }
  Json pairs = Json::array();
  for (const auto& [first, second, share] : importances.pairs) {
    pairs.push_back(ShareDocument(share));
    pairs.back()["parameters"] = {first, second};
  }
  return Json{{"schema", "slipway.trials.importance/1"},
              {"study", StudyDocument(view.study)},
              {"method", "fanova"},
              {"trials", importances.trials},
              {"left_out", importances.left_out},
              {"predicted", importances.predicted},
              {"parameters", std::move(parameters)},
              {"pairs", std::move(pairs)}};
}

std::vector<std::string> RowOf(std::string name, const ensemble::Share& share) {
  return {std::move(name), fmt::format("{:.3f}", share.mean), fmt::format("{:.2f} to {:.2f}", share.low, share.high),
          std::string(static_cast<std::size_t>(share.mean * 30 + 0.5), '#')};
}

std::string PairsTable(const Importances& importances) {
  TextTable table({"pair", "share", "range", ""});
  for (std::size_t i = 0; i < std::min(kMostPairsShown, importances.pairs.size()); ++i) {
    const auto& [first, second, share] = importances.pairs[i];
    table.AddRow(RowOf(first + ", " + second, share));
  }
  return "\n" + table.Render();
}

std::string TextOf(const TrialsView& view, const Importances& importances) {
  TextTable table({"parameter", "share", "range", ""});
  for (const auto& [parameter, share] : importances.parameters) table.AddRow(RowOf(parameter, share));
  return fmt::format(
             "importance for {}, from {} trials{}\n", view.study.objectives.front().ValueName(), importances.trials,
             importances.left_out == 0 ? ""
                                       : fmt::format(" ({} ended without a value, left out)", importances.left_out)) +
         table.Render() + (importances.pairs.empty() ? "" : PairsTable(importances));
}

void WarnOfGuesses(const Importances& importances, Output& output) {
  if (importances.predicted >= ensemble::kPredictedEnough) return;
  output.Warn(
      fmt::format("these shares are guesses: the forest predicts {:.0f} % of the variance of trials that it has "
                  "not seen; run more trials, or repeats where the objective is noisy",
                  100 * importances.predicted));
}

}  // namespace

int TrialsImportance(const TrialsImportanceOptions& options, Output& output) {
  TrialsView view = OpenTrials(options.run_folder);
  ensemble::ImportanceOptions analysis;
  analysis.pairs = options.pairs;
  const auto importances = Analyse(view, analysis);
  std::string brief;
  for (const auto& [parameter, share] : importances.parameters) brief += parameter + "\n";
  output.Print({DocumentOf(view, importances), TextOf(view, importances), brief});
  WarnOfGuesses(importances, output);
  return 0;
}

}  // namespace slipway::launcher
