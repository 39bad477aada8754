/// `when` of a step: an expression over the results of earlier steps.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "core/json.h"
#include "launcher/workflow/reference.h"

namespace slipway::launcher {

/// Errors: Error(kUsage) naming the expression and the reason. The language is that of `ensemble.constraints`
/// (ensemble/space/constraint.h), with references as its numbers.
void CheckCondition(std::string_view text);

/// Whether it holds. `value_of` gives a finite number for each reference.
/// Errors: Error(kFailed) when a value is no number.
bool ConditionHolds(std::string_view text, const std::function<Json(const Reference&)>& value_of);

}  // namespace slipway::launcher
