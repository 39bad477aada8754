#include "launcher/commands/stage.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/clock.h"
#include "core/error.h"
#include "core/text_table.h"
#include "launcher/commands/stage_tiers.h"
#include "launcher/spec/load.h"
#include "staging/generation/generation.h"

namespace slipway::launcher {
namespace {

using staging::StoredGeneration;
using staging::UnfinishedStaging;

bool IsDry(DryRun dry_run) { return dry_run == DryRun::kYes; }

// ---- ls

Json ToJson(const StoredGeneration& generation) {
  Json document{{"generation", generation.name}, {"directory", generation.directory.string()}};
  if (!generation.damage.empty()) {
    document["damage"] = generation.damage;
  } else {
    document["dataset"] = generation.dataset;
    document["format"] = DataFormatName(generation.format);
    document["verify"] = VerifyModeName(generation.verify);
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

Json ToJson(const UnfinishedStaging& leftover) {
  return {{"name", leftover.name},
          {"bytes", leftover.bytes.count},
          {"abandoned", leftover.staged_by.empty()},
          {"staged_by", slipway::ToJson(leftover.staged_by)}};
}

template <class Element>
Json ListOf(const std::vector<Element>& elements) {
  Json list = Json::array();
  for (const auto& element : elements) list.push_back(ToJson(element));
  return list;
}

Json DocumentOf(const TierContent& tier) {
  const auto& state = tier.state;
  return {{"tier", state.name},
          {"root", state.root.string()},
          {"origin", state.origin},
          {"scope", TierScopeName(state.scope)},
          {"usable", state.usable},
          {"reason", state.reason.empty() ? Json() : Json(state.reason)},
          {"available_bytes", state.available.count},
          {"capacity_bytes", state.capacity ? Json(state.capacity->count) : Json()},
          {"generations", ListOf(tier.inventory.generations)},
          {"leftovers", ListOf(tier.inventory.leftovers)}};
}

std::string UsersOf(const StoredGeneration& generation) {
  if (!generation.leased_by.empty()) return Describe(generation.leased_by);
  return generation.kept ? "nobody, kept" : "nobody";
}

void AddRow(TextTable& table, const Found& found) {
  const auto& generation = found.generation;
  if (!generation.damage.empty()) {
    table.AddRow({"-", generation.name, found.tier, "-", FormatBytes(generation.bytes), "-", "-", "-", "damaged"});
    return;
  }
  table.AddRow({generation.dataset, generation.name, found.tier, std::to_string(generation.files),
                FormatBytes(generation.bytes), generation.records ? std::to_string(*generation.records) : "-",
                generation.created, std::string(VerifyModeName(generation.verify)), UsersOf(generation)});
}

std::string DescribeTier(const TierContent& tier) {
  if (!tier.state.usable) return fmt::format("tier {}: {}\n", tier.state.name, tier.state.reason);
  auto text = fmt::format("tier {}: {} free in {} ({})\n", tier.state.name, FormatBytes(tier.state.available),
                          tier.state.root.string(), tier.state.origin);
  for (const auto& leftover : tier.inventory.leftovers) {
    const auto who = leftover.staged_by.empty() ? std::string("left behind; slipway stage gc removes it")
                                                : "being staged by " + Describe(leftover.staged_by);
    text += fmt::format("  {} ({}): {}\n", leftover.name, FormatBytes(leftover.bytes), who);
  }
  return text;
}

// ---- evict and gc

struct Removal {
  Found found;
  bool removed = false;
  std::string reason;  ///< why not
};

/// Who stands in the way, asked after the attempt.
std::string WhyNot(const Found& found) {
  const staging::Generation generation(found.root, found.generation.name);
  const auto at_work = HoldersOf(generation.StageLock());
  if (!at_work.empty()) return "being staged or removed by " + Describe(at_work);
  return "in use by " + Describe(HoldersOf(generation.LeaseLock()));
}

Removal Remove(const Found& found, DryRun dry_run) {
  const bool leased = !found.generation.leased_by.empty();
  if (!leased && (IsDry(dry_run) || staging::EvictGeneration(found.root, found.generation.name))) {
    return {found, true, {}};
  }
  return {found, false, WhyNot(found)};
}

std::vector<Removal> RemoveAll(const std::vector<Found>& condemned, DryRun dry_run) {
  std::vector<Removal> removals;
  for (const auto& found : condemned) removals.push_back(Remove(found, dry_run));
  return removals;
}

Bytes FreedBy(const std::vector<Removal>& removals) {
  Bytes freed;
  for (const auto& removal : removals) {
    if (removal.removed) freed.count += removal.found.generation.bytes.count;
  }
  return freed;
}

Json ToJson(const Removal& removal) {
  Json document{{"generation", removal.found.generation.name},
                {"tier", removal.found.tier},
                {"directory", removal.found.generation.directory.string()},
                {"bytes", removal.found.generation.bytes.count}};
  if (!removal.removed) document["reason"] = removal.reason;
  return document;
}

/// Those that were removed, or those that were not.
Json ListOf(const std::vector<Removal>& removals, bool removed) {
  Json list = Json::array();
  for (const auto& removal : removals) {
    if (removal.removed == removed) list.push_back(ToJson(removal));
  }
  return list;
}

std::string DescribeRemoved(const std::vector<Removal>& removals, DryRun dry_run) {
  std::string text;
  for (const auto& removal : removals) {
    if (!removal.removed) continue;
    text += fmt::format("{} {} from tier {} ({})\n", IsDry(dry_run) ? "would remove" : "removed",
                        removal.found.generation.name, removal.found.tier, FormatBytes(removal.found.generation.bytes));
  }
  return text;
}

std::string NamesOfRemoved(const std::vector<Removal>& removals) {
  std::string names;
  for (const auto& removal : removals) {
    if (removal.removed) names += removal.found.generation.name + "\n";
  }
  return names;
}

/// True when one was refused.
bool WarnOfRefused(const std::vector<Removal>& removals, Output& output) {
  bool refused = false;
  for (const auto& removal : removals) {
    if (removal.removed) continue;
    refused = true;
    output.Warn(
        fmt::format("{} stays in tier {}: {}", removal.found.generation.name, removal.found.tier, removal.reason));
  }
  return refused;
}

std::vector<Found> UnusedFor(const std::string& text, std::vector<Found> all) {
  const auto age = ParseDuration(text);
  if (!age) {
    throw Error(ErrorKind::kUsage, fmt::format("--older-than '{}' is not a duration", text), "write it like 12h or 7d");
  }
  const auto limit = SystemClock().Now() - std::chrono::duration_cast<WallTime::duration>(*age);
  std::erase_if(
      all, [&](const Found& found) { return found.generation.used > limit || !found.generation.leased_by.empty(); });
  return all;
}

std::vector<Found> Condemned(const StageEvictOptions& options, const std::vector<TierContent>& tiers) {
  const int ways = (options.generations.empty() ? 0 : 1) + (options.all ? 1 : 0) + (options.older_than.empty() ? 0 : 1);
  if (ways != 1) {
    throw Error(ErrorKind::kUsage, "say what to evict: generations, --all, or --older-than DURATION",
                "slipway stage ls lists what is there");
  }
  if (!options.generations.empty()) return FindGenerations(options.generations, tiers);
  return options.all ? AllGenerations(tiers) : UnusedFor(options.older_than, AllGenerations(tiers));
}

/// Removes what nobody is at work on; returns what it was.
std::vector<UnfinishedStaging> RemoveLeftBehind(const std::vector<TierContent>& tiers, DryRun dry_run) {
  std::vector<UnfinishedStaging> removed;
  for (const auto& tier : tiers) {
    if (tier.inventory.leftovers.empty()) continue;
    std::vector<std::string> names;
    if (!IsDry(dry_run)) names = staging::RemoveLeftovers(tier.state.root);
    for (const auto& leftover : tier.inventory.leftovers) {
      const bool gone = IsDry(dry_run) ? leftover.staged_by.empty()
                                       : std::find(names.begin(), names.end(), leftover.name) != names.end();
      if (gone) removed.push_back(leftover);
    }
  }
  return removed;
}

/// As many of the generations as it takes.
std::vector<Found> OldestOf(const std::vector<Found>& all, Bytes wanted) {
  std::vector<StoredGeneration> generations;
  for (const auto& found : all) generations.push_back(found.generation);
  std::vector<Found> oldest;
  for (const auto& generation : staging::OldestUnused(std::move(generations), wanted)) {
    oldest.push_back(*std::find_if(all.begin(), all.end(), [&](const Found& found) {
      return found.generation.directory == generation.directory;
    }));
  }
  return oldest;
}

Bytes WantedBytes(const StageGcOptions& options) {
  if (options.to_free.empty()) return {};
  const auto bytes = ParseBytes(options.to_free);
  if (bytes) return *bytes;
  throw Error(ErrorKind::kUsage, fmt::format("--to-free '{}' is not a number of bytes", options.to_free),
              "write it like 10GB or 4GiB");
}

std::string DescribeLeftovers(const std::vector<UnfinishedStaging>& leftovers, DryRun dry_run) {
  std::string text;
  for (const auto& leftover : leftovers) {
    text += fmt::format("{} what was left of {} ({})\n", IsDry(dry_run) ? "would remove" : "removed", leftover.name,
                        FormatBytes(leftover.bytes));
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

int StageEvict(const StageEvictOptions& options, Session& session) {
  const auto tiers = LookAtTiers(options.tiers, LoadSite(SettingsFiles()));
  const auto removals = RemoveAll(Condemned(options, tiers), options.dry_run);
  const auto freed = FreedBy(removals);
  auto text = DescribeRemoved(removals, options.dry_run);
  text += fmt::format("{} {}\n", FormatBytes(freed), IsDry(options.dry_run) ? "would be freed" : "freed");
  const Json document{{"schema", "slipway.stage_evict/1"},
                      {"dry_run", IsDry(options.dry_run)},
                      {"freed_bytes", freed.count},
                      {"evicted", ListOf(removals, true)},
                      {"refused", ListOf(removals, false)}};
  session.output.Print({document, text, NamesOfRemoved(removals)});
  return WarnOfRefused(removals, session.output) ? static_cast<int>(ErrorKind::kBusy) : 0;
}

int StageGc(const StageGcOptions& options, Session& session) {
  const auto wanted = WantedBytes(options);
  const auto tiers = LookAtTiers(options.tiers, LoadSite(SettingsFiles()));
  const auto leftovers = RemoveLeftBehind(tiers, options.dry_run);
  Bytes freed;
  for (const auto& leftover : leftovers) freed.count += leftover.bytes.count;
  const Bytes missing{wanted.count - std::min(wanted, freed).count};
  const auto removals = RemoveAll(OldestOf(AllGenerations(tiers), missing), options.dry_run);
  freed.count += FreedBy(removals).count;
  auto text = DescribeLeftovers(leftovers, options.dry_run) + DescribeRemoved(removals, options.dry_run);
  text += fmt::format("{} {}\n", FormatBytes(freed), IsDry(options.dry_run) ? "would be freed" : "freed");
  const Json document{{"schema", "slipway.stage_gc/1"},    {"dry_run", IsDry(options.dry_run)},
                      {"freed_bytes", freed.count},        {"leftovers", ListOf(leftovers)},
                      {"evicted", ListOf(removals, true)}, {"refused", ListOf(removals, false)}};
  session.output.Print({document, text, NamesOfRemoved(removals)});
  WarnOfRefused(removals, session.output);
  if (freed >= wanted) return 0;
  session.output.Warn(fmt::format("{} were to be freed; the rest is in use, or there is no more", FormatBytes(wanted)));
  return static_cast<int>(ErrorKind::kFailed);
}

}  // namespace slipway::launcher
