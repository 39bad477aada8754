/// The importance of parameters for the objective: `slipway trials importance`.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ensemble/search/results/observations.h"

namespace slipway::ensemble {

// Functional analysis of variance: the part of the objective's variance that each parameter explains.

struct FanovaOptions {
  int trees = 64;
  std::uint64_t seed = 1;
  bool pairs = false;  ///< also analyse each pair of axes
};

/// A part of the variance, in [0, 1].
struct Share {
  double mean = 0;  ///< over the trees
  /// The range of nine of ten trees. What the forest does not predict counts for the other parameters in `low`, and for
  /// this one in `high`.
  double low = 0;
  double high = 0;
};

struct PairShare {
  std::size_t first = 0;  ///< axes, first < second
  std::size_t second = 0;
  Share share;
};

/// Parts of the variance over the whole space. Together with all higher interactions, the means sum to 1.
struct VarianceShares {
  /// The part of the variance that the trees predict for trials that they did not learn from. 0: unknown.
  double predicted = 0;
  std::vector<Share> main;       ///< of each axis by itself
  std::vector<PairShare> pairs;  ///< what two axes explain together beyond each alone; empty without `pairs`
};

/// Fits a forest of regression trees to the objective. Decomposes the variance of each tree exactly and averages the
/// parts. All values of an axis have equal weight, wherever the sampler placed its trials. An axis has no effect where
/// it is not active. Values of another order of magnitude are clipped (TamedValues). All parts are 0 if nothing varies.
///
/// Shape:  at least one trial.
/// Cost:   trees * (trials * axes * depth + leaves * cells * axes); with pairs leaves * cells^2 * axes^2 at worst.
/// Source: Hutter, Hoos, Leyton-Brown: "An efficient approach for assessing hyperparameter importance", ICML 2014.
VarianceShares Fanova(const Encoding& encoding, std::span<const Observation> trials, const FanovaOptions& options = {});

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
  std::size_t trials = 0;    ///< number of trials analysed
  std::size_t left_out = 0;  ///< number of trials that ended without a value
  /// The part of the variance that the analysis predicts for trials that it did not learn from.
  double predicted = 0;
  /// Parts of the variance. They sum to at most 1; the rest are interactions.
  std::vector<ParameterImportance> parameters;
  std::vector<PairImportance> pairs;  ///< parts of the variance beyond those of the two by themselves
};

inline constexpr std::size_t kFewestTrialsForImportance = 10;
/// If less of the variance is predicted, shares are not reliable.
inline constexpr double kPredictedEnough = 0.5;

/// Analyses the trials with a value of the first objective. Trials that were ended early count with their last value.
/// Errors: Error(kUsage) for fewer than kFewestTrialsForImportance of them.
Importances ImportancesOf(const Encoding& encoding, const Observations& known, const ImportanceOptions& options = {});

}  // namespace slipway::ensemble
