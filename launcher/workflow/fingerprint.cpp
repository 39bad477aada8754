#include "launcher/workflow/fingerprint.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <functional>

#include "core/documents.h"
#include "core/files.h"
#include "core/filesystem_errors.h"
#include "launcher/workflow/sha256.h"

namespace slipway::launcher {
namespace {

namespace fs = std::filesystem;

std::string StampOfFile(const fs::path& file) {
  struct stat info {};
  if (::stat(file.c_str(), &info) != 0) return "missing";
  return fmt::format("{} bytes, changed {}.{:09}", info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
}

std::string ContentOfFile(const fs::path& file) {
  return FileBytes(file) > kLargestHashed ? StampOfFile(file) : Sha256OfFile(file);
}

/// All files below a folder, sorted. Links are followed for files only.
std::vector<fs::path> FilesBelow(const fs::path& folder) {
  std::vector<fs::path> files;
  WithSystemErrors([&] {
    for (const auto& entry : EntriesBelow(folder)) {
      if (entry.is_regular_file()) files.push_back(entry.path());  // throws for a loop of links
    }
  });
  std::ranges::sort(files);
  return files;
}

std::string OfTree(const fs::path& path, const std::function<std::string(const fs::path&)>& of_file) {
  std::error_code error;
  if (!fs::exists(path, error)) return "missing";
  if (!fs::is_directory(path, error)) return of_file(path);
  Sha256 hash;
  for (const auto& file : FilesBelow(path)) {
    hash.Add(file.lexically_relative(path).string() + '\0' + of_file(file) + '\n');
  }
  return hash.Finish();
}

std::uint64_t BytesOfTree(const fs::path& path) {
  std::error_code error;
  if (!fs::exists(path, error)) return 0;
  if (!fs::is_directory(path, error)) return FileBytes(path);
  std::uint64_t bytes = 0;
  for (const auto& file : FilesBelow(path)) bytes += FileBytes(file);
  return bytes;
}

}  // namespace

const std::string& Fingerprints::Of(const fs::path& path) {
  const auto found = known_.find(path.string());
  return found != known_.end() ? found->second
                               : known_.emplace(path.string(), OfTree(path, ContentOfFile)).first->second;
}

const std::string& Fingerprints::StampOf(const fs::path& path) {
  const auto found = stamps_.find(path.string());
  return found != stamps_.end() ? found->second : stamps_.emplace(path.string(), StampOfTree(path)).first->second;
}

bool Fingerprints::Refresh(const fs::path& path) {
  const auto stamp = stamps_.find(path.string());
  if (stamp == stamps_.end() || stamp->second == StampOfTree(path)) return false;
  stamps_.erase(stamp);
  known_.erase(path.string());
  bytes_.erase(path.string());
  return true;
}

std::uint64_t Fingerprints::BytesOf(const fs::path& path) {
  const auto found = bytes_.find(path.string());
  return found != bytes_.end() ? found->second : bytes_.emplace(path.string(), BytesOfTree(path)).first->second;
}

std::string StampOfTree(const fs::path& path) { return OfTree(path, StampOfFile); }

std::vector<fs::path> ProgramFiles(const std::vector<std::string>& words, const fs::path& directory) {
  std::vector<fs::path> files;
  for (const auto& word : words) {
    if (word.empty() || word.starts_with('-') || word.size() > 1024 || word.find("${") != std::string::npos) continue;
    const auto file = (directory / word).lexically_normal();
    std::error_code error;
    const bool is_below = !file.lexically_relative(directory).string().starts_with("..");
    if (is_below && fs::is_regular_file(file, error)) files.push_back(file);
  }
  return files;
}

}  // namespace slipway::launcher
