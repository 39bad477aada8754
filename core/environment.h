/// Environment variables: of this process, and of one to be.
#pragma once

#include <sys/types.h>

#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace slipway {

/// Whether a shell takes it for the name of a variable: letters, digits and '_', not beginning with a digit.
bool IsVariableName(std::string_view name);

/// Of this process; empty when it is not set.
inline std::string Variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value != nullptr ? value : "";
}

/// Environment of a child as NAME=value pairs, later ones winning.
class Environment {
 public:
  static Environment Inherited();
  /// What the process was started with, unless it has overwritten that; empty when it is gone or of another user.
  static Environment OfProcess(pid_t process);
  Environment& Set(std::string_view name, std::string_view value);
  Environment& Unset(std::string_view name);
  /// All whose names begin so.
  Environment& UnsetAll(std::string_view prefix);
  std::optional<std::string> Get(std::string_view name) const;
  const std::vector<std::string>& entries() const { return entries_; }

 private:
  std::vector<std::string> entries_;
};

}  // namespace slipway
