/// The scheduler `wilcoxon`: whether a configuration is worse than another, from paired repeats of both.
#pragma once

#include <utility>
#include <vector>

namespace slipway::ensemble {

/// (value of the candidate, value of the one it is held against) of the same repeat; lower is better, NaN and
/// infinities are worst.
using PairedValues = std::vector<std::pair<double, double>>;

/// The probability that chance alone makes the candidate look at least so much worse, by Wilcoxon's one-sided
/// signed-rank test. Equal pairs are ranked and then left out (Pratt); equal distances share their mean rank.
///
/// Result: exact up to 25 pairs, beyond by the normal approximation with corrections for ties and zeros; 1 without any
///         difference.
/// Cost:   O(n log n), and O(n^3) up to 25 pairs.
/// Source: Wilcoxon, Biometrics Bulletin 1, 1945; Pratt, JASA 54, 1959; the corrections: Cureton, JASA 62, 1967.
double SignedRankProbability(const PairedValues& pairs);

/// Worse at the level `p`. Fewer than log2(1/p) pairs never suffice.
bool IsWorse(const PairedValues& pairs, double p);

}  // namespace slipway::ensemble
