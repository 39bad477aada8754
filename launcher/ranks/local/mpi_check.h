/// Loads a check into programs without Slipway: do ranks that were started together find each other?
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/environment.h"

namespace slipway::launcher {

/// The variables that load libslipway_mpi_check (runtime/check/mpi_check.cpp) into programs with `environment`. Empty
/// where the library is missing, or its path cannot stand in LD_PRELOAD.
std::vector<std::pair<std::string, std::string>> VariablesOfMpiCheck(const Environment& environment);

}  // namespace slipway::launcher
