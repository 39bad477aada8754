/// Which parameters matter for the objective: `slipway trials importance`.
#pragma once

#include <string>
#include <vector>

#include "ensemble/analysis/fanova.h"

namespace slipway::ensemble {

struct ImportanceOptions {
  bool pairs = false;
  std::uint64_t seed = 1;
};

struct ParameterImportance {
  std::string parameter;
  Share share;
};

struct PairImportance {
  std::string first;
  std::string second;
  Share share;
};

/// The most important first, equals in the order of the space. Parameters with one value only are left out.
struct Importances {
  std::size_t trials = 0;    ///< that were looked at
  std::size_t left_out = 0;  ///< that ended without a value
  /// Which part of the variance the analysis predicts of trials that it did not learn from.
  double predicted = 0;
  /// Parts of the variance, which sum to less than 1; the rest are interactions.
  std::vector<ParameterImportance> parameters;
  std::vector<PairImportance> pairs;  ///< parts of the variance beyond those of the two by themselves
};

inline constexpr std::size_t kFewestTrialsForImportance = 10;
/// Where less is predicted, shares are guesses.
inline constexpr double kPredictedEnough = 0.5;

/// Looks at trials with a value of the first objective: those that were ended early count with the last they had.
/// Errors: Error(kUsage) for fewer than kFewestTrialsForImportance of them.
Importances ImportancesOf(const Encoding& encoding, const Observations& known, const ImportanceOptions& options = {});

}  // namespace slipway::ensemble
