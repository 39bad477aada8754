/// Numbers in the reasons that schedulers give.
#pragma once

#include <string>

#include "ensemble/model/records.h"

namespace slipway::ensemble {

/// As the user reported it: values of a study that maximizes are negated inside. Six digits.
std::string DescribeValue(double value, Goal goal);

}  // namespace slipway::ensemble
