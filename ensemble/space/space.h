/// The search space of an ensemble: its parameters, and the constraints between them.
#pragma once

#include <string>
#include <vector>

#include "core/json.h"
#include "ensemble/model/records.h"
#include "ensemble/space/constraint.h"
#include "ensemble/space/parameter.h"

namespace slipway::ensemble {

/// Parameters and constraints. Each parameter comes after those that its condition names.
class SearchSpace {
 public:
  SearchSpace() = default;
  const std::vector<Parameter>& parameters() const { return parameters_; }
  const std::vector<Constraint>& constraints() const { return constraints_; }
  /// Whether the point breaks no constraint.
  bool Allows(const Point& point) const;

 private:
  friend SearchSpace MakeSearchSpace(std::vector<Parameter> parameters, const std::vector<std::string>& constraints);
  std::vector<Parameter> parameters_;
  std::vector<Constraint> constraints_;
};

/// Checks the parameters against each other, and makes a space of them:
///   - names differ;
///   - conditions name existing parameters that are not continuous, and values of these; the values become canonical;
///   - no condition leads back to its own parameter.
/// Keeps the given order where conditions allow.
/// Errors: Error(kUsage), also of a constraint. CheckFeasible checks whether any point meets the constraints.
SearchSpace MakeSearchSpace(std::vector<Parameter> parameters, const std::vector<std::string>& constraints = {});

/// Calls ParseParameter for each member of an object, then MakeSearchSpace. The member with the empty name holds the
/// list of constraints.
SearchSpace ParseSpace(const Json& definitions);

/// The inverse of ParseSpace. Stored in the trial book.
Json ToJson(const SearchSpace& space);

/// The same point with canonical values (domain.h, Canonical).
/// Errors: Error(kUsage) for unknown parameters and values outside of their domains, with the nearest ones.
Point CanonicalValues(const SearchSpace& space, Point point);

/// A user's configuration, in the order of the space and with canonical values. It may leave parameters out.
/// Errors: as CanonicalValues; Error(kUsage) for parameters that the other values make inactive, and for broken
///         constraints.
Point CheckedPoint(const SearchSpace& space, const Point& written);

/// Parses the space of a study.
/// Errors: Error(kEnvironment) when the book's text is no space.
SearchSpace StoredSpace(const StudyRecord& study);

}  // namespace slipway::ensemble
