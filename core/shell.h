/// What a shell does for its user: finds programs, quotes words.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace slipway {

/// The full path of a program as execvp would find it; nothing when it does not exist or is not executable.
std::optional<std::filesystem::path> FindProgram(std::string_view name);

/// The interpreter in the first line of `command`'s program, when the program is a script and that interpreter does not
/// exist. Else empty. A carriage return at its end shows as "\\r". `directory`: where a relative program lies.
std::string MissingInterpreter(const std::vector<std::string>& command, const std::filesystem::path& directory);

/// `words` as a line that a POSIX shell reads back as the same words.
std::string QuoteForShell(const std::vector<std::string>& words);

}  // namespace slipway
