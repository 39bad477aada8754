/// The check that ranks which were started together find each other, in programs that know nothing of Slipway.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/environment.h"

namespace slipway::launcher {

/// What loads libslipway_mpi_check (runtime/check/mpi_check.cpp) into programs that have `environment` otherwise.
/// Nothing where it is not there, or where its path cannot stand in LD_PRELOAD.
std::vector<std::pair<std::string, std::string>> VariablesOfMpiCheck(const Environment& environment);

}  // namespace slipway::launcher
