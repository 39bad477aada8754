#include "ensemble/study/open_study.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/error.h"
#include "ensemble/exchange/import_trials.h"
#include "ensemble/samplers/first_points.h"
#include "ensemble/samplers/sampler.h"
#include "ensemble/search/cube/free_points.h"
#include "ensemble/space/space.h"
#include "ensemble/study/options.h"

namespace slipway::ensemble {
namespace {

void CheckPositive(std::string_view name, std::int64_t value) {
  if (value >= 1) return;
  throw Error(ErrorKind::kUsage, fmt::format("ensemble: '{}' must be at least 1, not {}", name, value),
              fmt::format("set ensemble.{} to 1 or more", name));
}

template <class Value>
void CheckSame(std::string_view what, const Value& stored, const Value& given) {
  if (stored == given) return;
  throw Error(ErrorKind::kUsage,
              fmt::format("the ensemble was started with {} {}, but the spec now says {}", what, stored, given),
              "start a new run for a changed experiment, or undo the change");
}

void CheckObjectives(const std::vector<Objective>& objectives) {
  const bool named = std::ranges::none_of(objectives, &std::string::empty, &Objective::metric);
  if (!objectives.empty() && named) return;
  throw Error(ErrorKind::kUsage, "ensemble: an objective names no metric",
              "name a metric that the program reports in ensemble.objective");
}

/// "maximize accuracy, minimize the best loss"
std::string Describe(const std::vector<Objective>& objectives) {
  std::string text;
  for (const auto& objective : objectives) {
    text += fmt::format("{}{} {}{}", text.empty() ? "" : ", ", WordOf(objective.goal),
                        objective.counts == CountedValue::kBest ? "the best " : "", objective.metric);
    if (objective.reach) text += fmt::format(" to {}", *objective.reach);
  }
  return text;
}

/// The settings for the samplers. The name is that of the options.
SamplerSettings SamplerSettingsOf(const EnsembleOptions& options) {
  SamplerSettings settings;
  settings.name = options.sampler;
  settings.seed = options.seed;
  settings.grid_points = options.grid_points;
  settings.trials = options.trials;
  settings.goal = options.objectives.front().ValueGoal();
  settings.points = options.points;
  for (std::size_t i = 1; i < options.objectives.size(); ++i) {
    settings.further.push_back(options.objectives[i].ValueGoal());
  }
  return settings;
}

/// The record of a new study; `auto` is resolved to the sampler that it stands for.
/// Errors: kUsage for invalid options: no trials, nothing in parallel, an unknown sampler, no objective.
StudyRecord DescribeStudy(const EnsembleOptions& options, double now) {
  CheckPositive("trials", options.trials);
  CheckPositive("parallel", options.parallel);
  CheckPositive("repeats", options.repeats);
  CheckObjectives(options.objectives);
  CheckFeasible(options.space);
  CompletedPoints(options.space, options.points, options.seed);
  StudyRecord study;
  study.objectives = options.objectives;
  study.trials = options.trials;
  study.repeats = options.repeats;
  study.scheduler = options.scheduler.type;
  study.sampler = ResolveSampler(SamplerSettingsOf(options), options.space);
  study.seed = options.seed;
  study.grid_points = options.grid_points;
  study.spec_hash = options.spec_hash;
  study.space = ToJson(options.space).dump();
  study.created = now;
  return study;
}

/// Errors: kUsage, naming the first difference that would mix two experiments in one book.
void CheckSameStudy(const StudyRecord& stored, const EnsembleOptions& options) {
  CheckPositive("parallel", options.parallel);
  CheckObjectives(options.objectives);
  CheckSame("the objectives", Describe(stored.objectives), Describe(options.objectives));
  CheckSame("repeats", stored.repeats, options.repeats);
  CheckSame("scheduler", stored.scheduler, options.scheduler.type);
  CheckSame("seed", stored.seed, options.seed);
  CheckSame("grid_points", stored.grid_points, options.grid_points);
  CheckSame("the space", ToJson(StoredSpace(stored)).dump(), ToJson(options.space).dump());
  if (options.sampler != "auto") CheckSame("sampler", stored.sampler, options.sampler);
}

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

/// Updates the best configuration. Only if the best itself has changed, as by another run of it, all are compared.
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
  BecomeClaimed(trial);
  Changed(number);
  return trial.attempts;
}

std::optional<TrialNumber> OpenStudy::TakeQueued() {
  if (queued_.empty()) return std::nullopt;
  return queued_.extract(queued_.begin()).value();
}

bool OpenStudy::Ask(Changes& changes) {
  if (!HasBudget() || exhausted_) return false;
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
