/// The command line of the fashion trainer: `--name value` for each entry of train.args.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace fashion {

enum class OptimizerKind { kAdam, kSgd };

struct Arguments {
  int epochs = 3;
  int batch_size = 64;        ///< images per rank and step
  int global_batch_size = 0;  ///< images per step over all ranks; replaces batch_size when given
  double lr = 1e-3;
  OptimizerKind optimizer = OptimizerKind::kAdam;
  double momentum = 0.9;  ///< of sgd
  double weight_decay = 0;
  std::int64_t seed = 1;          ///< of the first weights and of the order of the images
  std::int64_t train_images = 0;  ///< train on the first so many only; 0 = all
  int channels = 32;              ///< of the first convolution; the second has twice as many
  int threads = 1;                ///< for libtorch
  bool help = false;
};

/// A wrong command line; the program exits with 2.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Errors: UsageError naming the argument and what is allowed.
Arguments ParseArguments(const std::vector<std::string>& words);

/// The text of --help.
std::string HelpText();

}  // namespace fashion
