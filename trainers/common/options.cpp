#include "trainers/common/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <concepts>

#include "trainers/common/usage_error.h"

namespace trainers {
namespace {

template <class Number>
Number Parsed(const std::string& name, const std::string& text, Number least, Number most) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value >= least && value <= most)) {
    throw UsageError(fmt::format("--{} {}: must be a {}number from {} to {}", name, text,
                                 std::integral<Number> ? "whole " : "", least, most));
  }
  return value;
}

}  // namespace

void OptionList::AddInt(std::string name, std::string what, std::int64_t& target, std::int64_t least,
                        std::int64_t most) {
  const auto set = [name, &target, least, most](const std::string& text) {
    target = Parsed<std::int64_t>(name, text, least, most);
  };
  options_.push_back({std::move(name), std::move(what), set});
}

void OptionList::AddNumber(std::string name, std::string what, double& target, double least, double most) {
  const auto set = [name, &target, least, most](const std::string& text) {
    target = Parsed<double>(name, text, least, most);
  };
  options_.push_back({std::move(name), std::move(what), set});
}

void OptionList::AddWord(std::string name, std::string what, std::string& target, std::vector<std::string> words) {
  const auto set = [name, &target, words = std::move(words)](const std::string& text) {
    if (std::ranges::find(words, text) == words.end()) {
      throw UsageError(fmt::format("--{} {}: must be {}", name, text, fmt::join(words, " or ")));
    }
    target = text;
  };
  options_.push_back({std::move(name), std::move(what), set});
}

bool OptionList::Parse(const std::vector<std::string>& words) const {
  for (std::size_t i = 0; i < words.size(); i += 2) {
    if (words[i] == "--help") return true;
    const auto& option = OptionOf(words[i]);
    if (i + 1 == words.size()) throw UsageError(fmt::format("{} needs a value", words[i]));
    option.set(words[i + 1]);
  }
  return false;
}

void OptionList::Override(const std::map<std::string, std::string>& parameters) const try {
  for (const auto& [name, value] : parameters) {
    if (const auto* option = Find(name)) option->set(value);
  }
} catch (const UsageError& error) {
  throw UsageError(fmt::format("SLIPWAY_PARAMS: {}", error.what()));
}

std::string OptionList::Help() const {
  std::string text;
  for (const auto& option : options_) text += fmt::format("  --{:<18} {}\n", option.name, option.what);
  return text;
}

std::vector<std::string> OptionList::Names() const {
  std::vector<std::string> names;
  for (const auto& option : options_) names.push_back(option.name);
  return names;
}

const OptionList::Option* OptionList::Find(std::string_view name) const {
  const auto found = std::ranges::find(options_, name, &Option::name);
  return found == options_.end() ? nullptr : &*found;
}

const OptionList::Option& OptionList::OptionOf(const std::string& word) const {
  const auto* option = word.starts_with("--") ? Find(std::string_view(word).substr(2)) : nullptr;
  if (option != nullptr) return *option;
  throw UsageError(fmt::format("unknown argument '{}'; valid are --{}", word, fmt::join(Names(), ", --")));
}

}  // namespace trainers
