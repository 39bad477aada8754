/// Cold and warm: what of a data set the kernel holds in memory.
#pragma once

#include <filesystem>

namespace slipway::bench {

/// Out of the page cache: the kernel's switch for root (entries of directories too), else file by file.
void MakeCold(const std::filesystem::path& directory);
/// True when MakeCold() uses the kernel's switch.
bool CanDropAll();
/// Reads every file once.
void MakeWarm(const std::filesystem::path& directory);

/// Seconds to read every file with `threads` threads, 1 MiB at a time, to nowhere: no copy is faster than this.
double ReadAll(const std::filesystem::path& directory, std::size_t threads);
/// Seconds to copy every file with sendfile(2) and `threads` threads into `target`, unchecked; it is removed again.
double SendAll(const std::filesystem::path& directory, const std::filesystem::path& target, std::size_t threads);

}  // namespace slipway::bench
