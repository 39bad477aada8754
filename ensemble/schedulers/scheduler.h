/// The port of the schedulers: which trials end early, which pause, and which paused one goes on.
///
/// Words: a trial spends a *resource* (epochs, steps, seconds) and reports a *value* at points of it. A *rung* is a
/// resource at which trials are compared; a trial *enters* it with its first report there or beyond.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ensemble/model/trial_table.h"

namespace slipway::ensemble {

struct Report {
  TrialNumber trial = 0;
  double resource = 0;
  double value = 0;  ///< lower is better whatever the study's goal; NaN and infinities are the worst there is
};

enum class Decision { kContinue, kStop, kPause };

struct Judgement {
  struct Rung {
    int bracket = 0;
    int rung = 0;  ///< from 0 in its bracket
    double resource = 0;
    bool operator==(const Rung&) const = default;
  };
  Decision decision = Decision::kContinue;
  std::string reason;        ///< for people: "rung 1 (at 3): 0.41 is number 5 of 9, of which 3 go on"
  std::optional<Rung> rung;  ///< the highest rung that this report entered
  bool operator==(const Judgement&) const = default;
};

/// A new trial continues from the newest checkpoint of `parent`, with parameters of its own.
struct Descent {
  TrialNumber parent = 0;
  bool operator==(const Descent&) const = default;
};

/// What a scheduler knows is a function of the reports (of each trial and resource the last value) and of the trials'
/// states, whatever the order of trials among each other. So one that was restored decides as the one that lived.
///
/// A trial that was told to stop or to pause goes on until its End; what it reports meanwhile is known, and decisions
/// about it mean nothing new. A retried attempt may repeat resources: the values are replaced, decisions that were made
/// stay as they are, and no rule that compares trials decides before this one has come further than ever.
class Scheduler {
 public:
  virtual ~Scheduler() = default;

  /// Learns what an earlier manager knew; once, before anything else. `reports` are ordered by (trial, resource), each
  /// pair once. `told`: running trials that the earlier one had decided to pause or to stop; their End is still to
  /// come.
  void Restore(const std::vector<Report>& reports, const TrialTable& trials,
               const std::map<TrialNumber, Decision>& told = {});

  /// As Take, but nothing is decided.
  virtual void Learn(const Report& report) = 0;
  virtual Judgement Take(const Report& report) = 0;
  /// A Take of an earlier manager decided so about a running trial: what is known from then until its End.
  virtual void Tell(TrialNumber /*trial*/, Decision /*decision*/) {}
  /// An attempt ended, and this is what became of its trial: final, paused, or queued to run again.
  virtual void End(TrialNumber trial, TrialState state) = 0;

  /// The paused trial that goes on now. Asked before a new trial is begun; from then on the trial counts as claimed.
  virtual std::optional<TrialNumber> Promote() { return std::nullopt; }
  /// Asked when nothing is promoted and no new trial will begin: the paused trial that goes on nevertheless, so that
  /// the ensemble does not end with its leaders waiting. From then on it counts as claimed.
  virtual std::optional<TrialNumber> Finish(const TrialTable& /*trials*/) { return std::nullopt; }
  /// Whether the new trial with this number may begin now. Where nothing runs and nothing is promoted, false means that
  /// the ensemble is over.
  virtual bool MayBegin(TrialNumber /*trial*/) const { return true; }
  /// Asked when a trial that was told to stop has ended: false where nothing will come of its end any more, and it
  /// rather goes on.
  virtual bool MayEnd(TrialNumber /*trial*/) const { return true; }
  /// Where the new trial `trial` comes from; nothing: the sampler is asked.
  virtual std::optional<Descent> Descend(TrialNumber /*trial*/) const { return std::nullopt; }
  /// The resource at which the trial may be paused next: a hint for its program.
  virtual std::optional<double> Limit(TrialNumber /*trial*/) const { return std::nullopt; }
  /// Whether the trial may wait where it is until Promote names it.
  virtual bool MayWait(TrialNumber /*trial*/) const { return false; }
};

struct SchedulerSettings {
  std::string type = "none";    ///< one of SchedulerNames()
  double min = 1;               ///< no trial is judged before this resource; the first rung
  std::optional<double> max;    ///< resource of a whole trial, at which its program ends by itself
  int reduction = 3;            ///< asha, hyperband: one in so many goes on from a rung
  double percentile = 50;       ///< percentile: the best so many percent go on
  int patience = 0;             ///< reports without improvement
  std::optional<double> lower;  ///< threshold, in the user's sign
  std::optional<double> upper;
  int startup = 5;         ///< median, percentile: so many complete trials to compare with
  double quantile = 0.25;  ///< pbt: this part of the population is replaced, and as many are copied
  double interval = 0;     ///< resource between two checks; 0: every report (pbt needs one)
  double p_value = 0.1;    ///< wilcoxon
  int population = 0;      ///< pbt; 0: as many as run at once
  std::uint64_t seed = 1;
  std::int64_t trials = 1;  ///< the budget
  int parallel = 1;         ///< how many trials run at once
  Goal goal = Goal::kMaximize;
};

/// Every type of scheduler by its name. `wilcoxon` judges repeats of a configuration (signed_rank.h), never a trial by
/// its reports.
const std::vector<std::string>& SchedulerNames();

/// Whether `trials` are so few that no trial comes to `max` by comparisons alone: why, and what would do.
std::optional<std::string> WhyTooFewTrials(const SchedulerSettings& settings);

/// Errors: Error(kUsage) naming the settings that contradict each other.
std::unique_ptr<Scheduler> MakeScheduler(const SchedulerSettings& settings);

}  // namespace slipway::ensemble
