/// Suggests the nearest valid value for a value outside of a domain.
#pragma once

#include <string>

#include "ensemble/space/domain.h"

namespace slipway::ensemble {

/// Text to add to a message that refuses `value`: "; the nearest is 0.3", "; did you mean 'sgd'?". Empty: no value is
/// near. Cost: lists compare each value; ranges use bisection.
std::string SuggestValue(const Domain& domain, const Scalar& value);

}  // namespace slipway::ensemble
