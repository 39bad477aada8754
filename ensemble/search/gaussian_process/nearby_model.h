/// The Gaussian process that a few results make most likely.
#pragma once

#include <span>
#include <vector>

#include "ensemble/search/gaussian_process/kernel.h"

namespace slipway::ensemble {

/// Results on the scale that explains them, and the kernel.
struct ExplainedResults {
  TrainingSet data;
  Kernel kernel;
};

/// Of the values and, where they are skewed, of their logarithms, with a kernel that is twice differentiable and with
/// one that is analytic: the model of the largest evidence. A smooth valley is so seen as what it is, a polynomial
/// almost, in which few results tell the way far ahead, and a hole among ripples stays rough. With `also` kPairs
/// the best one then competes with one of pairs of axes.
///
/// Shape:  as many values as places, in the same order; at least one.
/// Cost:   four fits (FitKernel) of 30 iterations, with kPairs five; from 80 results on, of 10 and then 20 more of the
///         one that leads.
/// Source: Rasmussen, Williams: "Gaussian Processes for Machine Learning", 2006, 5.2; the likelihood of warped values:
/// Snelson, Rasmussen, Ghahramani: "Warped Gaussian processes", NeurIPS 2003.
ExplainedResults ExplainResults(const FeatureMap& map, std::span<const Coordinates> places,
                                std::span<const double> values, double noise, Interactions also = Interactions::kAll);

}  // namespace slipway::ensemble
