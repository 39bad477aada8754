#include "launcher/cli/commands/stage.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/clock.h"
#include "core/error.h"
#include "core/text_table.h"
#include "launcher/cli/commands/stage_tiers.h"
#include "launcher/spec/load.h"
#include "staging/generation/generation.h"

namespace slipway::launcher {
namespace {

using staging::StoredGeneration;

Json ToJson(const StoredGeneration& generation) {
  Json document{{"generation", generation.name}, {"directory", generation.directory.string()}};
  if (!generation.damage.empty()) {
    document["damage"] = generation.damage;
  } else {
    document["dataset"] = generation.dataset;
    document["format"] = WordOf(generation.format);
    document["verify"] = WordOf(generation.verify);
    document["created"] = generation.created;
    document["files"] = generation.files;
    document["records"] = generation.records ? Json(*generation.records) : Json();
  }
  document["bytes"] = generation.bytes.count;
  document["used"] = FormatUtc(generation.used);
  document["kept"] = generation.kept;
  document["leased_by"] = slipway::ToJson(generation.leased_by);
  return document;
}

Json ListOfGenerations(const std::vector<StoredGeneration>& generations) {
  Json list = Json::array();
  for (const auto& generation : generations) list.push_back(ToJson(generation));
  return list;
}

Json DocumentOf(const TierContent& tier) {
  const auto& state = tier.state;
  return {{"tier", state.name},
          {"root", state.root.string()},
          {"origin", state.origin},
          {"scope", WordOf(state.scope)},
          {"usable", state.usable},
          {"reason", state.reason.empty() ? Json() : Json(state.reason)},
          {"available_bytes", state.available.count},
          {"capacity_bytes", state.capacity ? Json(state.capacity->count) : Json()},
          {"generations", ListOfGenerations(tier.inventory.generations)},
          {"leftovers", ListOf(tier.inventory.leftovers)}};
}

std::string UsersOf(const StoredGeneration& generation) {
  if (!generation.leased_by.empty()) return Describe(generation.leased_by);
  return generation.kept ? "unused, kept" : "unused";
}

void AddRow(TextTable& table, const Found& found) {
  const auto& generation = found.generation;
  if (!generation.damage.empty()) {
    table.AddRow({"-", generation.name, found.tier, "-", FormatBytes(generation.bytes), "-", "-", "-", "damaged"});
    return;
  }
  table.AddRow({generation.dataset, generation.name, found.tier, std::to_string(generation.files),
                FormatBytes(generation.bytes), generation.records ? std::to_string(*generation.records) : "-",
                generation.created, std::string(WordOf(generation.verify)), UsersOf(generation)});
}

std::string DescribeTier(const TierContent& tier) {
  if (!tier.state.usable) return fmt::format("tier {}: {}\n", tier.state.name, tier.state.reason);
  auto text = fmt::format("tier {}: {} free in {} ({})\n", tier.state.name, FormatBytes(tier.state.available),
                          tier.state.root.string(), tier.state.origin);
  for (const auto& leftover : tier.inventory.leftovers) {
    const auto who = leftover.worker ? "being staged by " + *leftover.worker
                                     : std::string("left behind; slipway stage gc removes it");
    text += fmt::format("  {} ({}): {}\n", leftover.name, FormatBytes(leftover.bytes), who);
  }
  return text;
}

}  // namespace

int StageLs(const StageLsOptions& options, Session& session) {
  const auto tiers = LookAtTiers(options.tiers, LoadSite(SettingsFiles()));
  TextTable table({"dataset", "generation", "tier", "files", "size", "records", "created", "verify", "used by"});
  std::string names;
  for (const auto& found : AllGenerations(tiers)) {
    AddRow(table, found);
    names += found.generation.name + "\n";
  }
  auto text = names.empty() ? std::string("nothing is staged\n") : table.Render();
  text += "\n";
  Json list = Json::array();
  for (const auto& tier : tiers) {
    text += DescribeTier(tier);
    list.push_back(DocumentOf(tier));
  }
  session.output.Print({Json{{"schema", "slipway.stage_ls/1"}, {"tiers", std::move(list)}}, text, names});
  return 0;
}

}  // namespace slipway::launcher
