#include "ensemble/open_study.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "ensemble/exchange/import_trials.h"
#include "ensemble/study.h"

namespace slipway::ensemble {
namespace {

/// Checks the options against the book, or begins the study in it; returns the sampler's name. `budget` is that of the
/// options and what was imported.
std::string Open(TrialBook& book, const EnsembleOptions& options, std::int64_t budget, double now) {
  const auto stored = book.Study();
  if (!stored) {
    const auto study = DescribeStudy(options, now);
    book.CreateStudy(study, options.space);
    return study.sampler;
  }
  CheckSameStudy(*stored, options);
  if (stored->trials != budget) book.SetBudget(budget);
  return stored->sampler;
}

}  // namespace

OpenStudy::OpenStudy(TrialBook& book, const EnsembleOptions& options, double now)
    : options_(options),
      trials_(book.Trials()),
      budget_(options.trials + CountImported(trials_.trials())),
      configurations_(trials_, options.repeats) {
  auto settings = SamplerSettingsOf(options);
  settings.name = Open(book, options, budget_, now);
  sampler_ = MakeSampler(settings, options.space);
  for (const auto& trial : trials_.trials()) {
    if (trial.state == TrialState::kQueued) queued_.insert(trial.number);
  }
  for (const auto& row : configurations_.table().trials()) CompareWithBest(row.number);
}

void OpenStudy::CompareWithBest(TrialNumber configuration) {
  const auto& table = configurations_.table();
  const auto& row = table.at(configuration);
  if (row.state != TrialState::kComplete || !row.objective) return;
  const Goal goal = options_.objectives.front().ValueGoal();
  if (!best_ || IsBetter(*row.objective, *table.at(*best_).objective, goal)) best_ = configuration;
}

void OpenStudy::Changed(TrialNumber trial) {
  configurations_.Update(trials_, trial);
  CompareWithBest(configurations_.Of(trial));
  if (trials_.at(trial).state == TrialState::kQueued) queued_.insert(trial);
}

std::optional<TrialNumber> OpenStudy::TakeQueued() {
  if (queued_.empty()) return std::nullopt;
  return queued_.extract(queued_.begin()).value();
}

bool OpenStudy::Ask(Changes& changes) {
  if (!HasRoom() || exhausted_) return false;
  auto point = sampler_->Ask(NextConfiguration(), configurations_.table());
  exhausted_ = !point;
  if (!point) return false;
  Add(std::move(*point), std::string(sampler_->Origin()), std::nullopt, changes);
  return true;
}

void OpenStudy::Add(Point point, std::string origin, std::optional<TrialNumber> parent, Changes& changes) {
  TrialRecord trial;
  trial.configuration = ConfigurationHash(point);
  trial.parameters = std::move(point);
  trial.created = changes.time;
  trial.origin = std::move(origin);
  trial.parent = parent;
  for (trial.repeat = 0; trial.repeat < options_.repeats; ++trial.repeat) {
    trial.number = trials_.size();
    changes.trials.push_back(trials_.Add(trial));
    Changed(trial.number);
  }
}

std::optional<TrialRecord> OpenStudy::Best() const {
  if (!best_) return std::nullopt;
  TrialRecord best = configurations_.table().at(*best_);
  best.number = *best_ * options_.repeats;
  return best;
}

}  // namespace slipway::ensemble
