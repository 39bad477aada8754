/// The values that a parameter may have, and where they lie between 0 and 1.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "ensemble/model/scalar.h"

namespace slipway::ensemble {

/// Any number in [low, high]; with a step only low, low + step, low + 2 step, ...
struct UniformDomain {
  double low = 0;
  double high = 1;
  double step = 0;  ///< 0: every number
};
/// Any positive number in [low, high]; its logarithm is uniform.
struct LogDomain {
  double low = 1e-3;
  double high = 1;
};
/// The integers low, low + step, ..., not beyond high.
struct IntDomain {
  std::int64_t low = 0;
  std::int64_t high = 1;
  std::int64_t step = 1;
};
/// Every integer from low to high, both included, low >= 1; their logarithm is uniform, small ones come more often.
struct IntLogDomain {
  std::int64_t low = 1;
  std::int64_t high = 2;
};
/// One of these values, all different.
struct ChoiceDomain {
  std::vector<Scalar> values;
};
/// One of these values, all different, which lie in this order.
struct OrdinalDomain {
  std::vector<Scalar> values;
};
/// Always this value.
struct FixedDomain {
  Scalar value;
};
using Domain =
    std::variant<UniformDomain, LogDomain, IntDomain, IntLogDomain, ChoiceDomain, OrdinalDomain, FixedDomain>;

/// The word of the spec: "uniform", "int_log", ...
const std::string& DomainName(const Domain& domain);

/// True when `value` lies in the domain; of stepped numbers also when it is off by a billionth of a step.
bool Contains(const Domain& domain, const Scalar& value);

/// The value of the domain that `value` stands for, as samplers write it: 0.3 of a stepped range for all that is off by
/// the noise of adding steps, 2 for the 2.0 of integers. Nothing: it is none of its values. What is compared with
/// values of a parameter goes through here first: literals of conditions and constraints, points of users, other tools
/// and samplers. After it, equal values are equal to the last bit.
std::optional<Scalar> Canonical(const Domain& domain, const Scalar& value);

/// A range of numbers without a step.
bool IsContinuous(const Domain& domain);

/// How many values a domain has that is not continuous. 0 stands for all 2^64 integers.
std::uint64_t CountValues(const Domain& domain);
/// Value `index` of a domain that is not continuous, in ascending order or that of the spec. `index` < CountValues.
Scalar ValueAt(const Domain& domain, std::uint64_t index);
/// The inverse; nothing when the domain does not contain the value.
std::optional<std::uint64_t> IndexOf(const Domain& domain, const Scalar& value);

/// A place in [0, 1] for each value: equal parts have equal weight, in the logarithm of `log` and `int_log`. Discrete
/// values lie in the middle of their parts. NaN for a value of another kind.
double UnitOf(const Domain& domain, const Scalar& value);
/// The value whose part `unit` lies in; numbers outside of [0, 1] are clamped.
Scalar AtUnit(const Domain& domain, double unit);

}  // namespace slipway::ensemble
