#include "launcher/cli/doctor/file_system.h"

#include <algorithm>
#include <iterator>
#include <sstream>
#include <vector>

namespace slipway::launcher {
namespace {

bool IsOctal(char c) { return c >= '0' && c <= '7'; }

/// Blanks and the like are written as three octal digits: "/a\040b".
std::string Unescaped(const std::string& text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escape =
        text[i] == '\\' && i + 3 < text.size() && IsOctal(text[i + 1]) && IsOctal(text[i + 2]) && IsOctal(text[i + 3]);
    if (!escape) {
      plain += text[i];
      continue;
    }
    plain += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
    i += 3;
  }
  return plain;
}

bool LiesBelow(const std::string& path, const std::string& point) {
  return point == "/" || path == point || path.starts_with(point + "/");
}

struct MountPoint {
  std::string point, type;
};

/// "36 35 98:0 /root /mount/point options ... - type source options": any number of fields before the dash.
MountPoint MountOf(const std::string& line) {
  std::istringstream fields(line);
  const std::vector<std::string> words(std::istream_iterator<std::string>(fields), {});
  const auto dash = std::find(words.begin(), words.end(), "-");
  if (words.size() < 6 || words.end() - dash < 2) return {};
  return {Unescaped(words[4]), dash[1]};
}

}  // namespace

std::string FileSystemOf(const std::filesystem::path& path, std::string_view mounts) {
  MountPoint best;
  std::istringstream lines{std::string(mounts)};
  for (std::string line; std::getline(lines, line);) {
    const auto mount = MountOf(line);
    if (mount.point.empty() || !LiesBelow(path.string(), mount.point)) continue;
    if (mount.point.size() >= best.point.size()) best = mount;
  }
  return best.type;
}

}  // namespace slipway::launcher
