/// Check "installation": whether all parts of this Slipway are in place.
#pragma once

#include <string>
#include <vector>

#include "launcher/cli/doctor/finding.h"

namespace slipway::launcher {

struct InstallationFacts {
  std::string version;  ///< "0.1.0 (9943da0)"
  std::string prefix;
  std::vector<std::string> missing;  ///< programs of libexec/slipway that every installation has
  std::vector<std::string> mpis;     ///< that there is a libslipway for
  bool hdf5 = false;                 ///< the module that reads HDF5 files
  std::vector<std::string> trainers;
};

InstallationFacts ProbeInstallation();
/// Pure.
Findings Judge(const InstallationFacts& facts);

}  // namespace slipway::launcher
