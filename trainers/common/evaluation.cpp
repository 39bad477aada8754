#include "trainers/common/evaluation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "trainers/common/predictions.h"

namespace trainers {
namespace {

using slipway::client::Session;

/// The outputs and targets of all records of a set, one row for each. The rank that evaluated a record fills its row;
/// other ranks have 0 there. All have 0 where a record was skipped. Doubles, because ranks add up doubles; float32
/// values and record numbers below 2^53 pass unchanged.
class AllOutputs {
 public:
  AllOutputs(const Records& records, const Session& session)
      : count_(static_cast<std::size_t>(records.count())), places_(records.places()), rank_(session.rank()) {}

  void Add(const TensorBatch& batch, const at::Tensor& predictions) {
    const auto columns = Rows(predictions);
    const auto targets = Rows(batch.target.to(at::kDouble));
    outputs_ = static_cast<std::size_t>(columns.size(1));
    values_ = static_cast<std::size_t>(targets.size(1));
    table_.resize(count_ * Width());
    for (std::int64_t i = 0; i < columns.size(0); ++i) {
      auto* row = table_.data() + NextRow() * Width();
      row[0] = static_cast<double>(batch.records[static_cast<std::size_t>(i)] + 1);
      std::copy_n(targets.data_ptr<double>() + i * targets.size(1), values_, row + 1);
      std::copy_n(columns.data_ptr<double>() + i * columns.size(1), outputs_, row + 1 + values_);
    }
  }

  /// Collective. A rank without a record learns the width from the others.
  void OverRanks(Session& session) {
    double widths[] = {rank_ == 0 ? static_cast<double>(outputs_) : 0, rank_ == 0 ? static_cast<double>(values_) : 0};
    session.Sum(widths);
    outputs_ = static_cast<std::size_t>(widths[0]);
    values_ = static_cast<std::size_t>(widths[1]);
    table_.resize(count_ * Width());
    session.Sum(table_);
    for (std::size_t row = 0; row < count_; ++row) {
      if (table_[row * Width()] > 0) rows_.push_back(static_cast<std::int64_t>(row));
    }
    std::ranges::sort(rows_, {}, [&](auto row) { return table_[static_cast<std::size_t>(row) * Width()]; });
  }

  at::Tensor Predictions() const { return Columns(1 + values_, outputs_).to(at::kFloat).contiguous(); }
  /// Of the type that a batch's targets have.
  at::Tensor Targets(bool labels) const {
    const auto targets = Columns(1, values_).to(labels ? at::kLong : at::kFloat).contiguous();
    return labels ? targets.flatten() : targets;
  }
  std::vector<std::uint64_t> RecordNumbers() const {
    std::vector<std::uint64_t> numbers;
    for (const auto row : rows_) {
      numbers.push_back(static_cast<std::uint64_t>(table_[static_cast<std::size_t>(row) * Width()]) - 1);
    }
    return numbers;
  }

 private:
  static at::Tensor Rows(const at::Tensor& tensor) {
    return tensor.to(at::kCPU, at::kDouble).reshape({tensor.size(0), -1}).contiguous();
  }

  std::size_t Width() const { return 1 + values_ + outputs_; }

  std::size_t NextRow() { return static_cast<std::size_t>(places_.At(done_++)); }

  at::Tensor Columns(std::size_t first, std::size_t count) const {
    const auto table = at::tensor(table_, at::kDouble).view({static_cast<std::int64_t>(count_), -1});
    return table.index_select(0, at::tensor(rows_, at::kLong))
        .narrow(1, static_cast<std::int64_t>(first), static_cast<std::int64_t>(count));
  }

  std::size_t count_;
  slipway::staging::OrderedPlaces places_;
  int rank_;
  std::size_t done_ = 0;
  std::size_t outputs_ = 0;
  std::size_t values_ = 0;
  std::vector<double> table_;       // [records, number + 1, targets, predictions]
  std::vector<std::int64_t> rows_;  // of the table, by the numbers of their records
};

template <class Number>
std::span<const Number> ValuesOf(const at::Tensor& tensor) {
  return {tensor.data_ptr<Number>(), static_cast<std::size_t>(tensor.numel())};
}

void Keep(const std::filesystem::path& folder, const AllOutputs& all, bool labels) {
  const auto predictions = all.Predictions();
  const auto targets = all.Targets(labels);
  const auto values = labels ? TargetValues(ValuesOf<std::int64_t>(targets)) : TargetValues(ValuesOf<float>(targets));
  WritePredictions(folder, all.RecordNumbers(), ValuesOf<float>(predictions), values);
}

}  // namespace

Sums NoSums(const Task& task) { return {0, std::vector<double>(task.MeasureNames().size()), 0}; }

void AddBatch(Sums& sums, const Task& task, double loss, const at::Tensor& outputs, const at::Tensor& targets) {
  const auto count = static_cast<double>(targets.size(0));
  const auto measures = task.Measures(outputs, targets);
  for (std::size_t i = 0; i < measures.size(); ++i) sums.measures[i] += measures[i];
  sums.loss += loss * count;
  sums.records += count;
}

void BlameRecord(const Task& task, const Records& records, const TensorBatch& batch) {
  records.RequireFinite(batch);
  try {
    records.RequireFinite({task.Prepared(batch.input), batch.target, batch.records});
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(fmt::format(
        "{} once {} has taken their logarithm: all must be above -1, and quantities like these are 0 or more",
        error.what(), task.name()));
  }
}

Sums OverRanks(const Sums& sums, Session& session) {
  std::vector<double> values = {sums.loss, sums.records};
  values.insert(values.end(), sums.measures.begin(), sums.measures.end());
  session.Sum(values);
  return {values[0], {values.begin() + 2, values.end()}, values[1]};
}

Evaluated Evaluate(const Task& task, Replica& replica, Records& records, Session& session,
                   const std::filesystem::path& predictions_folder) {
  const at::NoGradGuard no_gradients;
  replica.Evaluate();
  records.Begin(0, 0);
  const bool wants_all = task.measures_all() || !predictions_folder.empty();
  AllOutputs all(records, session);
  Evaluated result{NoSums(task), {}};
  while (const auto batch = records.Next()) {
    if (batch->records.empty()) continue;  // this rank has none left, others have
    const auto outputs = replica.Forward(batch->input);
    const auto loss = task.Loss(outputs, batch->target).item<double>();
    if (!std::isfinite(loss)) BlameRecord(task, records, *batch);
    AddBatch(result.sums, task, loss, outputs, batch->target);
    if (wants_all) all.Add(*batch, task.Predictions(outputs));
  }
  result.sums = OverRanks(result.sums, session);
  if (!wants_all) return result;
  all.OverRanks(session);
  const bool labels = task.classes() > 0;
  if (task.measures_all()) result.further = task.OfAll(all.Predictions(), all.Targets(labels));
  if (!predictions_folder.empty() && session.rank() == 0) Keep(predictions_folder, all, labels);
  return result;
}

}  // namespace trainers
