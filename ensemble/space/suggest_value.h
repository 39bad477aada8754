/// "The nearest is": what a value that a parameter never has may have been meant to be.
#pragma once

#include <string>

#include "ensemble/space/domain.h"

namespace slipway::ensemble {

/// To be added to a message that refuses `value`: "; the nearest is 0.3", "; did you mean 'sgd'?". Empty: nothing is
/// like it. Cost: of lists one look at each value, of ranges some 30 values.
std::string SuggestValue(const Domain& domain, const Scalar& value);

}  // namespace slipway::ensemble
