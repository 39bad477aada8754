/// Which parameters matter for the objective: `slipway trials importance`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ensemble/search/results/observations.h"

namespace slipway::ensemble {

/// Stored in documents as words: "ped-anova", "fanova".
enum class ImportanceMethod { kPedAnova, kFanova };

std::string_view ImportanceMethodName(ImportanceMethod method);
/// Errors: Error(kUsage) naming the nearest word.
ImportanceMethod ParseImportanceMethod(std::string_view word);
/// In the order of the enum.
const std::vector<std::string>& ImportanceMethodNames();

struct ImportanceOptions {
  ImportanceMethod method = ImportanceMethod::kPedAnova;
  bool pairs = false;  ///< fANOVA only
  std::uint64_t seed = 1;
};

struct ParameterImportance {
  std::string parameter;
  double share = 0;
};

struct PairImportance {
  std::string first;
  std::string second;
  double share = 0;
};

/// The most important first, equals in the order of the space. Parameters with one value only are left out.
struct Importances {
  std::size_t trials = 0;    ///< that were looked at
  std::size_t left_out = 0;  ///< that ended without a value
  /// PED-ANOVA: parts that sum to 1, or all 0 when nothing tells good trials from others.
  /// fANOVA: parts of the variance, which sum to less than 1; the rest are interactions.
  std::vector<ParameterImportance> parameters;
  std::vector<PairImportance> pairs;  ///< parts of the variance beyond those of the two by themselves
};

inline constexpr std::size_t kFewestTrialsForImportance = 10;

/// Looks at trials with a value of the first objective: those that were ended early count with the last they had.
/// Errors: Error(kUsage) for fewer than kFewestTrialsForImportance of them, and for pairs without fANOVA.
Importances ImportancesOf(const Encoding& encoding, const Observations& known, const ImportanceOptions& options = {});

}  // namespace slipway::ensemble
