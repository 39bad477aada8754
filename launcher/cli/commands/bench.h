/// `slipway bench`: runs one of the benchmark programs of this installation.
#pragma once

#include <string>
#include <vector>

#include "launcher/cli/commands/session.h"

namespace slipway::launcher {

struct BenchOptions {
  std::string name;                    ///< "launch"
  std::vector<std::string> arguments;  ///< for the benchmark itself
  bool help = false;                   ///< print help of the benchmark, or of `bench` without a name
};

/// The benchmarks of this installation, by name: the programs libexec/slipway/bench-NAME.
std::vector<std::string> Benchmarks();

/// Replaces this process by libexec/slipway/bench-NAME. Errors: Error(kUsage) naming the benchmarks that exist.
int Bench(const BenchOptions& options, Session& session);

}  // namespace slipway::launcher
