#include "ensemble/schedulers/asha.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ensemble/schedulers/curve.h"

namespace slipway::ensemble {
namespace {

constexpr double kEndless = 1e18;
// Tolerance: products of decimal fractions may miss a resource by rounding.
constexpr double kRounding = 1 - 1e-12;

}  // namespace

std::vector<double> RungResources(double min, std::optional<double> max, int reduction) {
  const double last = max ? *max / std::sqrt(reduction) : kEndless;
  std::vector<double> resources;
  double next = min;
  while (next <= last) next = resources.emplace_back(next) * reduction;
  if (max) resources.push_back(*max);
  return resources;
}

Rungs::Rungs(std::span<const double> resources, int reduction) : reduction_(static_cast<std::size_t>(reduction)) {
  for (const double resource : resources) rungs_.push_back({resource, 0, 0, {}});
}

std::size_t Rungs::CountUpTo(double resource) const {
  const auto reached = [&](const Rung& rung) { return rung.resource * kRounding <= resource; };
  return static_cast<std::size_t>(std::ranges::partition_point(rungs_, reached) - rungs_.begin());
}

void Rungs::Place(std::size_t rung, TrialNumber trial, double value, bool goes_on) {
  auto& standings = rungs_[rung].standings;
  const Standing standing{value, trial};
  standings.insert(std::ranges::lower_bound(standings, standing), standing);
  if (goes_on) ++rungs_[rung].gone_on;
}

void Rungs::Remove(std::size_t rung, TrialNumber trial, double value, bool goes_on) {
  auto& standings = rungs_[rung].standings;
  standings.erase(std::ranges::lower_bound(standings, Standing{value, trial}));
  if (goes_on) --rungs_[rung].gone_on;
}

std::size_t Rungs::RankOf(std::size_t rung, TrialNumber trial, double value) const {
  const auto& standings = rungs_[rung].standings;
  return static_cast<std::size_t>(std::ranges::lower_bound(standings, Standing{value, trial}) - standings.begin());
}

namespace {

bool HasLeft(TrialState state) { return state == TrialState::kFailed || state == TrialState::kCancelled; }

}  // namespace

Asha::Asha(std::vector<Rungs> brackets, BracketOf bracket_of, const SchedulerSettings& settings)
    : brackets_(std::move(brackets)), bracket_of_(std::move(bracket_of)), goal_(settings.goal), end_(settings.max) {
  for (std::size_t bracket = 0; bracket < brackets_.size(); ++bracket) {
    for (std::size_t rung = 0; rung + 1 < brackets_[bracket].size(); ++rung) highest_first_.push_back({bracket, rung});
  }
  std::ranges::stable_sort(highest_first_, std::ranges::greater{},
                           [&](RungPlace at) { return brackets_[at.bracket].resource(at.rung); });
}

Asha::Member& Asha::At(TrialNumber trial) {
  const auto index = static_cast<std::size_t>(trial);
  if (index >= members_.size()) members_.resize(index + 1);
  return members_[index];
}

// --- who stands where ---

/// Whether a trial has gone on from a rung. From its highest rung it has, unless it is paused or was ended there.
bool Asha::GoesOn(const Member& member, std::size_t rung) {
  if (rung + 1 < member.entries.size()) return true;
  return member.state != TrialState::kPaused && member.state != TrialState::kPruned && !member.told;
}

void Asha::Place(TrialNumber trial, const Member& member) {
  if (HasLeft(member.state)) return;
  for (std::size_t i = 0; i < member.entries.size(); ++i) {
    RungsOf(trial).Place(i, trial, member.entries[i].value, GoesOn(member, i));
  }
}

void Asha::Remove(TrialNumber trial, const Member& member) {
  if (HasLeft(member.state)) return;
  for (std::size_t i = 0; i < member.entries.size(); ++i) {
    RungsOf(trial).Remove(i, trial, member.entries[i].value, GoesOn(member, i));
  }
}

void Asha::Move(TrialNumber trial, TrialState state, std::optional<Decision> told) {
  Member& member = At(trial);
  Remove(trial, member);
  member.state = state;
  member.told = told;
  Place(trial, member);
  if (state == TrialState::kPaused && member.entries.empty()) {
    before_rungs_.insert(trial);
  } else {
    before_rungs_.erase(trial);
  }
}

/// The entry into a rung is the first report there or beyond, whichever attempt it came from.
void Asha::Enter(TrialNumber trial, Member& member, const Report& report) {
  Rungs& rungs = RungsOf(trial);
  const Curve::Mark mark{report.resource, WorstIfNotFinite(report.value)};
  const std::size_t reached = rungs.CountUpTo(report.resource);
  for (std::size_t i = 0; i < std::min(reached, member.entries.size()); ++i) {
    if (report.resource <= member.entries[i].resource) member.entries[i] = mark;
  }
  while (member.entries.size() < reached) {
    rungs.CountEntry(member.entries.size());
    member.entries.push_back(mark);
  }
}

void Asha::Learn(const Report& report) {
  Member& member = At(report.trial);
  const bool is_repeated = report.resource <= member.furthest;
  member.furthest = std::max(member.furthest, report.resource);
  if (!is_repeated && RungsOf(report.trial).CountUpTo(report.resource) == member.entries.size()) return;
  Remove(report.trial, member);
  Enter(report.trial, member, report);
  Place(report.trial, member);
}

void Asha::End(TrialNumber trial, TrialState state) { Move(trial, state, std::nullopt); }

// --- decisions ---

Judgement Asha::Take(const Report& report) {
  Member& member = At(report.trial);
  if (member.state != TrialState::kRunning) Move(report.trial, TrialState::kRunning, std::nullopt);
  const std::size_t before = member.entries.size();
  Learn(report);
  if (member.entries.size() == before) return {};
  return Judge(report.trial, member.entries.size() - 1);
}

Judgement Asha::Judge(TrialNumber trial, std::size_t rung) {
  const Rungs& rungs = RungsOf(trial);
  const Member& member = At(trial);
  const auto& entry = member.entries[rung];
  const auto value = DescribeValue(entry.value, goal_);
  const std::size_t rank = rungs.RankOf(rung, trial, entry.value);
  const std::size_t others = rungs.gone_on(rung) - (GoesOn(member, rung) ? 1 : 0);
  Judgement judgement;
  judgement.rung = {static_cast<int>(bracket_of_(trial)), static_cast<int>(rung), rungs.resource(rung)};
  judgement.reason = fmt::format("rung {} (at {:.6g}): ", rung, rungs.resource(rung));
  if (rungs.IsLast(rung)) {
    judgement.reason += "the last one";
  } else if (!std::isfinite(entry.value)) {
    judgement.decision = Decision::kStop;
    judgement.reason += value;
  } else {
    const bool goes_on = rank < rungs.places(rung) && others < rungs.places(rung);
    judgement.decision = goes_on ? Decision::kContinue : Decision::kPause;
    judgement.reason += fmt::format("{} is number {} of {}, of which {} may go on and {} already did", value, rank + 1,
                                    rungs.entries(rung), rungs.places(rung), others);
  }
  if (member.told && !rungs.IsLast(rung)) judgement.decision = *member.told;
  Tell(trial, judgement.decision);
  return judgement;
}

/// The first decision counts.
void Asha::Tell(TrialNumber trial, Decision decision) {
  if (decision != Decision::kContinue && !At(trial).told) Move(trial, TrialState::kRunning, decision);
}

std::optional<TrialNumber> Asha::FirstPaused(RungPlace place, std::size_t count) const {
  const auto& standings = brackets_[place.bracket].standings(place.rung);
  for (std::size_t i = 0; i < std::min(count, standings.size()); ++i) {
    const auto& member = members_[static_cast<std::size_t>(standings[i].second)];
    const bool waits_here = member.state == TrialState::kPaused && member.entries.size() == place.rung + 1;
    if (waits_here) return standings[i].second;
  }
  return std::nullopt;
}

TrialNumber Asha::Claimed(TrialNumber trial) {
  Move(trial, TrialState::kClaimed, std::nullopt);
  return trial;
}

std::optional<TrialNumber> Asha::Promote() {
  if (!before_rungs_.empty()) return Claimed(*before_rungs_.begin());
  for (const auto at : highest_first_) {
    const Rungs& rungs = brackets_[at.bracket];
    if (rungs.gone_on(at.rung) >= rungs.places(at.rung)) continue;
    if (const auto found = FirstPaused(at, rungs.places(at.rung))) return Claimed(*found);
  }
  return std::nullopt;
}

std::vector<std::size_t> Asha::LowestOpenRungs(const TrialTable& trials) const {
  std::vector<std::size_t> lowest;
  for (const auto& rungs : brackets_) lowest.push_back(rungs.size());
  for (const auto& trial : trials.trials()) {
    if (IsFinal(trial.state) || trial.state == TrialState::kPaused) continue;
    const auto index = static_cast<std::size_t>(trial.number);
    const std::size_t next = index < members_.size() ? members_[index].entries.size() : 0;
    auto& open = lowest[bracket_of_(trial.number)];
    open = std::min(open, next);
  }
  return lowest;
}

/// Goes from the lowest rung up. The leader of a rung is known when no further trial can enter it.
std::optional<TrialNumber> Asha::Finish(const TrialTable& trials) {
  const auto open = LowestOpenRungs(trials);
  for (std::size_t bracket = 0; bracket < brackets_.size(); ++bracket) {
    const std::size_t below_last = brackets_[bracket].size() - 1;
    for (std::size_t rung = 0; rung < std::min(open[bracket], below_last); ++rung) {
      if (const auto leader = FirstPaused({bracket, rung}, 1)) return Claimed(*leader);
    }
  }
  return std::nullopt;
}

std::optional<Leader> Asha::PausedLeader() const {
  const auto has_come = [this](RungPlace at) { return !brackets_[at.bracket].standings(at.rung).empty(); };
  const auto highest = std::ranges::find_if(highest_first_, has_come);
  if (!end_ || highest == highest_first_.end()) return std::nullopt;
  const auto paused = FirstPaused(*highest, 1);
  if (!paused) return std::nullopt;
  return Leader{*paused, Reached(*paused), *end_};
}

double Asha::Reached(TrialNumber trial) const {
  const auto index = static_cast<std::size_t>(trial);
  return index < members_.size() ? members_[index].furthest : 0;
}

std::optional<double> Asha::Limit(TrialNumber trial) const {
  const Rungs& rungs = brackets_[bracket_of_(trial)];
  const auto index = static_cast<std::size_t>(trial);
  const std::size_t next = index < members_.size() ? members_[index].entries.size() : 0;
  if (next + 1 >= rungs.size()) return std::nullopt;
  return rungs.resource(next);
}

bool Asha::MayWait(TrialNumber trial) const {
  const auto index = static_cast<std::size_t>(trial);
  const std::size_t entered = index < members_.size() ? members_[index].entries.size() : 0;
  return entered > 0 && !brackets_[bracket_of_(trial)].IsLast(entered - 1);
}

std::unique_ptr<Scheduler> MakeAsha(const SchedulerSettings& settings) {
  std::vector<Rungs> brackets;
  brackets.emplace_back(RungResources(settings.min, settings.max, settings.reduction), settings.reduction);
  const auto bracket_of = [](TrialNumber) { return std::size_t{0}; };
  return std::make_unique<Asha>(std::move(brackets), bracket_of, settings);
}

}  // namespace slipway::ensemble
