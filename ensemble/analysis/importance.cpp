#include "ensemble/analysis/importance.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "core/error.h"

namespace slipway::ensemble {
namespace {

void RequireEnough(const Observations& known) {
  if (known.complete.size() >= kFewestTrialsForImportance) return;
  throw Error(
      ErrorKind::kUsage,
      fmt::format("importance needs at least {} trials with a value, this ensemble has {} ({} ended without, {} "
                  "not ended)",
                  kFewestTrialsForImportance, known.complete.size(), known.failed.size(), known.pending.size()));
}

}  // namespace

Importances ImportancesOf(const Encoding& encoding, const Observations& known, const ImportanceOptions& options) {
  RequireEnough(known);
  FanovaOptions fanova;
  fanova.seed = options.seed;
  fanova.pairs = options.pairs;
  const auto shares = Fanova(encoding, known.complete, fanova);
  const auto name = [&](std::size_t axis) { return encoding.space().parameters()[encoding.axis(axis).parameter].name; };
  Importances result{known.complete.size(), known.failed.size(), shares.predicted, {}, {}};
  for (std::size_t i = 0; i < shares.main.size(); ++i) result.parameters.push_back({name(i), shares.main[i]});
  for (const auto& pair : shares.pairs) result.pairs.push_back({name(pair.first), name(pair.second), pair.share});
  const auto mean = [](const auto& importance) { return importance.share.mean; };
  std::ranges::stable_sort(result.parameters, std::greater<>(), mean);
  std::ranges::stable_sort(result.pairs, std::greater<>(), mean);
  return result;
}

}  // namespace slipway::ensemble
