/// The environment variables that users see: who reads or sets each, and its meaning.
#pragma once

#include <string>

#include "core/environment.h"

namespace slipway::launcher {

/// docs/reference/environment.md. Pure.
std::string EnvironmentPage();

/// Removes what a run or a step has set for the program that this process is part of: its trial, its limit, its data.
/// Programs of a run inside of it must not take them for their own. Changes nothing outside of such a program.
void LeaveOuterProgram(Environment& environment);

}  // namespace slipway::launcher
