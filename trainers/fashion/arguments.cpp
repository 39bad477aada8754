#include "trainers/fashion/arguments.h"

#include <fmt/format.h>

#include <charconv>
#include <functional>
#include <string_view>

namespace fashion {
namespace {

template <class Number>
Number Parse(const std::string& name, const std::string& text, Number least, Number most) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value >= least && value <= most)) {
    throw UsageError(fmt::format("--{} {}: must be a number from {} to {}", name, text, least, most));
  }
  return value;
}

OptimizerKind ParseOptimizer(const std::string& text) {
  if (text == "adam") return OptimizerKind::kAdam;
  if (text == "sgd") return OptimizerKind::kSgd;
  throw UsageError(fmt::format("--optimizer {}: must be adam or sgd", text));
}

struct Option {
  const char* name;
  const char* what;
  std::function<void(Arguments&, const std::string&)> set;
};

template <class Number>
Option NumberOption(const char* name, const char* what, Number Arguments::*member, Number least, Number most) {
  return {name, what, [=](Arguments& arguments, const std::string& text) {
            arguments.*member = Parse<Number>(name, text, least, most);
          }};
}

const std::vector<Option>& Options() {
  static const std::vector<Option> options = {
      NumberOption("epochs", "passes over the training images (3)", &Arguments::epochs, 0, 1'000'000),
      NumberOption("batch_size", "images per rank and step (64)", &Arguments::batch_size, 1, 1'000'000),
      NumberOption("global_batch_size", "images per step over all ranks, instead of batch_size",
                   &Arguments::global_batch_size, 1, 1'000'000),
      NumberOption("lr", "learning rate (0.001)", &Arguments::lr, 0.0, 1e3),
      {"optimizer", "adam or sgd (adam)",
       [](Arguments& arguments, const std::string& text) { arguments.optimizer = ParseOptimizer(text); }},
      NumberOption("momentum", "of sgd (0.9)", &Arguments::momentum, 0.0, 1.0),
      NumberOption("weight_decay", "L2 penalty (0)", &Arguments::weight_decay, 0.0, 1e3),
      NumberOption("seed", "of the first weights and of the order of the images (1)", &Arguments::seed, std::int64_t{0},
                   std::int64_t{1} << 53),
      NumberOption("train_images", "train on the first so many only; 0 = all (0)", &Arguments::train_images,
                   std::int64_t{0}, std::int64_t{1} << 40),
      NumberOption("channels", "of the first convolution; the second has twice as many (32)", &Arguments::channels, 1,
                   4096),
      NumberOption("threads", "for libtorch (1)", &Arguments::threads, 1, 1024),
      NumberOption("predictions", "1: leave predictions.npy of the validation images in $SLIPWAY_RUN_DIR (1)",
                   &Arguments::predictions, 0, 1),
  };
  return options;
}

/// Null when there is none.
const Option* FindOption(std::string_view name) {
  for (const auto& option : Options()) {
    if (name == option.name) return &option;
  }
  return nullptr;
}

const Option& OptionOf(const std::string& word) {
  const auto* option = word.starts_with("--") ? FindOption(std::string_view(word).substr(2)) : nullptr;
  if (option == nullptr) throw UsageError(fmt::format("unknown argument '{}'; see --help", word));
  return *option;
}

}  // namespace

Arguments ParseArguments(const std::vector<std::string>& words) {
  Arguments arguments;
  for (std::size_t i = 0; i < words.size(); i += 2) {
    if (words[i] == "--help") {
      arguments.help = true;
      return arguments;
    }
    const auto& option = OptionOf(words[i]);
    if (i + 1 == words.size()) throw UsageError(fmt::format("{} needs a value", words[i]));
    option.set(arguments, words[i + 1]);
  }
  return arguments;
}

void Override(Arguments& arguments, const std::map<std::string, std::string>& parameters) try {
  for (const auto& [name, value] : parameters) {
    if (const auto* option = FindOption(name)) option->set(arguments, value);
  }
} catch (const UsageError& error) {
  throw UsageError(fmt::format("SLIPWAY_PARAMS: {}", error.what()));
}

const char* OptimizerName(OptimizerKind kind) { return kind == OptimizerKind::kAdam ? "adam" : "sgd"; }

std::string HelpText() {
  std::string text =
      "fashion: trains a small convolutional network on Fashion-MNIST, data-parallel over the ranks of a job.\n"
      "It is started by `slipway run`, which sets SLIPWAY_DATA_TRAIN and SLIPWAY_DATA_TEST. A value in SLIPWAY_PARAMS\n"
      "replaces the argument of the same name.\n\n";
  for (const auto& option : Options()) text += fmt::format("  --{:<18} {}\n", option.name, option.what);
  return text;
}

}  // namespace fashion
