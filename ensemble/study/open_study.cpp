#include "ensemble/study/open_study.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "ensemble/exchange/import_trials.h"
#include "ensemble/study/study.h"

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
  best_ = FindBest();
}

std::optional<TrialNumber> OpenStudy::FindBest() const {
  const auto* best = configurations_.table().Best(FirstGoal());
  return best != nullptr ? std::optional(best->number) : std::nullopt;
}

bool OpenStudy::IsBetterThanBest(const TrialRecord& row) const {
  if (row.state != TrialState::kComplete || !row.objective) return false;
  if (!best_) return true;
  const double best = *configurations_.table().at(*best_).objective;
  return IsBetter(*row.objective, best, FirstGoal()) || (*row.objective == best && row.number < *best_);
}

/// Only when the best itself has changed, as by another run of it, all must be looked at.
void OpenStudy::FollowBest(TrialNumber configuration) {
  if (best_ == configuration) {
    best_ = FindBest();
  } else if (IsBetterThanBest(configurations_.table().at(configuration))) {
    best_ = configuration;
  }
}

void OpenStudy::Changed(TrialNumber trial) {
  configurations_.Update(trials_, trial);
  FollowBest(configurations_.Of(trial));
  if (trials_.at(trial).state == TrialState::kQueued) {
    queued_.insert(trial);
  } else {
    queued_.erase(trial);
  }
}

int OpenStudy::Claim(TrialNumber number) {
  TrialRecord& trial = Edit(number);
  trial.state = TrialState::kClaimed;
  trial.started.reset();
  trial.ended.reset();
  trial.reason.clear();
  ++trial.attempts;
  Changed(number);
  return trial.attempts;
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
  trial.parameters = CanonicalValues(options_.space, std::move(point));
  trial.configuration = ConfigurationHash(trial.parameters);
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
