/// The schedulers `asha` and `hyperband`: trials pause at rungs; the best of each rung go on from their checkpoints.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "ensemble/model/trial_runner.h"
#include "ensemble/schedulers/curve.h"
#include "ensemble/schedulers/leader.h"
#include "ensemble/schedulers/scheduler.h"

namespace slipway::ensemble {

/// The resources at which trials are compared, ascending: min, min * reduction, min * reduction^2, ... The last one is
/// `max`; without a `max` they end at 1e18. A rung above max / sqrt(reduction) is left out.
std::vector<double> RungResources(double min, std::optional<double> max, int reduction);

/// The rungs of one bracket: which trials entered them, with which values, and how many may go on.
class Rungs {
 public:
  Rungs(std::span<const double> resources, int reduction);

  std::size_t size() const { return rungs_.size(); }
  double resource(std::size_t rung) const { return rungs_[rung].resource; }
  /// No trial waits at the last rung: it is the end of a trial.
  bool IsLast(std::size_t rung) const { return rung + 1 == rungs_.size(); }
  /// How many rungs a trial enters that reaches `resource`.
  std::size_t CountUpTo(double resource) const;

  /// Counts one more entry into the rung, for good. Place adds the trial with its value.
  void CountEntry(std::size_t rung) { ++rungs_[rung].entries; }
  std::size_t entries(std::size_t rung) const { return rungs_[rung].entries; }
  /// How many of the entered trials may go on: one in `reduction`.
  std::size_t places(std::size_t rung) const { return rungs_[rung].entries / reduction_; }
  /// How many placed trials have gone on.
  std::size_t gone_on(std::size_t rung) const { return rungs_[rung].gone_on; }

  /// Adds or removes a trial of the rung. Remove needs the same arguments as Place.
  /// Cost: a sorted insert or erase among the trials of the rung.
  void Place(std::size_t rung, TrialNumber trial, double value, bool goes_on);
  void Remove(std::size_t rung, TrialNumber trial, double value, bool goes_on);
  /// How many placed trials are better. Among equal values the earlier trial is better.
  std::size_t RankOf(std::size_t rung, TrialNumber trial, double value) const;

  using Standing = std::pair<double, TrialNumber>;
  /// The placed trials, best first.
  const std::vector<Standing>& standings(std::size_t rung) const { return rungs_[rung].standings; }

 private:
  struct Rung {
    double resource = 0;
    std::size_t entries = 0;
    std::size_t gone_on = 0;
    std::vector<Standing> standings;
  };
  std::vector<Rung> rungs_;
  std::size_t reduction_;
};

/// Asynchronous successive halving of the promotion type, in one bracket or several.
///
/// Of n trials that entered a rung, the best floor(n / reduction) may go on, at once or later from their pause. Unlike
/// in the paper, places are counted: a better trial that comes when all places are taken waits for the next place. So
/// no rung sends on more than its part. Failed and cancelled trials still count among the n, but give their place back.
/// A value that is not finite ends a trial at a rung. A trial that still runs while it is being paused enters further
/// rungs. At `max` no trial is paused or ended: the program ends by itself.
/// When no more trials begin, the leader of each rung goes on, from the lowest rung up, until the best trial of each
/// bracket is complete. (The paper's study has no end.)
/// A trial paused below the first rung of its bracket goes on at once. This happens when the budget was raised: then
/// the brackets change.
///
/// Cost:   a report O(1), at a rung a sorted insert among its trials; Promote, the places of all rungs.
/// Source: Li, Jamieson, Rostamizadeh, Gonina, Hardt, Recht, Talwalkar: "A system for massively parallel hyperparameter
///         tuning", MLSys 2020, algorithm 2.
class Asha : public Scheduler, public KnowsLeader {
 public:
  using BracketOf = std::function<std::size_t(TrialNumber)>;
  /// The bracket of a trial is a pure function of its number.
  Asha(std::vector<Rungs> brackets, BracketOf bracket_of, const SchedulerSettings& settings);

  void Learn(const Report& report) override;
  Judgement Take(const Report& report) override;
  void Tell(TrialNumber trial, Decision decision) override;
  void End(TrialNumber trial, TrialState state) override;
  std::optional<TrialNumber> Promote() override;
  std::optional<TrialNumber> Finish(const TrialTable& trials) override;
  std::optional<Leader> PausedLeader() const override;
  void GoOn(const Leader& leader) override { Claimed(leader.trial); }
  double Reached(TrialNumber trial) const override;
  std::optional<double> Limit(TrialNumber trial) const override;
  bool MayWait(TrialNumber trial) const override;

 private:
  struct Member {
    TrialState state = TrialState::kQueued;
    std::optional<Decision> told;      // kPause or kStop, from the decision to its End
    double furthest = 0;               // largest resource of its reports
    std::vector<Curve::Mark> entries;  // one for each rung it entered
  };
  struct RungPlace {
    std::size_t bracket = 0;
    std::size_t rung = 0;
  };

  Member& At(TrialNumber trial);
  Rungs& RungsOf(TrialNumber trial) { return brackets_[bracket_of_(trial)]; }
  void Enter(TrialNumber trial, Member& member, const Report& report);
  void Move(TrialNumber trial, TrialState state, std::optional<Decision> told);
  void Place(TrialNumber trial, const Member& member);
  void Remove(TrialNumber trial, const Member& member);
  TrialNumber Claimed(TrialNumber trial);
  static bool GoesOn(const Member& member, std::size_t rung);

  Judgement Judge(TrialNumber trial, std::size_t rung);
  /// For each bracket, the lowest rung that a trial may still enter.
  std::vector<std::size_t> LowestOpenRungs(const TrialTable& trials) const;
  /// The best trial that is paused at this rung, among the first `count` of its standings.
  std::optional<TrialNumber> FirstPaused(RungPlace place, std::size_t count) const;

  std::vector<Rungs> brackets_;
  BracketOf bracket_of_;
  Goal goal_;
  std::optional<double> end_;             ///< the resource of a whole trial
  std::vector<RungPlace> highest_first_;  // every rung at which trials pause
  std::vector<Member> members_;           // by trial number
  std::set<TrialNumber> before_rungs_;    // paused, and have entered no rung
};

/// One bracket with all rungs.
std::unique_ptr<Scheduler> MakeAsha(const SchedulerSettings& settings);

}  // namespace slipway::ensemble
