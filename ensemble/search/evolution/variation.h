/// Crossover and mutation for each kind of axis.
#pragma once

#include "ensemble/search/cube/encoding.h"
#include "ensemble/search/numbers/draws.h"

namespace slipway::ensemble {

/// Crossover: each axis comes from either parent with equal probability. A numeric axis of both parents lies near one
/// of them or between them half of the time (simulated binary crossover). An axis of only one parent comes from that
/// one. An axis of neither is drawn evenly.
/// Source: Deb, Agrawal: "Simulated binary crossover for continuous search space", Complex Systems 9, 1995.
Coordinates Cross(const Encoding& encoding, const Coordinates& mother, const Coordinates& father, Draws& draws);

/// Mutation: changes at least one axis, about one and a half on average. Numeric axes move by normal steps. The size of
/// a step is drawn each time, from a thousandth to a third of the range. Ordered axes move by at least one place.
/// Categorical axes get another value.
void Mutate(const Encoding& encoding, Coordinates& at, Draws& draws);

}  // namespace slipway::ensemble
