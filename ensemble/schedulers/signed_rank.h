/// The test of the scheduler `wilcoxon`: is a configuration worse than another, by paired repeats of both?
#pragma once

#include <utility>
#include <vector>

namespace slipway::ensemble {

/// (value of the candidate, value of the other configuration) of the same repeat. Lower is better; NaN and infinities
/// are worst.
using PairedValues = std::vector<std::pair<double, double>>;

/// The p-value of Wilcoxon's one-sided signed-rank test: the probability that the candidate looks at least this much
/// worse by chance. Equal pairs are ranked and then left out (Pratt). Equal distances share their mean rank.
///
/// Result: exact up to 25 pairs; beyond, the normal approximation with corrections for ties and zeros. 1 if no pair
///         differs.
/// Cost:   O(n log n), and O(n^3) up to 25 pairs.
/// Source: Wilcoxon, Biometrics Bulletin 1, 1945; Pratt, JASA 54, 1959; the corrections: Cureton, JASA 62, 1967.
double SignedRankProbability(const PairedValues& pairs);

/// Whether the candidate is worse at the significance level `p`. Fewer than log2(1/p) pairs never suffice.
bool IsWorse(const PairedValues& pairs, double p);

}  // namespace slipway::ensemble
