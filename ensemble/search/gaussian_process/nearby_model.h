/// Selects the Gaussian process that explains a few results best.
#pragma once

#include <span>
#include <vector>

#include "ensemble/search/gaussian_process/kernel.h"

namespace slipway::ensemble {

/// The results on the selected scale, and the selected kernel.
struct ExplainedResults {
  TrainingSet data;
  Kernel kernel;
};

/// Selects the model with the largest evidence. Models: of the values and, if these are skewed, of their logarithms;
/// each with a twice differentiable and with an analytic kernel. With `also` kPairs, the best one then competes with a
/// model of pairs of axes.
/// So a smooth valley gets an almost polynomial model, and few results predict far ahead. A hole among ripples keeps a
/// rough model.
///
/// Shape:  as many values as places, in the same order; at least one.
/// Cost:   four fits (FitKernel) of 30 iterations, five with kPairs. From 80 results on, the fits have 10 iterations,
///         and the best one gets 20 more.
/// Source: Rasmussen, Williams: "Gaussian Processes for Machine Learning", 2006, 5.2; the likelihood of warped values:
///         Snelson, Rasmussen, Ghahramani: "Warped Gaussian processes", NeurIPS 2003.
ExplainedResults ExplainResults(const FeatureMap& map, std::span<const Coordinates> places,
                                std::span<const double> values, double noise, Interactions also = Interactions::kAll);

}  // namespace slipway::ensemble
