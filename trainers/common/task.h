/// What one trainer adds to the common training: its records, its network, its loss, what it measures.
/// Includes only libtorch's tensors: the whole of it takes some 20 s to compile.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "staging/reader/batches.h"
#include "trainers/common/arguments.h"

namespace torch::nn {
class Sequential;
}

namespace trainers {

/// Names and values to report, in this order.
using NamedValues = std::vector<std::pair<std::string, double>>;

class Task {
 public:
  virtual ~Task() = default;

  /// "hepcnn": what the program is called.
  virtual std::string_view name() const = 0;
  /// The first lines of --help.
  virtual std::string_view about() const = 0;
  /// "images": what its records are called.
  virtual std::string_view records() const = 0;
  /// Its own defaults, and options of its own.
  virtual void Describe(OptionList& options, Arguments& arguments) = 0;
  /// Errors: UsageError when its own options, as they were given, do not go together.
  virtual void CheckOptions() const {}

  /// Input and target of a record, as the reader is to deliver them, with their shapes: files that hold anything else
  /// are refused. float32 inputs; int64 labels or float32 values.
  virtual slipway::staging::BatchField Input(bool training) const = 0;
  virtual slipway::staging::BatchField Target() const = 0;
  /// The input as the model takes it; of as many values.
  virtual std::vector<std::int64_t> InputShape() const = 0;
  /// What the network begins with where it is no layer: the logarithm of 1 + x. Values of which that is not finite are
  /// the fault of their record.
  virtual at::Tensor Prepared(const at::Tensor& input) const { return input; }
  /// Labels are first_label() and the classes() - 1 numbers after it; 0 classes: the targets are values.
  virtual std::int64_t classes() const { return 0; }
  virtual std::int64_t first_label() const { return 0; }

  /// With weights drawn from libtorch's generator.
  virtual torch::nn::Sequential MakeModel() const = 0;
  /// What fixes the shapes of the model, for checkpoints: {"channels", "8"}.
  virtual std::map<std::string, std::string> Shape() const = 0;

  /// The mean over the batch, a scalar. `outputs`: what the model gives; `targets` [batch] or [batch, values].
  virtual at::Tensor Loss(const at::Tensor& outputs, const at::Tensor& targets) const = 0;
  /// What predictions.npy holds: float32 [batch, outputs].
  virtual at::Tensor Predictions(const at::Tensor& outputs) const = 0;
  /// Names of what is measured beside the loss, as means over records.
  virtual std::vector<std::string> MeasureNames() const = 0;
  /// Sums over the batch, in the order of MeasureNames().
  virtual std::vector<double> Measures(const at::Tensor& outputs, const at::Tensor& targets) const = 0;
  /// True when OfAll() wants the predictions of every evaluated record.
  virtual bool measures_all() const { return false; }
  /// What is no mean over records, of all predictions [records, outputs] and targets of a set.
  virtual NamedValues OfAll(const at::Tensor& /*predictions*/, const at::Tensor& /*targets*/) const { return {}; }
};

}  // namespace trainers
