/// `slipway manual`: the reference of all commands and environment variables, as Markdown or man pages.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "launcher/cli/commands/session.h"

namespace slipway::launcher {

/// An option or a positional argument.
struct ManualOption {
  std::string names;  ///< "-n,--limit", "spec"
  std::string value;  ///< "UINT", "{local,slurm,auto}"; empty: it takes none
  std::string what;
  std::string usual;      ///< the default; may be empty
  bool required = false;  ///< a positional argument that must be given
};

struct ManualCommand {
  std::string name;  ///< "run", "trials best"; empty: the program itself
  std::string what;  ///< in one line
  std::vector<ManualOption> words;
  std::vector<ManualOption> options;
  bool has_commands = false;  ///< it is called with one of its own commands
  std::string examples;       ///< lines as they are typed; may be empty
};

/// The text of docs/reference/cli.md. The first command is the program itself, with the options of all. Pure.
std::string ManualPage(const std::vector<ManualCommand>& commands);

/// A man page of section 1, in roff. `others`: the names of all commands. Pure.
std::string ManPage(const ManualCommand& command, const std::vector<ManualCommand>& others);

struct ManualOptions {
  std::filesystem::path man;  ///< folder for man pages; empty: prints Markdown
  bool environment = false;   ///< the page of the environment variables instead
  std::vector<ManualCommand> commands;
};
/// Errors: SystemError when a page cannot be written.
int Manual(const ManualOptions& options, Session& session);

}  // namespace slipway::launcher
