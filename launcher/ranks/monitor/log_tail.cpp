#include "launcher/ranks/monitor/log_tail.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/terminal_text.h"
#include "core/text.h"
#include "core/unique_handle.h"
#include "core/utf8_character.h"

namespace slipway::launcher {
namespace {

constexpr off_t kMostTailBytes = 64 * 1024;
constexpr std::size_t kLongestShownLine = 500;

std::string ReadEnd(const std::filesystem::path& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info {};
  if (!fd || ::fstat(fd.get(), &info) != 0) return {};
  const off_t begin = info.st_size > kMostTailBytes ? info.st_size - kMostTailBytes : 0;
  std::string text(static_cast<std::size_t>(info.st_size - begin), '\0');
  const ssize_t count = ::pread(fd.get(), text.data(), text.size(), begin);
  text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  return text;
}

std::string Shortened(const std::string& line) {
  return line.size() <= kLongestShownLine ? line : std::string(WholeCharacters(line, kLongestShownLine)) + "\u2026";
}

}  // namespace

std::string LastLines(const std::filesystem::path& path, std::size_t count) {
  auto text = ReadEnd(path);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  auto begin = text.size();
  while (count > 0 && begin != std::string::npos && begin > 0) {
    begin = text.rfind('\n', begin - 1);
    --count;
  }
  return begin == std::string::npos || begin == 0 ? text : text.substr(begin + 1);
}

std::string ShownLastLines(const std::filesystem::path& path, std::size_t count) {
  std::string shown;
  for (const auto& line : LinesOf(WithoutControls(LastLines(path, count)))) {
    shown += (shown.empty() ? "" : "\n") + Shortened(line);
  }
  return shown;
}

}  // namespace slipway::launcher
