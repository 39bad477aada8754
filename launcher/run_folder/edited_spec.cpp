#include "launcher/run_folder/edited_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "core/documents.h"
#include "core/error.h"
#include "core/text.h"
#include "launcher/run_folder/prepare.h"

namespace slipway::launcher {
namespace {

namespace fs = std::filesystem;

constexpr auto kBySet = "--set";

std::set<std::string> ChangedBySet(const RunFolder& folder, const SpecDocument& stored) {
  std::set<std::string> keys;
  for (const auto& past : PastChanges(folder)) keys.insert(past.change.key);
  for (const auto& [key, origin] : stored.origins) {
    if (origin == kBySet) keys.insert(key);
  }
  return keys;
}

std::vector<FieldChange> ChangesOf(const RunFolder& folder, const SpecDocument& stored, const fs::path& original) {
  const auto by_set = ChangedBySet(folder, stored);
  auto changes = ChangesBetween(*stored.resolved, *LoadSpec(original).resolved);
  std::erase_if(changes, [&](const FieldChange& change) { return by_set.contains(change.key); });
  return changes;
}

/// How the run takes the first change over that it may; empty where it may none.
std::string HowToChange(const RunFolder& folder, const SpecDocument& stored, const std::vector<FieldChange>& changes) {
  const auto kind = KindOf(folder, stored.spec);
  const auto may = std::ranges::find_if(changes, [&](const auto& change) { return !WhyFixed(change.key, kind); });
  if (may == changes.end()) return {};
  return fmt::format("; to change the run: slipway resume {} --set {}=VALUE", folder.selector(), may->key);
}

std::string Remark(const fs::path& original, const std::string& what, const std::string& how) {
  return fmt::format(
      "'{0}' has changed since this run began, and the run goes on with its own copy: {1}{2}; to start anew: slipway "
      "run {0}",
      original.string(), what, how);
}

}  // namespace

fs::path OriginalSpec(const RunFolder& folder) {
  const auto plan = Json::parse(ReadDocument(folder.plan_file()), nullptr, false);
  return StoredSpec(folder).directory / fs::path(plan.value("spec_file", "")).filename();
}

std::string RemarkOnEditedSpec(const RunFolder& folder) {
  const auto stored = StoredSpec(folder);
  const auto original = OriginalSpec(folder);
  try {
    const auto text = ReadDocumentIfPresent(original);
    if (!text || *text == stored.source) return {};
    const auto changes = ChangesOf(folder, stored, original);
    return changes.empty()
               ? ""
               : Remark(original, JoinEach(changes, ", ", [](const FieldChange& change) { return Describe(change); }),
                        HowToChange(folder, stored, changes));
  } catch (const SpecError&) {
    return Remark(original, "it is no valid spec now", "");
  } catch (const Error&) {
    return {};  // it cannot be read any more
  }
}

}  // namespace slipway::launcher
