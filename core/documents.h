/// Reading small documents and names from folders that others may write into.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace slipway {

/// Larger than any document that Slipway writes.
inline constexpr std::uint64_t kLargestDocument = std::uint64_t{256} << 20;
/// The whole file. It never waits, and takes no memory for what is no document. Errors: Error(kEnvironment) also for a
/// pipe, a device, or a file of more than kLargestDocument bytes.
std::string ReadDocument(const std::filesystem::path& path);
/// The same, or nothing when it does not exist.
std::optional<std::string> ReadDocumentIfPresent(const std::filesystem::path& path);

/// What lies in a folder, sorted by name. A folder that is missing or cannot be read has nothing, or less.
std::vector<std::filesystem::path> EntriesOf(const std::filesystem::path& folder);

/// All that lies below a folder, at any depth; links are not followed. Errors: SystemError naming a folder that cannot
/// be read.
std::vector<std::filesystem::directory_entry> EntriesBelow(const std::filesystem::path& folder);

/// Whether a text may be a pattern of glob(3).
bool HasWildcard(std::string_view text);

/// The existing paths that fit a pattern of glob(3), sorted. A path that exists fits itself, whatever characters it
/// has. Errors: SystemError naming a directory that is missing or cannot be read: its files would be missing unnoticed.
std::vector<std::filesystem::path> MatchingPaths(const std::string& pattern);

}  // namespace slipway
