/// The command line of a trainer: `--name value` for each entry of train.args.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace trainers {

class OptionList {
 public:
  /// `what` ends with the default in parentheses. The target must outlive the list.
  void AddInt(std::string name, std::string what, std::int64_t& target, std::int64_t least, std::int64_t most);
  void AddNumber(std::string name, std::string what, double& target, double least, double most);
  /// One of `words`.
  void AddWord(std::string name, std::string what, std::string& target, std::vector<std::string> words);

  /// True when the words ask for --help. Errors: UsageError naming the argument and what is allowed.
  bool Parse(const std::vector<std::string>& words) const;

  /// Puts the values of SLIPWAY_PARAMS in place of the arguments of the same name. Other names are ignored: a custom
  /// command may pass them under other names. `slipway run` also gives all of them to a bundled trainer as arguments;
  /// there an unknown one is an error.
  /// Errors: UsageError.
  void Override(const std::map<std::string, std::string>& parameters) const;

  /// A line for each option.
  std::string Help() const;
  /// In the order of Help().
  std::vector<std::string> Names() const;

 private:
  struct Option {
    std::string name;
    std::string what;
    std::function<void(const std::string& text)> set;
  };

  /// Null when no option has that name.
  const Option* Find(std::string_view name) const;
  const Option& OptionOf(const std::string& word) const;

  std::vector<Option> options_;
};

}  // namespace trainers
