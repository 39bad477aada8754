#include "launcher/commands/trials_select.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/output.h"
#include "core/text_table.h"
#include "launcher/trials/trials_view.h"

namespace slipway::launcher {
namespace {

std::string TextOf(const Json& models, const std::string& objective, const std::filesystem::path& out) {
  TextTable table({"trial", "weight", objective, "parameters"});
  for (const auto& member : models["members"]) {
    table.AddRow({member["trial"].dump(), fmt::format("{:.3f}", member["weight"].get<double>()),
                  NumberCell(member["objective"].get<double>()),
                  ParametersCell(ensemble::PointFromJson(member["parameters"]))});
  }
  std::string others;
  for (const auto& [metric, score] : models["other_scores"].items()) {
    others += fmt::format("; {} {:.6g}", metric, score.get<double>());
  }
  const auto number = [&](const char* part, const char* name) { return models[part][name].get<double>(); };
  return fmt::format(
      "{} {:.6g} by {} of {} trials on {} validation records{}\n"
      "best single trial {}: {:.6g}; average of the best {}: {:.6g}\n{}written: {}\n",
      models["metric"].get<std::string>(), models["score"].get<double>(), models["members"].size(),
      models["candidates"].dump(), models["records"].dump(), others, models["best_single"]["trial"].dump(),
      number("best_single", "score"), models["average"]["members"].dump(), number("average", "score"), table.Render(),
      out.string());
}

}  // namespace

int TrialsSelect(const SelectModelsOptions& options, Output& output) {
  auto document = SelectModels(options, output);
  const auto out = FileOf(options);
  document["schema"] = "slipway.trials.select/1";
  document["file"] = out.string();
  std::string brief;
  for (const auto& member : document["members"]) brief += member["trial"].dump() + "\n";
  const auto objective = OpenTrials(options.run_folder).study.objectives.front().metric;
  output.Print({document, TextOf(document, objective, out), brief});
  return 0;
}

}  // namespace slipway::launcher
