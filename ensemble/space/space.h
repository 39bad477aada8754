/// The search space of an ensemble: its parameters, and the constraints between them.
#pragma once

#include <string>
#include <vector>

#include "core/json.h"
#include "ensemble/space/constraint.h"
#include "ensemble/space/parameter.h"

namespace slipway::ensemble {

/// Parameters ordered so that each follows those that its condition names.
class SearchSpace {
 public:
  SearchSpace() = default;
  const std::vector<Parameter>& parameters() const { return parameters_; }
  const std::vector<Constraint>& constraints() const { return constraints_; }
  /// No constraint is broken.
  bool Allows(const Point& point) const;

 private:
  friend SearchSpace MakeSearchSpace(std::vector<Parameter> parameters, const std::vector<std::string>& constraints);
  std::vector<Parameter> parameters_;
  std::vector<Constraint> constraints_;
};

/// Checks the parameters against each other: names differ; conditions name existing parameters that are not continuous
/// and values that these can have, and which they then hold as samplers write them; no condition leads back to its own
/// parameter. Otherwise the given order is kept.
/// Errors: Error(kUsage), also of a constraint. Whether any point meets the constraints is not asked: CheckFeasible.
SearchSpace MakeSearchSpace(std::vector<Parameter> parameters, const std::vector<std::string>& constraints = {});

/// ParseParameter for each member of an object, then MakeSearchSpace. The member with the empty name is the list of
/// constraints.
SearchSpace ParseSpace(const Json& definitions);

/// The inverse of ParseSpace. Stored in the trial book.
Json ToJson(const SearchSpace& space);

/// The same point with the values as samplers write them (domain.h, Canonical).
/// Errors: Error(kUsage) for unknown parameters and values outside of their domains, with the nearest ones.
Point CanonicalValues(const SearchSpace& space, Point point);

/// A configuration that the user wrote, in the order of the space and with the values as samplers write them. It may
/// leave parameters out.
/// Errors: as CanonicalValues; Error(kUsage) for parameters that are not active beside the other values, and broken
/// constraints.
Point CheckedPoint(const SearchSpace& space, const Point& written);

}  // namespace slipway::ensemble
