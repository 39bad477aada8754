#include "core/shell.h"

#include <unistd.h>

#include <cstdlib>

namespace slipway {
namespace fs = std::filesystem;

std::optional<fs::path> FindProgram(std::string_view name) {
  const auto executable = [](const fs::path& path) {
    std::error_code error;
    return fs::is_regular_file(path, error) && ::access(path.c_str(), X_OK) == 0;
  };
  if (name.find('/') != std::string_view::npos) {
    if (executable(name)) return fs::absolute(name);
    return {};
  }
  const char* path = std::getenv("PATH");
  std::string_view rest = path != nullptr ? path : "/usr/bin:/bin";
  while (!rest.empty()) {
    const auto colon = rest.find(':');
    const auto directory = rest.substr(0, colon);
    if (!directory.empty() && executable(fs::path(directory) / name)) return fs::path(directory) / name;
    rest = colon == std::string_view::npos ? std::string_view() : rest.substr(colon + 1);
  }
  return {};
}

std::string QuoteForShell(const std::vector<std::string>& words) {
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";
  std::string line;
  for (const auto& word : words) {
    if (!line.empty()) line += ' ';
    const bool assignment = &word == words.data() && word.find('=') != std::string::npos;
    if (!word.empty() && !assignment && word.find_first_not_of(plain) == std::string::npos) {
      line += word;
      continue;
    }
    line += '\'';
    for (const char c : word) line += c == '\'' ? std::string("'\\''") : std::string(1, c);
    line += '\'';
  }
  return line;
}

}  // namespace slipway
