#include "ensemble/analysis/scoring.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"

namespace slipway::ensemble {
namespace {

constexpr double kSmallestProbability = 1e-7;
constexpr double kSumTolerance = 1e-3;

bool IsOfClasses(SelectionMetric metric) {
  return metric == SelectionMetric::kAccuracy || metric == SelectionMetric::kLogLoss;
}

bool AreProbabilities(const Predictions& predictions) {
  const auto is_part = [](float value) { return value >= 0 && value <= 1 + static_cast<float>(kSumTolerance); };
  if (!std::ranges::all_of(predictions.values, is_part)) return false;
  if (predictions.outputs == 1) return true;
  for (auto at = predictions.values.begin(); at != predictions.values.end();) {
    double sum = 0;
    for (std::size_t k = 0; k < predictions.outputs; ++k) sum += *at++;
    if (std::abs(sum - 1) > kSumTolerance) return false;
  }
  return true;
}

bool AreVotes(const Predictions& predictions) {
  return std::ranges::all_of(predictions.values, [](float value) { return value == 0 || value == 1; });
}

void Softmax(std::span<float> row) {
  const float largest = std::ranges::max(row);
  double sum = 0;
  for (auto& value : row) sum += value = std::exp(value - largest);
  for (auto& value : row) value = static_cast<float>(value / sum);
}

/// Turns the probability of the second of two classes into those of both.
void SpreadToTwo(Predictions& predictions) {
  std::vector<float> both;
  both.reserve(2 * predictions.values.size());
  for (const float second : predictions.values) both.insert(both.end(), {1 - second, second});
  predictions.values = std::move(both);
  predictions.outputs = 2;
}

[[noreturn]] void RefuseMetric(SelectionMetric metric, const Targets& targets, std::string_view what) {
  throw Error(ErrorKind::kUsage, fmt::format("{} {}", WordOf(metric), what),
              fmt::format("choose another --metric for '{}'", targets.path.string()));
}

}  // namespace

WordTable<SelectionMetric> WordsOf(SelectionMetric) {
  static constexpr Word<SelectionMetric> kWords[] = {{SelectionMetric::kAccuracy, "accuracy"},
                                                     {SelectionMetric::kLogLoss, "log_loss"},
                                                     {SelectionMetric::kRmse, "rmse"},
                                                     {SelectionMetric::kMae, "mae"}};
  return kWords;
}

Goal GoalOf(SelectionMetric metric) { return metric == SelectionMetric::kAccuracy ? Goal::kMaximize : Goal::kMinimize; }

std::vector<SelectionMetric> KindredMetrics(SelectionMetric metric) {
  if (IsOfClasses(metric)) return {SelectionMetric::kAccuracy, SelectionMetric::kLogLoss};
  return {SelectionMetric::kRmse, SelectionMetric::kMae};
}

SelectionMetric UsualMetric(const Targets& targets, std::span<const Predictions> predictions) {
  if (targets.labels.empty()) return SelectionMetric::kRmse;
  return std::ranges::any_of(predictions, AreVotes) ? SelectionMetric::kAccuracy : SelectionMetric::kLogLoss;
}

void MakeProbabilities(Predictions& predictions) {
  const bool are_probabilities = AreProbabilities(predictions);
  if (predictions.outputs == 1) {
    if (!are_probabilities) {
      for (auto& logit : predictions.values) logit = 1 / (1 + std::exp(-logit));
    }
    SpreadToTwo(predictions);
  } else if (!are_probabilities) {
    for (std::size_t record = 0; record < predictions.records; ++record) {
      Softmax(std::span(predictions.values).subspan(record * predictions.outputs, predictions.outputs));
    }
  }
}

Scoring::Scoring(const Targets& targets, SelectionMetric metric)
    : targets_(targets), metric_(metric), numbers_(targets.values) {
  if (IsOfClasses(metric) && targets.labels.empty()) RefuseMetric(metric, targets, "needs class labels");
  if (!IsOfClasses(metric)) numbers_.insert(numbers_.end(), targets.labels.begin(), targets.labels.end());
}

void Scoring::Prepare(Predictions& predictions) const {
  RequireSameRecords(predictions, targets_);
  const auto refuse = [&](const std::string& why) {
    throw Error(ErrorKind::kEnvironment,
                fmt::format("'{}' does not fit '{}': {}", predictions.path.string(), targets_.path.string(), why),
                "score predictions that were made for these targets");
  };
  if (!IsOfClasses(metric_)) {
    if (predictions.outputs == targets_.outputs) return;
    refuse(fmt::format("{} outputs for each record, {} targets", predictions.outputs, targets_.outputs));
  }
  MakeProbabilities(predictions);
  for (std::size_t i = 0; i < targets_.records; ++i) {
    const auto label = targets_.labels[i];
    if (label >= 0 && static_cast<std::uint64_t>(label) < predictions.outputs) continue;
    refuse(fmt::format("record {} has the label {}, there are {} classes", i, label, predictions.outputs));
  }
}

double Scoring::Accuracy(std::span<const double> sums, std::span<const float> more) const {
  const auto outputs = sums.size() / targets_.records;
  std::size_t hits = 0;
  for (std::size_t record = 0, i = 0; record < targets_.records; ++record, i += outputs) {
    std::size_t best = 0;
    for (std::size_t k = 1; k < outputs; ++k) {
      if (sums[i + k] + more[i + k] > sums[i + best] + more[i + best]) best = k;
    }
    if (best == static_cast<std::size_t>(targets_.labels[record])) ++hits;
  }
  return static_cast<double>(hits) / static_cast<double>(targets_.records);
}

double Scoring::LogLoss(std::span<const double> sums, std::span<const float> more, double count) const {
  const auto outputs = sums.size() / targets_.records;
  double total = 0;
  for (std::size_t record = 0; record < targets_.records; ++record) {
    const auto i = record * outputs + static_cast<std::size_t>(targets_.labels[record]);
    total -= std::log(std::max((sums[i] + more[i]) / count, kSmallestProbability));
  }
  return total / static_cast<double>(targets_.records);
}

template <class Penalty>
double Scoring::MeanPenalty(std::span<const double> sums, std::span<const float> more, double count,
                            Penalty penalty) const {
  double total = 0;
  for (std::size_t i = 0; i < sums.size(); ++i) total += penalty((sums[i] + more[i]) / count - numbers_[i]);
  return total / static_cast<double>(sums.size());
}

double Scoring::Score(std::span<const double> sums, std::span<const float> more, double count) const {
  const auto square = [](double error) { return error * error; };
  const auto size = [](double error) { return std::abs(error); };
  switch (metric_) {
    case SelectionMetric::kAccuracy: return Accuracy(sums, more);
    case SelectionMetric::kLogLoss: return LogLoss(sums, more, count);
    case SelectionMetric::kRmse: return std::sqrt(MeanPenalty(sums, more, count, square));
    case SelectionMetric::kMae: break;
  }
  return MeanPenalty(sums, more, count, size);
}

}  // namespace slipway::ensemble
