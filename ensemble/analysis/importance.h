/// Which parameters matter for the objective: `slipway trials importance`.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ensemble/search/results/observations.h"

namespace slipway::ensemble {

// Functional analysis of variance: which part of the objective's variance each parameter explains.

struct FanovaOptions {
  int trees = 64;
  std::uint64_t seed = 1;
  bool pairs = false;  ///< also of each pair of axes
};

/// A part of the variance, in [0, 1].
struct Share {
  double mean = 0;  ///< over the trees
  /// Nine of ten trees lie between, if all that the forest does not predict belonged to the others, or to this one.
  double low = 0;
  double high = 0;
};

struct PairShare {
  std::size_t first = 0;  ///< axes, first < second
  std::size_t second = 0;
  Share share;
};

/// Parts of the variance over the whole space; with all higher interactions the means sum to 1.
struct VarianceShares {
  /// Which part of the variance the trees predict of trials that they did not learn from; 0: nothing is known.
  double predicted = 0;
  std::vector<Share> main;       ///< of each axis by itself
  std::vector<PairShare> pairs;  ///< what two axes explain together beyond what each does; empty unless asked for
};

/// A forest of regression trees stands for the objective; the variance of each of its trees is taken apart exactly and
/// the parts are averaged. All values of an axis count alike, wherever the sampler has looked most; an axis changes
/// nothing where it is not active. Values of another order of magnitude are tamed (TamedValues). All is 0 when nothing
/// varies.
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
