#include "ensemble/schedulers/signed_rank.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ensemble/schedulers/curve.h"
#include "ensemble/search/numbers/normal.h"

namespace slipway::ensemble {
namespace {

constexpr std::size_t kMostExact = 25;

/// A pair that differs.
struct Ranked {
  int doubled_rank = 0;  // mean ranks of ties are halves
  bool is_worse = false;
};

/// Above 0: the candidate is worse. Two infinities are equal.
double Difference(const std::pair<double, double>& pair) {
  const double candidate = WorstIfNotFinite(pair.first);
  const double other = WorstIfNotFinite(pair.second);
  return candidate == other ? 0 : candidate - other;
}

std::vector<double> ByDistance(const PairedValues& pairs) {
  std::vector<double> differences;
  for (const auto& pair : pairs) differences.push_back(Difference(pair));
  std::ranges::sort(differences, {}, [](double difference) { return std::abs(difference); });
  return differences;
}

/// Ranks by distance. Zeros get the lowest ranks and are left out.
std::vector<Ranked> Rank(const std::vector<double>& differences) {
  std::vector<Ranked> ranked;
  for (std::size_t first = 0, next = 0; first < differences.size(); first = next) {
    const double distance = std::abs(differences[first]);
    while (next < differences.size() && std::abs(differences[next]) == distance) ++next;
    if (distance == 0) continue;
    const int doubled = static_cast<int>(first + 1 + next);
    for (std::size_t i = first; i < next; ++i) ranked.push_back({doubled, differences[i] > 0});
  }
  return ranked;
}

int SumOfWorse(const std::vector<Ranked>& ranked) {
  return std::accumulate(ranked.begin(), ranked.end(), 0,
                         [](int sum, const Ranked& one) { return one.is_worse ? sum + one.doubled_rank : sum; });
}

/// Each sign is a fair coin. Adds up the probability of each sum of ranks, over all subsets.
double ExactProbability(const std::vector<Ranked>& ranked) {
  std::vector<double> probability = {1};
  for (const auto& one : ranked) {
    const auto rank = static_cast<std::size_t>(one.doubled_rank);
    std::vector<double> next(probability.size() + rank, 0.0);
    for (std::size_t sum = 0; sum < probability.size(); ++sum) {
      next[sum] += probability[sum] / 2;
      next[sum + rank] += probability[sum] / 2;
    }
    probability = std::move(next);
  }
  return std::accumulate(probability.begin() + SumOfWorse(ranked), probability.end(), 0.0);
}

/// Normal approximation. Ranks are fixed and signs are random: this gives mean and variance of the sum, with ties and
/// zeros.
double NormalProbability(const std::vector<Ranked>& ranked) {
  double mean = 0;
  double variance = 0;
  for (const auto& one : ranked) {
    mean += one.doubled_rank / 2.0;
    variance += one.doubled_rank * static_cast<double>(one.doubled_rank) / 4;
  }
  const double continuity = 1;  // half a rank, doubled as all are
  return NormalCdf(-(SumOfWorse(ranked) - mean - continuity) / std::sqrt(variance));
}

}  // namespace

double SignedRankProbability(const PairedValues& pairs) {
  const auto ranked = Rank(ByDistance(pairs));
  if (ranked.empty()) return 1;
  return pairs.size() <= kMostExact ? ExactProbability(ranked) : NormalProbability(ranked);
}

bool IsWorse(const PairedValues& pairs, double p) { return SignedRankProbability(pairs) <= p; }

}  // namespace slipway::ensemble
