// `slipway stage evict` and `slipway stage gc`.

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/clock.h"
#include "core/error.h"
#include "launcher/cli/commands/stage.h"
#include "launcher/cli/commands/stage_tiers.h"
#include "launcher/spec/load.h"
#include "staging/generation/generation.h"

namespace slipway::launcher {
namespace {

using staging::StoredGeneration;
using staging::UnfinishedStaging;

bool IsDry(DryRun dry_run) { return dry_run == DryRun::kYes; }

struct Attempt {
  Found found;
  bool removed = false;
  std::string reason = {};  ///< why not; empty: another process has removed it
  ErrorKind refusal = ErrorKind::kBusy;
};

/// Who stands in the way, asked after the attempt.
std::string WhyNot(const Found& found) {
  const staging::Generation generation(found.root, found.generation.name);
  const auto at_work = HoldersOf(generation.StageLock());
  if (!at_work.empty()) return "being staged or removed by " + Describe(at_work);
  return "in use by " + Describe(HoldersOf(generation.LeaseLock()));
}

/// What goes wrong with one says nothing of the others.
Attempt Remove(const Found& found, DryRun dry_run) {
  if (!found.generation.leased_by.empty()) return {found, false, WhyNot(found)};
  if (IsDry(dry_run)) return {found, true};
  try {
    const auto removal = staging::EvictGeneration(found.root, found.generation.name);
    if (removal == staging::Removal::kInUse) return {found, false, WhyNot(found)};
    return {found, removal == staging::Removal::kRemoved};
  } catch (const Error& error) {
    return {found, false, error.message(), error.kind()};
  }
}

std::vector<Attempt> RemoveAll(const std::vector<Found>& condemned, DryRun dry_run) {
  std::vector<Attempt> attempts;
  for (const auto& found : condemned) attempts.push_back(Remove(found, dry_run));
  return attempts;
}

Bytes FreedBy(const std::vector<Attempt>& attempts) {
  Bytes freed;
  for (const auto& attempt : attempts) {
    if (attempt.removed) freed.count += attempt.found.generation.bytes.count;
  }
  return freed;
}

/// One after the other in this order, until `wanted` bytes are free; what is refused is left out.
std::vector<Attempt> RemoveUntil(const std::vector<Found>& in_order, Bytes wanted, DryRun dry_run) {
  std::vector<Attempt> attempts;
  for (const auto& found : in_order) {
    if (FreedBy(attempts) >= wanted) break;
    attempts.push_back(Remove(found, dry_run));
  }
  return attempts;
}

Json ToJson(const Attempt& attempt) {
  Json document{{"generation", attempt.found.generation.name},
                {"tier", attempt.found.tier},
                {"directory", attempt.found.generation.directory.string()},
                {"bytes", attempt.found.generation.bytes.count}};
  if (!attempt.removed) document["reason"] = attempt.reason;
  return document;
}

Json ListOfRemoved(const std::vector<Attempt>& attempts) {
  Json list = Json::array();
  for (const auto& attempt : attempts) {
    if (attempt.removed) list.push_back(ToJson(attempt));
  }
  return list;
}

Json ListOfRefused(const std::vector<Attempt>& attempts) {
  Json list = Json::array();
  for (const auto& attempt : attempts) {
    if (!attempt.reason.empty()) list.push_back(ToJson(attempt));
  }
  return list;
}

std::string DescribeRemoved(const std::vector<Attempt>& attempts, DryRun dry_run) {
  std::string text;
  for (const auto& attempt : attempts) {
    const auto& generation = attempt.found.generation;
    if (attempt.removed) {
      text += fmt::format("{} {} from tier {} ({})\n", IsDry(dry_run) ? "would remove" : "removed", generation.name,
                          attempt.found.tier, FormatBytes(generation.bytes));
    } else if (attempt.reason.empty()) {
      text +=
          fmt::format("{} is no longer in tier {}: another process removed it\n", generation.name, attempt.found.tier);
    }
  }
  return text;
}

std::string NamesOfRemoved(const std::vector<Attempt>& attempts) {
  std::string names;
  for (const auto& attempt : attempts) {
    if (attempt.removed) names += attempt.found.generation.name + "\n";
  }
  return names;
}

/// The exit code: that of the first refusal.
int WarnOfRefused(const std::vector<Attempt>& attempts, Output& output) {
  int code = 0;
  for (const auto& attempt : attempts) {
    if (attempt.reason.empty()) continue;
    if (code == 0) code = static_cast<int>(attempt.refusal);
    output.Warn(
        fmt::format("{} stays in tier {}: {}", attempt.found.generation.name, attempt.found.tier, attempt.reason));
  }
  return code;
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

/// Removes leftovers that no process is using; returns them.
std::vector<UnfinishedStaging> RemoveLeftBehind(const std::vector<TierContent>& tiers, DryRun dry_run) {
  std::vector<UnfinishedStaging> removed;
  for (const auto& tier : tiers) {
    if (tier.inventory.leftovers.empty()) continue;
    std::vector<std::string> names;
    if (!IsDry(dry_run)) names = staging::RemoveLeftovers(tier.state.root);
    for (const auto& leftover : tier.inventory.leftovers) {
      const bool gone =
          IsDry(dry_run) ? !leftover.worker : std::find(names.begin(), names.end(), leftover.name) != names.end();
      if (gone) removed.push_back(leftover);
    }
  }
  return removed;
}

std::vector<Found> InOrderOfRemoval(const std::vector<Found>& all) {
  std::vector<StoredGeneration> generations;
  for (const auto& found : all) generations.push_back(found.generation);
  std::vector<Found> in_order;
  for (const auto& generation : staging::InOrderOfRemoval(std::move(generations))) {
    in_order.push_back(*std::find_if(all.begin(), all.end(), [&](const Found& found) {
      return found.generation.directory == generation.directory;
    }));
  }
  return in_order;
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

int StageEvict(const StageEvictOptions& options, Session& session) {
  const auto tiers = LookAtTiers(options.tiers, LoadSite(SettingsFiles()));
  const auto attempts = RemoveAll(Condemned(options, tiers), options.dry_run);
  const auto freed = FreedBy(attempts);
  auto text = DescribeRemoved(attempts, options.dry_run);
  text += fmt::format("{} {}\n", FormatBytes(freed), IsDry(options.dry_run) ? "would be freed" : "freed");
  const Json document{{"schema", "slipway.stage_evict/1"},
                      {"dry_run", IsDry(options.dry_run)},
                      {"freed_bytes", freed.count},
                      {"evicted", ListOfRemoved(attempts)},
                      {"refused", ListOfRefused(attempts)}};
  session.output.Print({document, text, NamesOfRemoved(attempts)});
  return WarnOfRefused(attempts, session.output);
}

int StageGc(const StageGcOptions& options, Session& session) {
  const auto wanted = WantedBytes(options);
  const auto tiers = LookAtTiers(options.tiers, LoadSite(SettingsFiles()));
  const auto leftovers = RemoveLeftBehind(tiers, options.dry_run);
  Bytes freed;
  for (const auto& leftover : leftovers) freed.count += leftover.bytes.count;
  const Bytes missing{wanted.count - std::min(wanted, freed).count};
  const auto attempts = RemoveUntil(InOrderOfRemoval(AllGenerations(tiers)), missing, options.dry_run);
  freed.count += FreedBy(attempts).count;
  auto text = DescribeLeftovers(leftovers, options.dry_run) + DescribeRemoved(attempts, options.dry_run);
  text += fmt::format("{} {}\n", FormatBytes(freed), IsDry(options.dry_run) ? "would be freed" : "freed");
  const Json document{{"schema", "slipway.stage_gc/1"},     {"dry_run", IsDry(options.dry_run)},
                      {"freed_bytes", freed.count},         {"leftovers", ListOf(leftovers)},
                      {"evicted", ListOfRemoved(attempts)}, {"refused", ListOfRefused(attempts)}};
  session.output.Print({document, text, NamesOfRemoved(attempts)});
  WarnOfRefused(attempts, session.output);
  if (freed >= wanted) return 0;
  session.output.Warn(fmt::format("{} were to be freed; the rest is in use, or there is no more", FormatBytes(wanted)));
  return static_cast<int>(ErrorKind::kFailed);
}

}  // namespace slipway::launcher
