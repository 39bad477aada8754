#include "launcher/spec/command_line.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <nlohmann/json.hpp>

#include "core/error.h"

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

std::string OwnNameOfDataset(std::string_view dataset) { return fmt::format("slipway.data.{}", dataset); }

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

std::string OnlyPlaceholder(std::string_view word) {
  const auto length = word.starts_with('{') ? NameLength(word.substr(1)) : 0;
  return length > 0 && length + 2 == word.size() ? std::string(word.substr(1, length)) : std::string();
}

Json ToJson(const ProgramArguments& args) {
  Json object = Json::object();
  for (const auto& [name, value] : args) {
    if (const auto* scalar = std::get_if<ensemble::Scalar>(&value)) {
      object[name] = ensemble::ToJson(*scalar);
      continue;
    }
    auto& list = object[name] = Json::array();
    for (const auto& element : std::get<std::vector<ensemble::Scalar>>(value))
      list.push_back(ensemble::ToJson(element));
  }
  return object;
}

ProgramArguments ArgumentsFromJson(const Json& json) {
  if (!json.is_object()) {
    throw Error(ErrorKind::kUsage, "arguments must be an object", R"(write an object such as {"lr": 0.01})");
  }
  const auto scalar_of = [](const std::string& name, const Json& value) {
    auto scalar = ensemble::ScalarFromJson(value);
    if (scalar) return std::move(*scalar);
    throw Error(ErrorKind::kUsage, "argument '" + name + "': the value must be a scalar or a list of scalars",
                "write a number, a text, true, false, null, or a list of these");
  };
  ProgramArguments args;
  for (const auto& [name, value] : json.items()) {
    if (!value.is_array()) {
      args.emplace_back(name, scalar_of(name, value));
      continue;
    }
    std::vector<ensemble::Scalar> list;
    for (const auto& element : value) list.push_back(scalar_of(name, element));
    args.emplace_back(name, std::move(list));
  }
  return args;
}

namespace {

/// A value as one word: 0.001, sgd, true.
std::string ArgumentText(const ensemble::Scalar& value) {
  const auto* text = std::get_if<std::string>(&value);
  return text != nullptr ? *text : ensemble::Describe(value);
}

/// One for each element of a list.
std::vector<std::string> WordsOf(const ArgumentValue& value) {
  if (const auto* scalar = std::get_if<ensemble::Scalar>(&value)) return {ArgumentText(*scalar)};
  std::vector<std::string> words;
  for (const auto& element : std::get<std::vector<ensemble::Scalar>>(value)) words.push_back(ArgumentText(element));
  return words;
}

class CommandExpander {
 public:
  CommandExpander(const ProgramArguments& args, const std::vector<std::string>& flags, const OwnValues& own)
      : args_(args), flags_(flags), own_(own) {}

  std::vector<std::string> Expand(const std::vector<std::string>& command) {
    for (const auto& word : command) AddWord(word);
    if (has_placeholders_) return std::move(result_);
    for (const auto& [name, value] : args_) {
      if (!IsFlag(name)) result_.push_back("--" + name);
      AddValue(name, value);
    }
    return std::move(result_);
  }

 private:
  bool IsFlag(std::string_view name) const { return std::ranges::find(flags_, name) != flags_.end(); }

  const ArgumentValue* Find(std::string_view name) const {
    const auto found = std::ranges::find_if(args_, [&](const auto& each) { return each.first == name; });
    return found == args_.end() ? nullptr : &found->second;
  }

  void AddValue(const std::string& name, const ArgumentValue& value) {
    const auto words = WordsOf(value);
    if (!IsFlag(name)) {
      result_.insert(result_.end(), words.begin(), words.end());
    } else if (value == ArgumentValue(ensemble::Scalar(true))) {
      result_.push_back("--" + name);
    }
  }

  void AddWord(const std::string& word) {
    const auto only = OnlyPlaceholder(word);
    const auto* const value = only.empty() ? nullptr : Find(only);
    if (value != nullptr || IsFlag(only)) {
      has_placeholders_ = true;
      if (value != nullptr) AddValue(only, *value);  // a flag whose condition does not hold has none
      return;
    }
    result_.push_back(ReplacePlaceholders(word, [&](std::string_view name) {
      if (IsOwnName(name)) return ValueOf(name, own_);
      has_placeholders_ = true;
      const auto* found = Find(name);
      return found == nullptr ? Bare(name) : fmt::format("{}", fmt::join(WordsOf(*found), " "));
    }));
  }

  const ProgramArguments& args_;
  const std::vector<std::string>& flags_;
  const OwnValues& own_;
  std::vector<std::string> result_;
  bool has_placeholders_ = false;
};

}  // namespace

std::vector<std::string> ExpandCommand(const std::vector<std::string>& command, const ProgramArguments& args,
                                       const std::vector<std::string>& flags, const OwnValues& own) {
  return CommandExpander(args, flags, own).Expand(command);
}

}  // namespace slipway::launcher
