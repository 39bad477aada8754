#include "ensemble/search/gaussian_process/nearby_model.h"

#include <limits>

#include "ensemble/search/gaussian_process/output_transform.h"

namespace slipway::ensemble {
namespace {

constexpr int kIterations = 30;
constexpr std::size_t kMany = 80;  // results, from which on a fit takes long

std::vector<Kernel> Starts(std::size_t axes, double noise) {
  std::vector<Kernel> starts(2, DefaultKernel(axes, noise));
  starts.back().shape.smoothness = Smoothness::kAnalytic;
  return starts;
}

TrainingSet DataOf(const FeatureMap& map, std::span<const Coordinates> places, const std::vector<double>& values) {
  TrainingSet data;
  for (std::size_t i = 0; i < values.size(); ++i) data.Add(map, places[i], values[i]);
  return data;
}

}  // namespace

ExplainedResults ExplainResults(const FeatureMap& map, std::span<const Coordinates> places,
                                std::span<const double> values, double noise, Interactions also) {
  TrainingSet data;
  FittedKernel best;
  double least = std::numeric_limits<double>::infinity();
  const int of_each = values.size() < kMany ? kIterations : kIterations / 3;
  for (const auto scale : {OutputScale::kLinear, OutputScale::kLog}) {
    if (scale == OutputScale::kLog && !AreSkewed(values)) continue;
    auto scaled = DataOf(map, places, TransformValues(values, scale));
    auto fit = FitKernel(map, scaled, Starts(map.axes(), noise), of_each);
    const double loss = fit.loss - SumOfLogSlopes(values, scale);
    if (!data.values.empty() && !(loss < least)) continue;
    least = loss;
    data = std::move(scaled);
    best = std::move(fit);
  }
  if (also == Interactions::kPairs) {
    auto pairs = DefaultKernel(map.axes(), noise);
    pairs.shape = {best.kernel.shape.smoothness, Interactions::kPairs};
    auto fit = FitKernel(map, data, {pairs}, of_each);
    if (fit.loss < best.loss) best = std::move(fit);
  }
  if (of_each < kIterations) best = FitKernel(map, data, {best.kernel}, kIterations - of_each);
  return {std::move(data), std::move(best.kernel)};
}

}  // namespace slipway::ensemble
