#include "launcher/cli/commands/trials_select.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "core/output.h"
#include "core/text_table.h"
#include "launcher/trials/trials_view.h"

namespace slipway::launcher {
namespace {

std::string TableOf(const Json& models, const std::string& by, std::optional<int> columns) {
  TextTable table({by, "weight", models["objective"].get<std::string>(), "parameters"});
  for (const auto& member : models["members"]) {
    table.AddRow({member[by].dump(), fmt::format("{:.3f}", member["weight"].get<double>()),
                  NumberCell(member["objective"].get<double>()),
                  ensemble::Describe(ensemble::PointFromJson(member["parameters"]))});
  }
  table.CutToFit("parameters", columns);
  return table.Render();
}

std::string TextOf(const Json& models, const std::filesystem::path& out, std::optional<int> columns) {
  const auto by = models["by"].get<std::string>();
  std::string others;
  for (const auto& [metric, score] : models["other_scores"].items()) {
    others += fmt::format("; {} {:.6g}", metric, score.get<double>());
  }
  const auto number = [&](const char* part, const char* name) { return models[part][name].get<double>(); };
  return fmt::format(
      "{} {:.6g} by {} of {} {}s on {} validation records{}\n"
      "best single {} {}: {:.6g}; average of the best {}: {:.6g}\n{}written: {}\n",
      models["metric"].get<std::string>(), models["score"].get<double>(), models["members"].size(),
      models["candidates"].dump(), by, models["records"].dump(), others, by, models["best_single"][by].dump(),
      number("best_single", "score"), models["average"]["members"].dump(), number("average", "score"),
      TableOf(models, by, columns), out.string());
}

}  // namespace

int TrialsSelect(const SelectModelsOptions& options, Output& output) {
  auto document = SelectModels(options, output);
  const auto out = FileOf(options);
  document["schema"] = "slipway.trials.select/1";
  document["file"] = out.string();
  std::string brief;
  for (const auto& member : document["members"]) brief += member[options.by].dump() + "\n";
  output.Print({document, TextOf(document, out, output.Columns()), brief});
  return 0;
}

}  // namespace slipway::launcher
