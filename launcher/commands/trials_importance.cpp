#include "launcher/commands/trials_importance.h"

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

Json DocumentOf(const TrialsView& view, const ensemble::ImportanceOptions& options, const Importances& importances) {
  Json parameters = Json::array();
  for (const auto& [parameter, share] : importances.parameters) {
    parameters.push_back(Json{{"parameter", parameter}, {"share", share}});
  }
  Json pairs = Json::array();
  for (const auto& [first, second, share] : importances.pairs) {
    pairs.push_back(Json{{"parameters", {first, second}}, {"share", share}});
  }
  return Json{{"schema", "slipway.trials.importance/1"},
              {"study", StudyDocument(view.study)},
              {"method", ensemble::ImportanceMethodName(options.method)},
              {"trials", importances.trials},
              {"left_out", importances.left_out},
              {"parameters", std::move(parameters)},
              {"pairs", std::move(pairs)}};
}

std::string ShareCell(double share) { return fmt::format("{:.3f}", share); }

std::string Bar(double share) { return std::string(static_cast<std::size_t>(share * 30 + 0.5), '#'); }

std::string PairsTable(const Importances& importances) {
  TextTable table({"pair", "share", ""});
  for (std::size_t i = 0; i < std::min(kMostPairsShown, importances.pairs.size()); ++i) {
    const auto& [first, second, share] = importances.pairs[i];
    table.AddRow({first + ", " + second, ShareCell(share), Bar(share)});
  }
  return "\n" + table.Render();
}

std::string TextOf(const TrialsView& view, const ensemble::ImportanceOptions& options, const Importances& importances) {
  TextTable table({"parameter", "share", ""});
  for (const auto& [parameter, share] : importances.parameters) table.AddRow({parameter, ShareCell(share), Bar(share)});
  return fmt::format("importance for {} by {}, from {} trials{}\n", view.study.objectives.front().ValueName(),
                     ensemble::ImportanceMethodName(options.method), importances.trials,
                     importances.left_out == 0
                         ? ""
                         : fmt::format(" ({} ended without a value, left out)", importances.left_out)) +
         table.Render() + (importances.pairs.empty() ? "" : PairsTable(importances));
}

}  // namespace

int TrialsImportance(const TrialsImportanceOptions& options, Output& output) {
  ensemble::ImportanceOptions analysis;
  analysis.method = ensemble::ParseImportanceMethod(options.method);
  analysis.pairs = options.pairs;
  TrialsView view = OpenTrials(options.run_folder);
  const auto importances = Analyse(view, analysis);
  std::string brief;
  for (const auto& [parameter, share] : importances.parameters) brief += parameter + "\n";
  output.Print({DocumentOf(view, analysis, importances), TextOf(view, analysis, importances), brief});
  return 0;
}

}  // namespace slipway::launcher
