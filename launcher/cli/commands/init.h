/// `slipway init`: a project to start from.
#pragma once

#include <string>
#include <vector>

#include "launcher/cli/commands/session.h"

namespace slipway::launcher {

/// "command", "cpp", "pytorch".
std::vector<std::string> ProjectTemplates();

struct InitOptions {
  std::string name;
  std::string chosen;  ///< one of ProjectTemplates()
};

/// Makes the folder `name` with a program, its spec, the schema for editors and small data, and says what to do next
/// (`slipway.init/1`). Nothing that is there is changed; after an error there is no such folder.
/// Errors: Error(kUsage): no name for a run, something of that name is there; Error(kEnvironment): an installation
/// without templates, a full disk.
int Init(const InitOptions& options, Session& session);

}  // namespace slipway::launcher
