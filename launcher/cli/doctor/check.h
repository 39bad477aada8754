/// A check examines one thing in its own process, so that a hang or a crash becomes a finding.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "core/units.h"
#include "launcher/cli/doctor/finding.h"

namespace slipway::launcher {

struct Check {
  std::string name;
  /// Then the check's process is killed. A check that starts programs gives them less time than this.
  std::chrono::milliseconds deadline;
  std::function<Findings()> look;
  std::optional<Finding> late = {};  ///< when it does not end in time; nothing: that is a failure
};

struct CheckResult {
  std::string name;
  Findings findings;  ///< never empty
  Seconds took{};
};

/// Runs the check. Its errors, crashes and hangs become findings (kFail) with the check's name; none of them throws. A
/// process that the kernel cannot end, for example during a hang of a file system, is left behind. Forks, so the
/// program must have one thread. Cost: some milliseconds beside the check's own.
CheckResult Perform(const Check& check);

}  // namespace slipway::launcher
