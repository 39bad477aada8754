/// `slipway --on HOST`: the same command line on another machine, through the user's ssh.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/output.h"

namespace slipway::launcher {

struct RemoteRequest {
  std::string host;                ///< value of --on
  std::vector<std::string> words;  ///< the command line, without the program and without --on
  std::string command;             ///< its first command, such as "run"
  std::filesystem::path spec;      ///< as in `words`; empty: the command reads none
  std::vector<std::string> runs;   ///< of report
  std::filesystem::path out;       ///< of report: the file here; empty: RUN.html
};

/// Brings the folder of the spec there, as far as it changed, and carries the command out in it. The page of `report`
/// is brought back. Returns the exit code of the command.
///
/// Errors: kUsage: a command for this machine only; a folder above the remote's limit. kEnvironment: ssh or rsync is
/// missing or fails, or the program is not found there.
int CarryOutOn(const RemoteRequest& request, Output& output);

}  // namespace slipway::launcher
