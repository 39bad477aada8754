#include "ensemble/schedulers/hyperband.h"

#include <cmath>
#include <numeric>
#include <span>

#include "ensemble/schedulers/asha.h"

namespace slipway::ensemble {

namespace {

void Normalise(std::vector<double>& shares) {
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (double& share : shares) share /= sum;
}

}  // namespace

std::vector<double> BracketShares(std::size_t brackets, int reduction) {
  std::vector<double> shares;
  for (std::size_t rungs = brackets; rungs-- > 0;) {
    shares.push_back(std::pow(reduction, rungs) / static_cast<double>(rungs + 1));
  }
  Normalise(shares);
  return shares;
}

std::vector<double> BracketSharesOf(std::int64_t trials, std::size_t brackets, int reduction) {
  auto shares = BracketShares(brackets, reduction);
  // Shares never grow from bracket to bracket.
  for (std::size_t last = brackets; --last > 0 && shares[last] * static_cast<double>(trials) < reduction;) {
    shares[last] = 0;
    Normalise(shares);
  }
  return shares;
}

std::size_t BracketOfTrial(TrialNumber trial, const std::vector<double>& shares) {
  constexpr std::uint64_t kGoldenRatio = 0x9E3779B97F4A7C15;  // its fractional part in units of 2^-64
  double left = static_cast<double>((static_cast<std::uint64_t>(trial) * kGoldenRatio) >> 11) * 0x1p-53;
  std::size_t found = 0;
  for (std::size_t bracket = 0; bracket < shares.size() && shares[bracket] > 0; ++bracket) {
    found = bracket;
    if (left < shares[bracket]) break;
    left -= shares[bracket];
  }
  return found;
}

std::unique_ptr<Scheduler> MakeHyperband(const SchedulerSettings& settings) {
  const std::vector<double> resources = RungResources(settings.min, settings.max, settings.reduction);
  std::vector<Rungs> brackets;
  for (std::size_t first = 0; first < resources.size(); ++first) {
    brackets.emplace_back(std::span(resources).subspan(first), settings.reduction);
  }
  const auto shares = BracketSharesOf(settings.trials, brackets.size(), settings.reduction);
  const auto bracket_of = [shares](TrialNumber trial) { return BracketOfTrial(trial, shares); };
  return std::make_unique<Asha>(std::move(brackets), bracket_of, settings);
}

}  // namespace slipway::ensemble
