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

/// "sgd" with momentum, "adam" (Kingma, Ba 2014), "lamb" (You et al. 2020, algorithm 2).
///
/// With Arguments::trust, "sgd" and "adam" multiply the gradient of every tensor w by trust |w| / (|g| + weight_decay
/// |w|). With trust_clip that factor is divided by the learning rate and at most 1, as in LARC. Without trust_clip it
/// is LARS (You, Gitman, Ginsburg 2017): the learning rate scales it. Trust and LAMB's ratio leave out tensors of one
/// dimension: biases and scales of normalisation. Their norms do not say how far they should move.
std::unique_ptr<Optimizer> MakeOptimizer(const Arguments& arguments, std::vector<at::Tensor> parameters);

}  // namespace trainers
