/// PED-ANOVA: how much the good trials differ from all trials, parameter by parameter.
#pragma once

#include <span>
#include <vector>

#include "ensemble/search/results/observations.h"

namespace slipway::ensemble {

/// For each axis the Pearson divergence between the distribution of the best `quantile` of the trials (but at least
/// five of them) and that of all trials. 0: good trials lie there as all do; the larger, the more the parameter decides
/// which trials are good.
///
/// The distributions are kernel estimates on cells, both with the kernel of the good trials: so the divergence is
/// finite, and what as many trials picked at random would give can be computed exactly and is taken off.
///
/// Shape:  values equal to the last of the best count as best too: when all values are equal, all axes give 0.
/// Cost:   axes * (trials + cells^2).
/// Source: Watanabe, Bansal, Hutter: "PED-ANOVA: efficiently quantifying hyperparameter importance in arbitrary
///         subspaces", IJCAI 2023, its local importance.
std::vector<double> PedAnova(const Encoding& encoding, std::span<const Observation> trials, double quantile = 0.1);

}  // namespace slipway::ensemble
