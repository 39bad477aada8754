#include "ensemble/analysis/importance.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "core/error.h"
#include "ensemble/analysis/fanova.h"
#include "ensemble/analysis/ped_anova.h"
#include "ensemble/analysis/words.h"

namespace slipway::ensemble {
namespace {

/// Parts of their sum; all 0 stay so.
std::vector<double> PartsOf(std::vector<double> numbers) {
  double sum = 0;
  for (const double number : numbers) sum += number;
  for (auto& number : numbers) number = sum > 0 ? number / sum : 0;
  return numbers;
}

VarianceShares SharesOf(const Encoding& encoding, const Observations& known, const ImportanceOptions& options) {
  if (options.method == ImportanceMethod::kPedAnova) return {PartsOf(PedAnova(encoding, known.complete)), {}};
  FanovaOptions fanova;
  fanova.seed = options.seed;
  fanova.pairs = options.pairs;
  return Fanova(encoding, known.complete, fanova);
}

void RequireEnough(const Observations& known, const ImportanceOptions& options) {
  if (options.pairs && options.method != ImportanceMethod::kFanova) {
    throw Error(ErrorKind::kUsage, "the importance of pairs is a matter of fanova", "add --method fanova");
  }
  if (known.complete.size() >= kFewestTrialsForImportance) return;
  throw Error(
      ErrorKind::kUsage,
      fmt::format("importance needs at least {} trials with a value, this ensemble has {} ({} ended without, {} "
                  "not ended)",
                  kFewestTrialsForImportance, known.complete.size(), known.failed.size(), known.pending.size()));
}

}  // namespace

const std::vector<std::string>& ImportanceMethodNames() {
  static const std::vector<std::string> names = {"ped-anova", "fanova"};
  return names;
}

std::string_view ImportanceMethodName(ImportanceMethod method) {
  return ImportanceMethodNames()[static_cast<std::size_t>(method)];
}

ImportanceMethod ParseImportanceMethod(std::string_view word) {
  return static_cast<ImportanceMethod>(IndexOfWord("method", word, ImportanceMethodNames()));
}

Importances ImportancesOf(const Encoding& encoding, const Observations& known, const ImportanceOptions& options) {
  RequireEnough(known, options);
  const auto shares = SharesOf(encoding, known, options);
  const auto name = [&](std::size_t axis) { return encoding.space().parameters()[encoding.axis(axis).parameter].name; };
  Importances result;
  result.trials = known.complete.size();
  result.left_out = known.failed.size();
  for (std::size_t i = 0; i < shares.main.size(); ++i) result.parameters.push_back({name(i), shares.main[i]});
  for (const auto& pair : shares.pairs) result.pairs.push_back({name(pair.first), name(pair.second), pair.share});
  std::ranges::stable_sort(result.parameters, std::greater<>(), &ParameterImportance::share);
  std::ranges::stable_sort(result.pairs, std::greater<>(), &PairImportance::share);
  return result;
}

}  // namespace slipway::ensemble
