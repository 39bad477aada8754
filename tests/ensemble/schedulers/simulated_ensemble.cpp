#include "tests/ensemble/schedulers/simulated_ensemble.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace slipway::ensemble {
namespace {

constexpr std::size_t kMostSchedulers = 6;

void Require(bool holds, const std::string& what) {
  if (!holds) throw std::runtime_error(what);
}

}  // namespace

SimulatedEnsemble::SimulatedEnsemble(SchedulerSettings settings, double length, Troubles troubles, std::uint64_t seed)
    : settings_(std::move(settings)), length_(length), troubles_(troubles), draws_(seed, 0, "simulation") {
  schedulers_.push_back(MakeScheduler(settings_));
}

template <class Question>
auto SimulatedEnsemble::Ask(const Question& question) {
  const auto answer = question(*schedulers_.front());
  for (std::size_t i = 1; i < schedulers_.size(); ++i) {
    Require(question(*schedulers_[i]) == answer, "a restored scheduler decides otherwise");
  }
  return answer;
}

void SimulatedEnsemble::Run() {
  const int most = 100 * static_cast<int>(settings_.trials) * static_cast<int>(length_ + 10);
  for (int step = 0; step < most; ++step) {
    while (static_cast<int>(running_.size()) < settings_.parallel && Fill()) {
    }
    if (running_.empty()) return;
    auto chosen = running_.begin();
    std::advance(chosen, draws_.Below(running_.size()));
    Advance(chosen->first);
    AddRestored();
  }
  throw std::runtime_error("the ensemble does not end");
}

bool SimulatedEnsemble::Fill() {
  return ResumeQueued() || Resume(Ask([](Scheduler& scheduler) { return scheduler.Promote(); })) || Begin() ||
         Resume(Ask([&](Scheduler& scheduler) { return scheduler.Finish(table_); }));
}

bool SimulatedEnsemble::ResumeQueued() {
  if (queued_.empty()) return false;
  const TrialNumber trial = queued_.extract(queued_.begin()).value();
  table_.Edit(trial).state = TrialState::kRunning;
  running_[trial] = {std::floor(reached_[trial] * draws_.Unit()), std::nullopt};
  return true;
}

bool SimulatedEnsemble::Resume(std::optional<TrialNumber> trial) {
  if (!trial) return false;
  Require(table_.at(*trial).state == TrialState::kPaused, fmt::format("promoted the unfinished trial {}", *trial));
  table_.Edit(*trial).state = TrialState::kRunning;
  running_[*trial] = {reached_[*trial], std::nullopt};
  ++sent_on_[at_rung_.at(*trial)];
  return true;
}

bool SimulatedEnsemble::Begin() {
  const TrialNumber trial = table_.size();
  if (trial >= settings_.trials) return false;
  if (!Ask([&](Scheduler& scheduler) { return scheduler.MayBegin(trial); })) return false;
  const auto descent = Ask([&](Scheduler& scheduler) { return scheduler.Descend(trial); });
  Ask([&](Scheduler& scheduler) { return scheduler.Limit(trial); });
  if (descent) {
    Require(!IsFinal(table_.at(descent->parent).state), "descends from a trial that has ended");
    parents_[trial] = descent->parent;
    reached_[trial] = reached_.at(descent->parent);
  }
  TrialRecord record;
  record.number = trial;
  record.state = TrialState::kRunning;
  table_.Add(record);
  running_[trial] = {reached_[trial], std::nullopt};
  return true;
}

void SimulatedEnsemble::Advance(TrialNumber trial) {
  auto& running = running_.at(trial);
  if (running.told && (!troubles_.is_slow_to_stop || draws_.Unit() < 0.5)) return End(trial, *running.told);
  if (draws_.Unit() < troubles_.fail) return End(trial, running.told.value_or(TrialState::kFailed));
  if (draws_.Unit() < troubles_.interrupt) return End(trial, running.told.value_or(TrialState::kQueued));
  running.resource += 1;
  Report(trial);
  if (running.resource >= length_) End(trial, running.told.value_or(TrialState::kComplete));
}

void SimulatedEnsemble::Report(TrialNumber trial) {
  auto& running = running_.at(trial);
  reached_[trial] = std::max(reached_[trial], running.resource);
  const ensemble::Report report{trial, running.resource, ValueOf(trial, running.resource)};
  rows_.Add(report);
  Obey(trial, Ask([&](Scheduler& scheduler) { return scheduler.Take(report); }));
}

void SimulatedEnsemble::Obey(TrialNumber trial, const Judgement& judgement) {
  if (judgement.rung) {
    at_rung_[trial] = {judgement.rung->bracket, judgement.rung->rung};
    ++entered_[at_rung_[trial]];
    if (judgement.decision == Decision::kContinue) ++sent_on_[at_rung_[trial]];
  }
  auto& told = running_.at(trial).told;
  if (judgement.decision == Decision::kStop && !told) told = TrialState::kPruned;
  if (judgement.decision == Decision::kPause && !told) told = TrialState::kPaused;
}

void SimulatedEnsemble::End(TrialNumber trial, TrialState state) {
  running_.erase(trial);
  table_.Edit(trial).state = state;
  if (state == TrialState::kQueued) queued_.insert(trial);
  for (const auto& scheduler : schedulers_) scheduler->End(trial, state);
}

/// Another scheduler, as a manager would make it that begins here. What the earlier one told trials is in its book.
void SimulatedEnsemble::AddRestored() {
  std::map<TrialNumber, Decision> told;
  for (const auto& [trial, running] : running_) {
    if (running.told) told[trial] = *running.told == TrialState::kPaused ? Decision::kPause : Decision::kStop;
  }
  auto restored = MakeScheduler(settings_);
  restored->Restore(rows_.Ordered(), table_, told);
  if (schedulers_.size() >= kMostSchedulers) schedulers_.erase(schedulers_.begin() + 1);
  schedulers_.push_back(std::move(restored));
}

double SimulatedEnsemble::ValueOf(TrialNumber trial, double resource) {
  if (draws_.Unit() < troubles_.bad_value) return draws_.Unit() < 0.5 ? kNotANumber : kInfinite;
  const double talent = CounterRandom(settings_.seed, trial, "talent").Unit(0);
  // Rounded, so that there are equals.
  return std::round(100 * (talent + 1 / resource + 0.3 * draws_.Unit())) / 100;
}

}  // namespace slipway::ensemble
