#include "launcher/spec/command_line.h"

#include <algorithm>
#include <cctype>
#include <functional>

namespace slipway::launcher {
namespace {

bool IsNameCharacter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.';
}

/// Length of the name that `text` starts with and that ends in '}', or 0.
std::size_t NameLength(std::string_view text) {
  if (text.empty() || (std::isalpha(static_cast<unsigned char>(text[0])) == 0 && text[0] != '_')) return 0;
  const auto end = std::find_if_not(text.begin(), text.end(), IsNameCharacter);
  return end != text.end() && *end == '}' ? static_cast<std::size_t>(end - text.begin()) : 0;
}

using Replace = std::function<std::string(std::string_view)>;
using IsWanted = std::function<bool(std::string_view)>;

bool AnyName(std::string_view) { return true; }

std::string Bare(std::string_view name) { return "{" + std::string(name) + "}"; }

/// Copies `word`; each placeholder of a wanted name goes through `replace`.
std::string ReplacePlaceholders(std::string_view word, const Replace& replace, const IsWanted& wanted = AnyName) {
  const auto wanted_length = [&](std::string_view text) {
    const std::size_t length = NameLength(text);
    return wanted(text.substr(0, length)) ? length : 0;
  };
  std::string result;
  for (std::size_t at = 0; at < word.size(); ++at) {
    const std::string_view rest = word.substr(at);
    const std::size_t quoted = rest.starts_with("{{") ? wanted_length(rest.substr(2)) : 0;
    const std::size_t length = rest[0] == '{' && !result.ends_with('$') ? wanted_length(rest.substr(1)) : 0;
    if (quoted > 0 && rest.substr(2 + quoted).starts_with("}}")) {
      result += rest.substr(1, quoted + 2);
      at += quoted + 3;
    } else if (length > 0) {
      result += replace(rest.substr(1, length));
      at += length + 1;
    } else {
      result += rest[0];
    }
  }
  return result;
}

}  // namespace

const std::vector<std::string>& OwnNames() {
  static const std::vector<std::string> names{"slipway.workdir", "slipway.checkpoint_dir", "slipway.output_dir",
                                              "slipway.run_dir", "slipway.spec_dir",       std::string(kOwnTrial)};
  return names;
}

bool IsOwnName(std::string_view name) { return name.starts_with("slipway."); }

namespace {

std::vector<std::string> NamesIn(std::string_view text, const IsWanted& wanted) {
  std::vector<std::string> names;
  ReplacePlaceholders(
      text,
      [&](std::string_view name) {
        names.emplace_back(name);
        return std::string();
      },
      wanted);
  return names;
}

std::string ValueOf(std::string_view name, const OwnValues& own) {
  const auto found = own.find(name);
  return found != own.end() ? found->second : Bare(name);
}

}  // namespace

std::vector<std::string> Placeholders(std::string_view word) { return NamesIn(word, AnyName); }

std::vector<std::string> OwnPlaceholders(std::string_view text) { return NamesIn(text, IsOwnName); }

std::string ReplaceOwnNames(std::string_view text, const OwnValues& own) {
  return ReplacePlaceholders(
      text, [&](std::string_view name) { return ValueOf(name, own); }, IsOwnName);
}

std::string ArgumentText(const ensemble::Scalar& value) {
  const auto* text = std::get_if<std::string>(&value);
  return text != nullptr ? *text : ensemble::Describe(value);
}

std::vector<std::string> ExpandCommand(const std::vector<std::string>& command, const ensemble::Point& args,
                                       const OwnValues& own) {
  bool has_placeholders = false;
  std::vector<std::string> result;
  for (const std::string& word : command) {
    result.push_back(ReplacePlaceholders(word, [&](std::string_view name) {
      if (IsOwnName(name)) return ValueOf(name, own);
      has_placeholders = true;
      const ensemble::Scalar* value = ensemble::Find(args, name);
      return value != nullptr ? ArgumentText(*value) : Bare(name);
    }));
  }
  if (has_placeholders) return result;
  for (const auto& [name, value] : args) {
    result.push_back("--" + name);
    result.push_back(ArgumentText(value));
  }
  return result;
}

}  // namespace slipway::launcher
