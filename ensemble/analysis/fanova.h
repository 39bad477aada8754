/// Functional analysis of variance: which part of the objective's variance each parameter explains.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ensemble/search/results/observations.h"

namespace slipway::ensemble {

struct FanovaOptions {
  int trees = 64;
  std::uint64_t seed = 1;
  bool pairs = false;  ///< also of each pair of axes
};

struct PairShare {
  std::size_t first = 0;  ///< axes, first < second
  std::size_t second = 0;
  double share = 0;
};

/// Parts of the variance over the whole space, each in [0, 1]; with all higher interactions they sum to 1.
struct VarianceShares {
  std::vector<double> main;      ///< of each axis by itself
  std::vector<PairShare> pairs;  ///< what two axes explain together beyond what each does; empty unless asked for
};

/// A forest of regression trees stands for the objective; the variance of each of its trees is taken apart exactly and
/// the parts are averaged. All values of an axis count alike; the inactive cell counts as often as trials are inactive.
/// One huge value rules the variance: PedAnova knows only ranks. All shares are 0 when nothing varies.
///
/// Shape:  at least one trial.
/// Cost:   trees * (trials * axes * depth + leaves * cells * axes); with pairs leaves * cells^2 * axes^2 at worst.
/// Source: Hutter, Hoos, Leyton-Brown: "An efficient approach for assessing hyperparameter importance", ICML 2014.
VarianceShares Fanova(const Encoding& encoding, std::span<const Observation> trials, const FanovaOptions& options = {});

}  // namespace slipway::ensemble
