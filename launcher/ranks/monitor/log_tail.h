/// The end of a log.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

namespace slipway::launcher {

/// The last `count` lines, without the final newline; empty when the file is missing or empty.
/// Cost: reads at most the last 64 KiB.
std::string LastLines(const std::filesystem::path& path, std::size_t count);

}  // namespace slipway::launcher
