#include "core/environment.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <fstream>

namespace slipway {

bool IsVariableName(std::string_view name) {
  const auto fits = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
  return !name.empty() && std::isdigit(static_cast<unsigned char>(name[0])) == 0 && std::ranges::all_of(name, fits);
}

Environment Environment::Inherited() {
  Environment environment;
  for (char** entry = environ; *entry != nullptr; ++entry) environment.entries_.emplace_back(*entry);
  return environment;
}

Environment Environment::OfProcess(pid_t process) {
  Environment environment;
  std::ifstream entries(fmt::format("/proc/{}/environ", process), std::ios::binary);
  for (std::string entry; std::getline(entries, entry, '\0');) environment.entries_.push_back(entry);
  return environment;
}

namespace {

bool Names(std::string_view entry, std::string_view name) {
  return entry.size() > name.size() && entry[name.size()] == '=' && entry.substr(0, name.size()) == name;
}

}  // namespace

Environment& Environment::Set(std::string_view name, std::string_view value) {
  Unset(name);
  entries_.push_back(fmt::format("{}={}", name, value));
  return *this;
}

Environment& Environment::Unset(std::string_view name) {
  std::erase_if(entries_, [&](const std::string& entry) { return Names(entry, name); });
  return *this;
}

Environment& Environment::UnsetAll(std::string_view prefix) {
  std::erase_if(entries_, [&](const std::string& entry) { return entry.starts_with(prefix); });
  return *this;
}

std::optional<std::string> Environment::Get(std::string_view name) const {
  for (const auto& entry : entries_) {
    if (Names(entry, name)) return entry.substr(name.size() + 1);
  }
  return {};
}

}  // namespace slipway
