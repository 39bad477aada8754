/// The command line of the fashion trainer: `--name value` for each entry of train.args.
#pragma once

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace fashion {

enum class OptimizerKind { kAdam, kSgd };

inline constexpr int kBatchSize = 64;

/// "adam", "sgd".
const char* OptimizerName(OptimizerKind kind);

struct Arguments {
  int epochs = 3;
  int batch_size = 0;         ///< images per rank and step; 0: not given, kBatchSize
  int global_batch_size = 0;  ///< images per step over all ranks; 0: not given. Only one of the two is
  double lr = 1e-3;
  OptimizerKind optimizer = OptimizerKind::kAdam;
  double momentum = 0.9;  ///< of sgd
  double weight_decay = 0;
  std::int64_t seed = 1;          ///< of the first weights and of the order of the images
  std::int64_t train_images = 0;  ///< train on the first so many only; 0 = all
  int channels = 32;              ///< of the first convolution; the second has twice as many
  int threads = 1;                ///< for libtorch
  int predictions = 1;            ///< 1: write the outputs for the validation images
  bool help = false;
};

/// A wrong command line; the program exits with 2.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Errors: UsageError naming the argument and what is allowed.
Arguments ParseArguments(const std::vector<std::string>& words);

/// Puts the values of SLIPWAY_PARAMS in place of the arguments of the same name. Names that are no argument are left
/// alone: a command of its own may pass them under other names, and `slipway run` gives all of them to a bundled
/// trainer as arguments too, where an unknown one is an error.
/// Errors: UsageError.
void Override(Arguments& arguments, const std::map<std::string, std::string>& parameters);

/// The text of --help.
std::string HelpText();

}  // namespace fashion
