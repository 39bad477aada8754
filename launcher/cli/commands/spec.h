/// Commands about the spec itself: `validate`, `schema`, `completion`.
#pragma once

#include <string>
#include <vector>

#include "launcher/cli/commands/plan.h"
#include "launcher/cli/commands/session.h"

namespace slipway::launcher {

/// Checks the spec, and that this machine has what it needs; starts nothing. JSON: `slipway.validate/1`.
/// Errors: SpecError with everything that is wrong.
int Validate(const SpecSelection& selection, Session& session);

struct SchemaOptions {
  bool markdown = false;  ///< the reference page instead of the JSON Schema
  bool workflow = false;  ///< the JSON Schema of workflow files
};
int Schema(const SchemaOptions& options, Session& session);

/// One command with its options, for completion.
struct CommandWords {
  std::string name;  ///< "run", "trials best"
  std::vector<std::string> options;
};
struct CompletionOptions {
  std::string shell;  ///< bash or zsh
  std::vector<CommandWords> commands;
};
int Completion(const CompletionOptions& options, Session& session);

/// The script itself. Pure.
std::string CompletionScript(const CompletionOptions& options, const std::vector<std::string>& fields);

}  // namespace slipway::launcher
