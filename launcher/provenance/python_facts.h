/// The Python that a command runs, and what is installed for it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "launcher/provenance/provenance.h"

namespace slipway::launcher {

/// The full path of the Python interpreter that `words` start: its first word, or the one that the first line of the
/// program names. `directory`: where a relative program starts. Nothing for other programs.
std::optional<std::filesystem::path> PythonIn(const std::vector<std::string>& words,
                                              const std::filesystem::path& directory);

/// Asks that Python for its version, and lists the packages on its path by the names of their folders.
/// Cost: a start of Python, 20 to 40 ms; 5 s at most.
std::optional<PythonFacts> PythonOf(const std::vector<std::string>& words, const std::filesystem::path& directory,
                                    std::vector<std::string>& warnings);

}  // namespace slipway::launcher
