/// How a point is made from two others: crossover and mutation for each kind of axis.
#pragma once

#include "ensemble/search/cube/encoding.h"
#include "ensemble/search/numbers/draws.h"

namespace slipway::ensemble {

/// Each axis comes from either parent with equal chance; on numeric ones that both have, half of the time it lies near
/// one of them or between (simulated binary crossover). An axis that only one parent has comes from that one; one that
/// neither has is drawn evenly.
/// Source: Deb, Agrawal: "Simulated binary crossover for continuous search space", Complex Systems 9, 1995.
Coordinates Cross(const Encoding& encoding, const Coordinates& mother, const Coordinates& father, Draws& draws);

/// Changes at least one axis, of d axes one and a half on average. Numeric ones move by normal steps whose size is
/// drawn anew each time, from a third of the range to a thousandth; ordered ones by at least one place; categorical
/// ones get another value.
void Mutate(const Encoding& encoding, Coordinates& at, Draws& draws);

}  // namespace slipway::ensemble
