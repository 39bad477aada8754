/// Figures of a process of its own.
#pragma once

#include <functional>
#include <vector>

namespace slipway::bench {

/// Calls `measure` in a forked child and returns what it returned. The caller must have one thread.
/// Errors: Error(kFailed) when the child fails; it has said why.
std::vector<double> InChild(const std::function<std::vector<double>()>& measure);

/// Resident memory of this process in MB: now, and the most there ever was.
double ResidentMegabytes();
double MostResidentMegabytes();

}  // namespace slipway::bench
