/// How gradients become steps. Includes libtorch's tensors.
#pragma once

#include <ATen/ATen.h>

#include <filesystem>
#include <memory>
#include <vector>

#include "trainers/common/arguments.h"

namespace trainers {

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  /// Moves the parameters by their gradients (which it may change), with this learning rate.
  virtual void Step(double rate) = 0;
  virtual void Save(const std::filesystem::path& file) = 0;
  /// Errors: std::runtime_error naming the file.
  virtual void Load(const std::filesystem::path& file) = 0;
};

/// "sgd" with momentum, "adam" (Kingma, Ba 2014), "lamb" (You et al. 2020, algorithm 2). With Arguments::trust the
/// gradient of every tensor w of the first two is multiplied by trust |w| / (|g| + weight_decay |w|), at most 1 with
/// trust_clip, as LARC does; without it as LARS (You, Gitman, Ginsburg 2017), where the learning rate then scales all.
/// Neither trust nor LAMB's ratio is for tensors of one dimension: biases and scales of normalisation, whose norms say
/// nothing of how far they should move.
std::unique_ptr<Optimizer> MakeOptimizer(const Arguments& arguments, std::vector<at::Tensor> parameters);

}  // namespace trainers
