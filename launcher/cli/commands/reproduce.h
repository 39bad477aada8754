/// `slipway reproduce`: the spec and the command that repeat a run, and what differs here.
#pragma once

#include <filesystem>
#include <string>

#include "launcher/cli/commands/session.h"

namespace slipway::launcher {

struct ReproduceOptions {
  std::string run = "last";
  std::filesystem::path out;  ///< the spec; empty: RUN.yaml beside the spec of the run
};
/// Writes the spec as it was, and its diff as a patch if the code here is another. Starts nothing.
/// Errors: those of FindRun and StoredSpec; Error(kUsage) when another file is in the way; SpecError when this version
/// does not accept the spec.
int Reproduce(const ReproduceOptions& options, Session& session);

}  // namespace slipway::launcher
