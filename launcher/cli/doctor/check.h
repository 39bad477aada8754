/// A check looks at one thing in a process of its own, so that what hangs or crashes is itself a finding.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "core/units.h"
#include "launcher/cli/doctor/finding.h"

namespace slipway::launcher {

struct Check {
  std::string name;
  /// After it the process of the check is killed. A check that starts programs gives them less time than this.
  std::chrono::milliseconds deadline;
  std::function<Findings()> look;
};

struct CheckResult {
  std::string name;
  Findings findings;  ///< never empty
  Seconds took{};
};

/// Never throws for what the check does: an error of it, a crash and a hang are findings (kFail) with the check's name.
/// A process that the kernel cannot end, as when a file system does not answer, is left behind. For a program of one
/// thread: it forks. Cost: some milliseconds beside the check's own.
CheckResult Perform(const Check& check);

}  // namespace slipway::launcher
