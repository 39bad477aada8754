/// The search space of an ensemble: parameters, their domains, and when they are active.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/json.h"
#include "ensemble/scalar.h"

namespace slipway::ensemble {

/// Any number in [low, high].
struct UniformDomain {
  double low = 0;
  double high = 1;
};
/// Any positive number in [low, high]; its logarithm is uniform.
struct LogDomain {
  double low = 1e-3;
  double high = 1;
};
/// Every integer from low to high, both included.
struct IntDomain {
  std::int64_t low = 0;
  std::int64_t high = 1;
};
/// Every integer from low to high, both included, low >= 1; the logarithm is even, small ones come more often.
struct IntLogDomain {
  std::int64_t low = 1;
  std::int64_t high = 2;
};
/// One of these values, all different.
struct ChoiceDomain {
  std::vector<Scalar> values;
};
/// Always this value.
struct FixedDomain {
  Scalar value;
};
using Domain = std::variant<UniformDomain, LogDomain, IntDomain, IntLogDomain, ChoiceDomain, FixedDomain>;

/// Active only when every named parameter is active and has one of the listed values.
struct Condition {
  struct Clause {
    std::string parameter;
    std::vector<Scalar> values;
  };
  std::vector<Clause> clauses;  ///< all must hold
};

struct Parameter {
  std::string name;
  Domain domain;
  std::optional<Condition> when;
};

/// Reads one parameter from the JSON form of the spec:
/// `{"log":[1e-4,1e-1]}`, `{"uniform":[0,0.99],"when":{"optimizer":"sgd"}}`, `{"int":[1,4]}`, `{"int_log":[8,1024]}`, `{"choice":[32,64]}`,
/// `{"fixed":0.9,"when":{"optimizer":["sgd","adam"]}}`, and a scalar for a fixed value.
/// Errors: Error(kUsage) that says what is wrong and, for a mistyped word, the nearest valid one.
Parameter ParseParameter(std::string_view name, const Json& definition);

/// The inverse of ParseParameter.
Json ToJson(const Parameter& parameter);

/// True when `value` lies in the domain.
bool Contains(const Domain& domain, const Scalar& value);

/// Parameters ordered so that each follows those that its condition names.
class SearchSpace {
 public:
  SearchSpace() = default;
  const std::vector<Parameter>& parameters() const { return parameters_; }

 private:
  friend SearchSpace MakeSearchSpace(std::vector<Parameter> parameters);
  std::vector<Parameter> parameters_;
};

/// Checks the parameters against each other: names differ; conditions name existing choice, integer or fixed parameters
/// and values that these can have; no condition leads back to its own parameter. Otherwise the given order is kept.
/// Errors: Error(kUsage).
SearchSpace MakeSearchSpace(std::vector<Parameter> parameters);

/// ParseParameter for each member of an object, then MakeSearchSpace.
SearchSpace ParseSpace(const Json& definitions);

/// Whether `parameter` is active, given the values of the parameters before it.
bool IsActive(const Parameter& parameter, const Point& point);

}  // namespace slipway::ensemble
