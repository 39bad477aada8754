/// How long a program takes as a process of its own.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/process.h"

namespace slipway::bench {

/// What of a program's output is shown.
enum class Shown { kNothing, kErrors };

struct TimedEnd {
  double seconds = 0;  ///< from before its start to its end
  ExitStatus status;
};

/// Runs a program to its end. `directory`: where it works; empty: here.
TimedEnd TimeProgram(const std::vector<std::string>& words, const std::filesystem::path& directory, Shown shown);

}  // namespace slipway::bench
