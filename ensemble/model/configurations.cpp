#include "ensemble/model/configurations.h"

#include <algorithm>

namespace slipway::ensemble {
namespace {

/// Sums over the repeats of a configuration, for means.
class Mean {
 public:
  void Add(const TrialRecord& trial) {
    if (!trial.objective) return;
    ++count_;
    objective_ += *trial.objective;
    further_.resize(trial.further.size());
    for (std::size_t i = 0; i < further_.size(); ++i) further_[i] += trial.further[i];
  }

  void StoreIn(TrialRecord& row) const {
    row.objective.reset();
    row.further.clear();
    if (count_ == 0) return;
    row.objective = objective_ / count_;
    for (const double sum : further_) row.further.push_back(sum / count_);
  }

 private:
  int count_ = 0;
  double objective_ = 0;
  std::vector<double> further_;
};

}  // namespace

Configurations::Configurations(const TrialTable& trials, int repeats) : repeats_(repeats) {
  for (TrialNumber trial = 0; trial < trials.size(); trial += repeats_) {
    table_.Add(Summarise(trials, trial / repeats_));
  }
}

void Configurations::Update(const TrialTable& trials, TrialNumber changed) {
  const TrialNumber configuration = Of(changed);
  if (configuration == table_.size()) {
    table_.Add(Summarise(trials, configuration));
  } else {
    table_.Edit(configuration) = Summarise(trials, configuration);
  }
}

TrialRecord Configurations::Summarise(const TrialTable& trials, TrialNumber configuration) const {
  const TrialNumber first = configuration * repeats_;
  const TrialNumber end = std::min(first + repeats_, trials.size());
  TrialRecord row = trials.at(first);
  row.number = configuration;
  Mean mean;
  bool all_final = true, any_complete = false;
  for (TrialNumber trial = first; trial < end; ++trial) {
    const auto& record = trials.at(trial);
    all_final = all_final && IsFinal(record.state);
    any_complete = any_complete || record.state == TrialState::kComplete;
    if (record.state == TrialState::kComplete) mean.Add(record);
  }
  if (repeats_ == 1) return row;
  mean.StoreIn(row);
  row.state = !all_final ? TrialState::kRunning : any_complete ? TrialState::kComplete : trials.at(end - 1).state;
  return row;
}

}  // namespace slipway::ensemble
