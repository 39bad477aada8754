/// Scores of averaged predictions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/words.h"
#include "ensemble/analysis/predictions.h"
#include "ensemble/model/records.h"

namespace slipway::ensemble {

/// Stored in documents as words.
enum class SelectionMetric { kAccuracy, kLogLoss, kRmse, kMae };
WordTable<SelectionMetric> WordsOf(SelectionMetric);

Goal GoalOf(SelectionMetric metric);
/// The metrics that fit the same prepared outputs, with `metric` itself.
std::vector<SelectionMetric> KindredMetrics(SelectionMetric metric);
/// The default metric: rmse for numbers, log loss for classes. Accuracy if some predictions are only zeros and ones.
/// Log loss counts how sure a model is. What it selects is better on other records, in accuracy as well.
SelectionMetric UsualMetric(const Targets& targets, std::span<const Predictions> predictions);

/// Turns the outputs for classes into probabilities, in place. If a number is outside of [0, 1], or the numbers of a
/// record do not sum to 1 within 0.001, all are logits of a softmax.
/// A single output for each record belongs to the second of two classes, as a probability or a logit. It becomes two.
void MakeProbabilities(Predictions& predictions);

class Scoring {
 public:
  /// `targets` must outlive it. For accuracy and log loss the outputs must be probabilities.
  /// Errors: Error(kUsage) for a metric that does not fit the targets.
  Scoring(const Targets& targets, SelectionMetric metric);

  const Targets& targets() const { return targets_; }
  SelectionMetric metric() const { return metric_; }
  Goal goal() const { return GoalOf(metric_); }

  /// Prepares outputs for Score: makes probabilities if the metric needs them.
  /// Errors: Error(kEnvironment) naming both files: other records, another number of outputs, a label without output.
  void Prepare(Predictions& predictions) const;

  /// The score of (`sums` + `more`) / `count`. Of equal classes the first wins; probabilities count as at least 1e-7.
  /// Cost: a pass over the outputs; for log loss, over the records.
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
