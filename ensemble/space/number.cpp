#include "ensemble/space/number.h"

#include <limits>

namespace slipway::ensemble {

double NumberOf(const Scalar& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return static_cast<double>(*integer);
  const auto* real = std::get_if<double>(&value);
  return real != nullptr ? *real : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace slipway::ensemble
