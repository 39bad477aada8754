/// How good averaged predictions are.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ensemble/analysis/predictions.h"
#include "ensemble/model/records.h"

namespace slipway::ensemble {

/// Stored in documents as words: "accuracy", "log_loss", "rmse", "mae".
enum class SelectionMetric { kAccuracy, kLogLoss, kRmse, kMae };

std::string_view SelectionMetricName(SelectionMetric metric);
/// Errors: Error(kUsage) naming the nearest word.
SelectionMetric ParseSelectionMetric(std::string_view word);
/// In the order of the enum.
const std::vector<std::string>& SelectionMetricNames();

Goal GoalOf(SelectionMetric metric);
/// Those that suit the same prepared outputs, itself among them.
std::vector<SelectionMetric> KindredMetrics(SelectionMetric metric);
/// Rmse of numbers, log loss of classes: it sees how sure a model is, and what is selected by it is better on other
/// records, in accuracy as well. Accuracy where some predictions are nothing but votes, zeros and ones.
SelectionMetric UsualMetric(const Targets& targets, std::span<const Predictions> predictions);

/// Turns the outputs for classes into probabilities, in place: outputs that are none (a number outside of [0, 1], or a
/// record whose numbers do not sum to 1 within 0.001) are taken for logits of a softmax. One output for each record is
/// the second of two classes, a probability or a logit; it becomes two.
void MakeProbabilities(Predictions& predictions);

class Scoring {
 public:
  /// `targets` must outlive it. For accuracy and log loss the outputs must be probabilities.
  /// Errors: Error(kUsage) for a metric that does not suit the targets.
  Scoring(const Targets& targets, SelectionMetric metric);

  const Targets& targets() const { return targets_; }
  SelectionMetric metric() const { return metric_; }
  Goal goal() const { return GoalOf(metric_); }

  /// Makes outputs ready for Score: probabilities where the metric asks for them.
  /// Errors: Error(kEnvironment) naming both files: other records, another number of outputs, a label without output.
  void Prepare(Predictions& predictions) const;

  /// The score of (`sums` + `more`) / `count`. Ties of classes go to the first; probabilities count as 1e-7 at least.
  /// Cost: a pass over the outputs, of log loss over the records.
  double Score(std::span<const double> sums, std::span<const float> more, double count) const;

 private:
  double Accuracy(std::span<const double> sums, std::span<const float> more) const;
  double LogLoss(std::span<const double> sums, std::span<const float> more, double count) const;
  template <class Penalty>
  double MeanPenalty(std::span<const double> sums, std::span<const float> more, double count, Penalty penalty) const;

  const Targets& targets_;
  SelectionMetric metric_;
  std::vector<float> numbers_;  // targets of rmse and mae
};

}  // namespace slipway::ensemble
