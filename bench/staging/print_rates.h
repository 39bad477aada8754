/// The rates of the check and of the reader, for people.
#pragma once

#include "core/json.h"

namespace slipway::bench {

/// What BenchChecks returned.
void PrintChecks(const Json& rows);
/// What BenchReader returned.
void PrintReader(const Json& rates);

}  // namespace slipway::bench
