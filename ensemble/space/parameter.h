/// A parameter of the search space: its domain, and when it is active.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/json.h"
#include "ensemble/space/domain.h"

namespace slipway::ensemble {

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

/// An error in one parameter of a space. The message names the parameter in front of the reason.
class ParameterError : public Error {
 public:
  ParameterError(std::string_view parameter, std::string_view reason, std::string next_step = {});
  const std::string& parameter() const { return parameter_; }

 private:
  std::string parameter_;
};

/// Reads one parameter from the JSON form of the spec:
/// `{"log":[1e-4,1e-1]}`, `{"uniform":[0,0.99],"when":{"optimizer":"sgd"}}`, `{"uniform":[0,1],"step":0.1}`,
/// `{"int":[1,4]}`, `{"int":[8,64],"step":8}`, `{"int_log":[8,1024]}`, `{"choice":[32,64]}`,
/// `{"ordinal":["small","medium","large"]}`, `{"fixed":0.9,"when":{"optimizer":["sgd","adam"]}}`, and a scalar for a
/// fixed value.
/// Errors: ParameterError with the reason and, for a mistyped word, the nearest valid one.
Parameter ParseParameter(std::string_view name, const Json& definition);

/// The inverse of ParseParameter.
Json ToJson(const Parameter& parameter);

/// Whether `parameter` is active, given the values of the parameters before it.
bool IsActive(const Parameter& parameter, const Point& point);

/// In their order.
std::vector<std::string> NamesOf(const std::vector<Parameter>& parameters);

/// The parameter of this name, or null.
const Parameter* FindParameter(const std::vector<Parameter>& parameters, std::string_view name);

}  // namespace slipway::ensemble
