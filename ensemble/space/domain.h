/// Domains: the values that a parameter may have, and their places in [0, 1].
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "ensemble/model/scalar.h"

namespace slipway::ensemble {

/// Any number in [low, high]. With a step: only low, low + step, low + 2 step, ...
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
/// The integers low, low + step, ... up to high.
struct IntDomain {
  std::int64_t low = 0;
  std::int64_t high = 1;
  std::int64_t step = 1;
};
/// Every integer from low to high, both included; low >= 1. Their logarithm is uniform: small ones are more frequent.
struct IntLogDomain {
  std::int64_t low = 1;
  std::int64_t high = 2;
};
/// One of these values, all different.
struct ChoiceDomain {
  std::vector<Scalar> values;
};
/// One of these values, all different, ordered as listed.
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

/// Whether `value` lies in the domain. Stepped numbers may be off by a billionth of a step.
bool Contains(const Domain& domain, const Scalar& value);

/// The domain's own form of `value`, as samplers write it; nothing if the domain does not contain it. Examples: 0.3 of
/// a stepped range for numbers that differ from it by rounding; the integer 2 for 2.0.
/// Call it before values of a parameter are compared: for literals of conditions and constraints, and for points of
/// users, other tools and samplers. Equal values are then equal to the last bit.
std::optional<Scalar> Canonical(const Domain& domain, const Scalar& value);

/// Whether the domain lists its values: choice, ordinal and fixed. All others are ranges of numbers.
bool IsList(const Domain& domain);

/// Whether the domain is a range of numbers without a step.
bool IsContinuous(const Domain& domain);

/// The number of values of a domain that is not continuous. 0 stands for all 2^64 integers.
std::uint64_t CountValues(const Domain& domain);
/// Value `index` of a domain that is not continuous, in ascending order or in that of the spec. `index` < CountValues.
Scalar ValueAt(const Domain& domain, std::uint64_t index);
/// The inverse of ValueAt; nothing when the domain does not contain the value.
std::optional<std::uint64_t> IndexOf(const Domain& domain, const Scalar& value);

/// The place of a value in [0, 1]. Equal parts have equal weight; `log` and `int_log` are even in the logarithm.
/// Discrete values lie in the middle of their parts. NaN for a value of another kind.
double UnitOf(const Domain& domain, const Scalar& value);
/// The value of the part that contains `unit`. Numbers outside of [0, 1] are clamped.
Scalar AtUnit(const Domain& domain, double unit);

}  // namespace slipway::ensemble
