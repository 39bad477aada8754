#include "launcher/run_folder/edited_spec.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "core/documents.h"
#include "core/error.h"
#include "launcher/run_folder/prepare.h"

namespace slipway::launcher {
namespace {

namespace fs = std::filesystem;

constexpr auto kBySet = "--set";

/// Where the user's own file lies, as far as plan.json tells.
fs::path OriginalSpec(const RunFolder& folder, const SpecDocument& stored) {
  const auto plan = Json::parse(ReadDocument(folder.plan_file()), nullptr, false);
  return stored.directory / fs::path(plan.value("spec_file", "")).filename();
}

std::set<std::string> ChangedBySet(const RunFolder& folder, const SpecDocument& stored) {
  std::set<std::string> keys;
  for (const auto& past : PastChanges(folder)) keys.insert(past.change.key);
  for (const auto& [key, origin] : stored.origins) {
    if (origin == kBySet) keys.insert(key);
  }
  return keys;
}

std::vector<std::string> ChangesOf(const RunFolder& folder, const SpecDocument& stored, const fs::path& original) {
  const auto by_set = ChangedBySet(folder, stored);
  std::vector<std::string> changes;
  for (const auto& change : ChangesBetween(*stored.resolved, *LoadSpec(original).resolved)) {
    if (!by_set.contains(change.key)) changes.push_back(Describe(change));
  }
  return changes;
}

std::string Remark(const RunFolder& folder, const fs::path& original, const std::string& what) {
  return fmt::format(
      "'{0}' has changed since this run began, and the run goes on with its own copy: {1}; to change the run: slipway "
      "resume {2} --set KEY=VALUE; to start anew: slipway run {0}",
      original.string(), what, folder.id());
}

}  // namespace

std::string RemarkOnEditedSpec(const RunFolder& folder) {
  const auto stored = StoredSpec(folder);
  const auto original = OriginalSpec(folder, stored);
  try {
    const auto text = ReadDocumentIfPresent(original);
    if (!text || *text == stored.source) return {};
    const auto changes = ChangesOf(folder, stored, original);
    return changes.empty() ? "" : Remark(folder, original, fmt::format("{}", fmt::join(changes, ", ")));
  } catch (const SpecError&) {
    return Remark(folder, original, "it is no valid spec now");
  } catch (const Error&) {
    return {};  // it cannot be read any more
  }
}

}  // namespace slipway::launcher
