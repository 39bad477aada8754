/// `slipway init`: makes a new project from a template.
#pragma once

#include <string>
#include <vector>

#include "launcher/cli/commands/session.h"

namespace slipway::launcher {

/// "command", "cpp", "ddp", "pytorch".
std::vector<std::string> ProjectTemplates();

struct InitOptions {
  std::string name;
  std::string chosen;  ///< one of ProjectTemplates()
};

/// Makes the folder `name` with a program, its spec, the schema for editors and small data. Prints the next steps
/// (`slipway.init/1`). Existing files are not changed; after an error the folder does not exist.
/// Errors: Error(kUsage): not a valid run name, or the name exists; Error(kEnvironment): an installation without
/// templates, a full disk.
int Init(const InitOptions& options, Session& session);

}  // namespace slipway::launcher
