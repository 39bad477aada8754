/// The end of a log.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

namespace slipway::launcher {

/// The last `count` lines, without the final newline; empty when the file is missing or empty.
/// Cost: reads at most the last 64 KiB.
std::string LastLines(const std::filesystem::path& path, std::size_t count);

/// The same for people: as WithoutControls (core/terminal_text.h) leaves them, and what is longer than 500 bytes ends
/// with "…".
std::string ShownLastLines(const std::filesystem::path& path, std::size_t count);

}  // namespace slipway::launcher
