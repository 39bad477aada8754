#include "launcher/trials/trials_library.h"

#include <fmt/format.h>

#include <optional>

#include "core/error.h"
#include "core/fnv1a.h"
#include "launcher/trials/trials_view.h"

namespace slipway::launcher {
namespace fs = std::filesystem;

namespace {

using ensemble::Predictions;
using ensemble::Targets;

constexpr const char* kLibraryTargets = "targets.npy";

/// Where a trial's targets must be those of the trials before it.
void RequireSameTargets(const Targets& targets, const Targets& known) {
  if (targets.crc == known.crc && targets.records == known.records && targets.order == known.order) return;
  throw Error(ErrorKind::kEnvironment, fmt::format("'{}' and '{}' differ", known.path.string(), targets.path.string()),
              "let all trials predict the same validation records in the same order");
}

/// Why a trial cannot be read; its predictions, and its targets when the run has none, when it can.
struct Found {
  std::optional<Predictions> predictions;
  std::optional<Targets> targets;
  std::string reason;
};

Found ReadTrial(const fs::path& folder, bool with_targets) {
  for (const char* name : {"predictions.npy", kLibraryTargets}) {
    const bool needed = with_targets || name != kLibraryTargets;
    if (needed && !fs::exists(folder / name)) return {{}, {}, fmt::format("it has no {}", name)};
  }
  Found found;
  try {
    if (with_targets) found.targets = ensemble::ReadTargets(folder / kLibraryTargets);
    found.predictions = ensemble::ReadPredictions(folder / "predictions.npy");
  } catch (const Error& error) {
    found.reason = error.message();
  }
  return found;
}

[[noreturn]] void RefuseEmpty(const TrialsLibrary& library) {
  const auto& left_out = library.left_out;
  const auto example = left_out.empty() ? "" : fmt::format("; trial {}: {}", left_out[0].trial, left_out[0].reason);
  throw Error(ErrorKind::kUsage, fmt::format("no complete trial has predictions to select by{}", example),
              "let the program write predictions.npy and targets.npy into $SLIPWAY_RUN_DIR: docs/ensembles.md, "
              "\"Model ensembles\"");
}

}  // namespace

std::string TrialsLibrary::Hash() const {
  std::string text = fmt::format("targets {} {:08x} {}\n", targets.records, targets.crc, targets.order);
  for (std::size_t i = 0; i < trials.size(); ++i) {
    text += fmt::format("{} {:08x} {}\n", trials[i].trial.number, predictions[i].crc, predictions[i].order);
  }
  return fmt::format("{:016x}", Fnv1a64(text));
}

TrialsLibrary ReadLibrary(const fs::path& run_folder, const std::vector<RankedTrial>& trials) {
  TrialsLibrary library;
  const bool run_has_targets = fs::exists(run_folder / kLibraryTargets);
  if (run_has_targets) library.targets = ensemble::ReadTargets(run_folder / kLibraryTargets);
  for (const auto& ranked : trials) {
    auto found = ReadTrial(run_folder / TrialFolder(ranked.trial.number), !run_has_targets);
    if (!found.predictions) {
      library.left_out.push_back({ranked.trial.number, std::move(found.reason)});
      continue;
    }
    if (found.targets && !library.trials.empty()) RequireSameTargets(*found.targets, library.targets);
    if (found.targets && library.trials.empty()) library.targets = std::move(*found.targets);
    library.trials.push_back(ranked);
    library.predictions.push_back(std::move(*found.predictions));
  }
  if (library.trials.empty()) RefuseEmpty(library);
  return library;
}

}  // namespace slipway::launcher
