/// Domains of parameters as Optuna's distributions, and values as Optuna's internal numbers.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "ensemble/space/domain.h"

namespace slipway::ensemble {

/// The JSON text of a distribution. `uniform` and `log` become FloatDistribution, `int` and `int_log`
/// IntDistribution; `choice`, `ordinal` and `fixed` CategoricalDistribution. Optuna wants stepped ranges to end at
/// their last value, so they do.
std::string OptunaDistribution(const Domain& domain);

/// What Optuna stores for a value of the domain: the number itself or, of categorical ones, its index. Integers beyond
/// 2^53 are rounded, as Optuna does it. `value` must be one of the domain's.
double OptunaNumber(const Domain& domain, const Scalar& value);

/// The inverse: the value that a distribution and an internal number mean. Nothing for text that is no distribution of
/// Optuna 3, and for numbers that it cannot have stored.
std::optional<Scalar> FromOptunaNumber(std::string_view distribution, double number);

}  // namespace slipway::ensemble
