#include "ensemble/schedulers/hyperband.h"

#include <cmath>
#include <numeric>
#include <span>

#include "ensemble/schedulers/asha.h"

namespace slipway::ensemble {

std::vector<double> BracketShares(std::size_t brackets, int reduction) {
  std::vector<double> shares;
  for (std::size_t rungs = brackets; rungs-- > 0;) {
    shares.push_back(std::pow(reduction, rungs) / static_cast<double>(rungs + 1));
  }
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (double& share : shares) share /= sum;
  return shares;
}

std::size_t BracketOfTrial(TrialNumber trial, const std::vector<double>& shares) {
  constexpr std::uint64_t kGoldenRatio = 0x9E3779B97F4A7C15;  // its fractional part in units of 2^-64
  double left = static_cast<double>((static_cast<std::uint64_t>(trial) * kGoldenRatio) >> 11) * 0x1p-53;
  for (std::size_t bracket = 0; bracket + 1 < shares.size(); ++bracket) {
    if (left < shares[bracket]) return bracket;
    left -= shares[bracket];
  }
  return shares.size() - 1;
}

std::unique_ptr<Scheduler> MakeHyperband(const SchedulerSettings& settings) {
  const std::vector<double> resources = RungResources(settings.min, settings.max, settings.reduction);
  std::vector<Rungs> brackets;
  for (std::size_t first = 0; first < resources.size(); ++first) {
    brackets.emplace_back(std::span(resources).subspan(first), settings.reduction);
  }
  const auto bracket_of = [shares = BracketShares(brackets.size(), settings.reduction)](TrialNumber trial) {
    return BracketOfTrial(trial, shares);
  };
  return std::make_unique<Asha>(std::move(brackets), bracket_of, settings.goal);
}

}  // namespace slipway::ensemble
