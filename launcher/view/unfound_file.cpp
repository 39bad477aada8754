#include "launcher/view/unfound_file.h"

#include <algorithm>

#include "core/files.h"

namespace slipway::launcher {
namespace {

namespace fs = std::filesystem;

/// As the C library describes ENOENT.
constexpr std::string_view kMissing = "No such file or directory";
/// What stands around a path in a message.
constexpr std::string_view kAround = " \t'\"`:,;()[]<>=";

bool IsInside(const fs::path& path, const fs::path& directory) {
  if (path.empty() || path.is_absolute() || path == "." || *path.begin() == "..") return false;
  return Exists(directory / path);
}

fs::path UnfoundIn(std::string_view line, const fs::path& directory) {
  while (!line.empty()) {
    line.remove_prefix(std::min(line.find_first_not_of(kAround), line.size()));
    const auto word = line.substr(0, line.find_first_of(kAround));
    const auto path = fs::path(word).lexically_normal();
    if (IsInside(path, directory)) return path;
    line.remove_prefix(word.size());
  }
  return {};
}

}  // namespace

fs::path UnfoundFile(std::string_view lines, const fs::path& directory) {
  while (!lines.empty()) {
    const auto line = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(std::min(line.size() + 1, lines.size()));
    const auto at = line.find(kMissing);
    if (at == std::string_view::npos) continue;
    for (const auto part : {line.substr(0, at), line.substr(at + kMissing.size())}) {
      if (auto path = UnfoundIn(part, directory); !path.empty()) return path;
    }
  }
  return {};
}

}  // namespace slipway::launcher
