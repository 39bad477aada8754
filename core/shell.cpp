#include "core/shell.h"

#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "core/files.h"

namespace slipway {
namespace fs = std::filesystem;

std::optional<fs::path> FindProgram(std::string_view name) {
  const auto executable = [](const fs::path& path) { return IsRegularFile(path) && ::access(path.c_str(), X_OK) == 0; };
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

namespace {

/// What the kernel reads of the first line; empty for what is no script.
std::string InterpreterOf(const fs::path& program) {
  constexpr std::size_t kMostRead = 256;  // BINPRM_BUF_SIZE
  std::string line(kMostRead, '\0');
  std::ifstream file(program, std::ios::binary);
  file.read(line.data(), static_cast<std::streamsize>(line.size()));
  line.resize(static_cast<std::size_t>(file.gcount()));
  if (!line.starts_with("#!")) return {};
  line = line.substr(2, line.find('\n') - 2);
  const auto begin = line.find_first_not_of(" \t");
  if (begin == std::string::npos) return {};
  return line.substr(begin, line.find_first_of(" \t", begin) - begin);
}

}  // namespace

std::string MissingInterpreter(const std::vector<std::string>& command, const fs::path& directory) {
  const auto& program = command.front();
  const bool is_path = program.find('/') != std::string::npos;
  const auto found = is_path ? directory / program : FindProgram(program).value_or(fs::path());
  std::error_code error;
  auto interpreter = fs::is_regular_file(found, error) ? InterpreterOf(found) : std::string();
  if (interpreter.empty() || fs::exists(directory / interpreter, error) || error) return {};
  if (interpreter.back() == '\r') interpreter.replace(interpreter.size() - 1, 1, "\\r");
  return interpreter;
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
