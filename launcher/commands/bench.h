/// `slipway bench`: runs one of the benchmark programs of this installation.
#pragma once

#include <string>
#include <vector>

#include "launcher/commands/session.h"

namespace slipway::launcher {

struct BenchOptions {
  std::string name;                    ///< "launch"
  std::vector<std::string> arguments;  ///< for the benchmark itself
};

/// Replaces this process by libexec/slipway/bench-NAME. Errors: Error(kUsage) naming the benchmarks that exist.
int Bench(const BenchOptions& options, Session& session);

}  // namespace slipway::launcher
