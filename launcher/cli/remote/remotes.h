/// `remotes:` in the user's settings file: machines on which `slipway --on NAME` carries commands out.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/units.h"

namespace slipway::launcher {

struct Remote {
  std::string name;                       ///< as given to --on
  std::string destination;                ///< what ssh gets: an alias of its configuration, HOST or USER@HOST
  std::string root = "slipway";           ///< folder of projects and runs there; relative: below the home
  std::string program = "slipway";        ///< what is started there
  Bytes limit{std::uint64_t{200} << 20};  ///< most that one command may transfer
  bool is_in_settings = false;
  std::vector<std::string> others = {};  ///< what the settings name
};

/// The remote of this name in a settings file. A name that it lacks, or a missing file, gives a destination of ssh.
///
/// Errors: SpecError for a wrong `remotes` section; Error(kUsage) for a name that ssh would take for an option.
Remote FindRemote(const std::string& name, const std::filesystem::path& settings);

}  // namespace slipway::launcher
