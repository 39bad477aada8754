#include "ensemble/search/numbers/draws.h"

#include <numeric>

#include "ensemble/search/numbers/normal.h"

namespace slipway::ensemble {

// Half a step is added: 0 would lie at minus infinity.
double Draws::Normal() { return NormalQuantile(Unit() + 0x1p-54); }

std::size_t Draws::Weighted(std::span<const double> weights) {
  double left = Unit() * std::accumulate(weights.begin(), weights.end(), 0.0);
  std::size_t last = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (!(weights[i] > 0)) continue;
    last = i;
    left -= weights[i];
    if (left < 0) break;
  }
  return last;
}

}  // namespace slipway::ensemble
