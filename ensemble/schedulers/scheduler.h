/// The port of the schedulers: they decide which trials end early, which pause, and which paused trial goes on.
///
/// Words: a trial spends a *resource* (epochs, steps, seconds) and reports a *value* at points of it. A *rung* is a
/// resource at which trials are compared. A trial *enters* it with its first report there or beyond.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/words.h"
#include "ensemble/model/trial_table.h"

namespace slipway::ensemble {

struct Report {
  TrialNumber trial = 0;
  double resource = 0;
  double value = 0;  ///< lower is better, whatever the study's goal; NaN and infinities are worst
};

enum class Decision { kContinue, kStop, kPause };
WordTable<Decision> WordsOf(Decision);

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

/// The state of a scheduler is a function of the reports (the last value of each trial and resource) and of the trials'
/// states. The order of trials among each other makes no difference. So a restored scheduler decides as the one before.
///
/// After a decision to stop or pause, the trial runs until its End. Its reports meanwhile are learnt; further decisions
/// about it have no effect.
/// A retried attempt may repeat resources. Its values replace those before, and decisions already made stay. Rules that
/// compare trials decide again only when it has gone beyond its largest resource before.
class Scheduler {
 public:
  virtual ~Scheduler() = default;

  /// Restores the state from an earlier manager. Call it once, before anything else. `reports`: ordered by (trial,
  /// resource), each pair once. `told`: running trials with a decision to pause or stop; their End is still to come.
  void Restore(const std::vector<Report>& reports, const TrialTable& trials,
               const std::map<TrialNumber, Decision>& told = {});

  /// A trial was imported: it ran elsewhere. Called by Restore before any report or End of the trial.
  virtual void Imported(TrialNumber /*trial*/) {}
  /// Takes a report without a decision.
  virtual void Learn(const Report& report) = 0;
  /// Takes a report and decides about its trial.
  virtual Judgement Take(const Report& report) = 0;
  /// Restores a decision that Take made under an earlier manager about a trial that still runs.
  virtual void Tell(TrialNumber /*trial*/, Decision /*decision*/) {}
  /// An attempt ended. `state`: that of its trial now: final, paused, or queued to run again.
  virtual void End(TrialNumber trial, TrialState state) = 0;

  /// The paused trial that goes on now. Called before a new trial begins; the returned trial counts as claimed.
  virtual std::optional<TrialNumber> Promote() { return std::nullopt; }
  /// The paused trial that goes on when no trial is promoted and no new one will begin. Without it the ensemble would
  /// end with its leaders paused. The returned trial counts as claimed.
  virtual std::optional<TrialNumber> Finish(const TrialTable& /*trials*/) { return std::nullopt; }
  /// Whether the new trial with this number may begin now. If no trial runs and none is promoted, false ends the
  /// ensemble.
  virtual bool MayBegin(TrialNumber /*trial*/) const { return true; }
  /// Whether the stop of a trial that has ended still makes sense. False: no trial can replace it, so it goes on.
  virtual bool MayEnd(TrialNumber /*trial*/) const { return true; }
  /// The parent of the new trial `trial`; nothing: the sampler chooses its parameters.
  virtual std::optional<Descent> Descend(TrialNumber /*trial*/) const { return std::nullopt; }
  /// The resource at which the trial may be paused next: a hint for its program.
  virtual std::optional<double> Limit(TrialNumber /*trial*/) const { return std::nullopt; }
  /// Whether the trial may wait at its resource until Promote returns it.
  virtual bool MayWait(TrialNumber /*trial*/) const { return false; }
};

struct SchedulerSettings {
  std::string type = "none";    ///< one of SchedulerNames()
  double min = 1;               ///< no trial is judged before this resource; the first rung
  std::optional<double> max;    ///< resource of a whole trial, at which its program ends by itself
  int reduction = 3;            ///< asha, hyperband: one in so many goes on from a rung
  double percentile = 50;       ///< percentile: the best `percentile` percent go on
  int patience = 0;             ///< reports without improvement
  std::optional<double> lower;  ///< threshold, in the user's sign
  std::optional<double> upper;
  int startup = 5;         ///< median, percentile: least number of complete trials to compare with
  double quantile = 0.25;  ///< pbt: this part of the population is replaced, and the same part is copied
  double interval = 0;     ///< resource between two checks; 0: every report (pbt needs one)
  double p_value = 0.1;    ///< wilcoxon
  int population = 0;      ///< pbt; 0: as many as run at once
  std::uint64_t seed = 1;
  std::int64_t trials = 1;  ///< the budget
  int parallel = 1;         ///< how many trials run at once
  Goal goal = Goal::kMaximize;
};

/// The names of all types of schedulers. `wilcoxon` judges repeats of a configuration (signed_rank.h), never the
/// reports of a trial.
const std::vector<std::string>& SchedulerNames();

/// Why `trials` are too few for any trial to reach `max` by comparisons alone, and what would suffice. Nothing: they
/// are enough.
std::optional<std::string> WhyTooFewTrials(const SchedulerSettings& settings);

/// Errors: Error(kUsage) naming the settings that contradict each other.
std::unique_ptr<Scheduler> MakeScheduler(const SchedulerSettings& settings);

}  // namespace slipway::ensemble
