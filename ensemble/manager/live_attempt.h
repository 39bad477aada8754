/// An attempt between its claim and its end, as the manager follows it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "ensemble/manager/verdict.h"
#include "ensemble/model/records.h"
#include "ensemble/store/trial_book.h"

namespace slipway::ensemble {

/// The reports of one metric by all attempts of a trial, and which value counts.
///
/// A later attempt goes on from a checkpoint, or from the beginning. Its first report, at some step, replaces all
/// reports of earlier attempts from that step on. Earlier steps stay.
/// Memory: one entry for each reported step, while the trial runs.
class History {
 public:
  explicit History(const Objective& objective) : objective_(objective) {}

  /// The reports that follow belong to the next attempt.
  void BeginAttempt() { attempt_has_reported_ = false; }
  /// `elapsed`: seconds that the trial had run by then, in all its attempts.
  void Take(std::int64_t step, double value, double elapsed);

  /// Whether the present attempt has reported.
  bool AttemptHasReported() const { return attempt_has_reported_; }
  /// The value that counts; it may be NaN or infinite. Nothing: no report, or Objective::reach was not reached.
  std::optional<double> Value() const;
  /// The best value of the metric itself.
  std::optional<double> BestReported() const;

 private:
  struct Entry {
    double value = 0;
    double elapsed = 0;
  };

  std::optional<double> TimeToReach() const;

  Objective objective_;
  std::map<std::int64_t, Entry> entries_;  // by step
  bool attempt_has_reported_ = false;
};

/// An attempt between its claim and its end, as the manager follows it.
class LiveAttempt {
 public:
  /// Attempt `number` of a trial, without the history of earlier attempts. `objectives` must outlive it.
  LiveAttempt(const std::vector<Objective>& objectives, int number);
  /// Attempt `number`, with the history of the attempts before it and all that the book holds of this one.
  /// Cost: one query for each attempt and objective.
  LiveAttempt(TrialBook& book, TrialNumber trial, int number, const std::vector<Objective>& objectives);

  int number() const { return number_; }
  /// The program begins to run.
  void Start(double now, SteadyTime steady);
  bool started() const { return running_.has_value(); }
  /// When it began, or before that when it was claimed; seconds since 1970.
  double since() const { return started_; }
  void Take(const MetricRecord& metric, double now);

  /// Seconds that this attempt has run, by the steady clock.
  double SecondsUp(SteadyTime now) const;
  /// Seconds that the trial has run, earlier attempts included.
  double Elapsed(SteadyTime now) const;
  bool HasReportedAnEpoch() const { return last_epoch_.has_value(); }
  /// Seconds since it began or last reported. `now`: seconds since 1970.
  double SilentFor(double now) const;
  /// Sets `stop` when the trial has run for `limit` seconds, unless `stop` is set already.
  void HeedTimeLimit(std::optional<double> limit, SteadyTime now);
  /// The value of this attempt's metric, if its last report was at `step`.
  std::optional<double> ValueAt(std::int64_t step, const std::string& metric) const;
  /// Sets the results, one for each objective. From now on they count instead of the reports.
  void Tell(std::vector<double> results) { told_ = std::move(results); }
  /// The value of the first objective: the result set by Tell, else that of the reports. It may be NaN or infinite.
  std::optional<double> Value() const { return ValueOf(0); }
  /// The values of the further objectives; empty when one of them is missing or not finite.
  std::vector<double> Further() const;
  /// The facts that Judge needs. `status`: nothing when the exit status is unknown.
  AttemptFacts Facts(std::optional<ExitStatus> status, StepSource steps = StepSource::kProgram) const;

  std::optional<StopReason> stop;  ///< why it is asked to stop; stored in the book
  std::string stop_detail;
  std::vector<AllocatedNode> place;

 private:
  void LearnEarlier(TrialBook& book, TrialNumber trial, const AttemptRecord& attempt);
  void LearnReports(TrialBook& book, TrialNumber trial, const AttemptRecord& attempt);
  const History& history() const { return histories_.front(); }
  /// Whether the epochs alone tell how far an attempt came.
  bool EpochsDecide(StepSource steps) const;
  bool HasMovedOn(StepSource steps) const;
  /// As the attempt before.
  bool CameAsFar(StepSource steps) const;
  std::optional<double> ValueOf(std::size_t objective) const;
  std::string MissingFurther() const;

  int number_ = 1;
  const std::vector<Objective>& objectives_;
  std::vector<History> histories_;                               // of the objectives, in their order
  std::map<std::string, std::pair<std::int64_t, double>> last_;  // step and value, of this attempt
  std::vector<double> told_;                                     // results set by Tell; empty: none
  std::optional<std::int64_t> last_step_;
  double elapsed_before_ = 0;          // seconds, of earlier attempts
  double started_ = 0;                 // seconds since 1970
  double heard_of_ = 0;                // begin or latest report; seconds since 1970
  std::optional<SteadyTime> running_;  // since
  int losses_ = 0;
  bool start_failed_before_ = false;
  // How the attempt before ended.
  bool goes_on_ = false;  // it was paused or stopped, not failed
  std::optional<ExitStatus> status_before_;
  std::optional<std::int64_t> step_before_;
  std::optional<double> epoch_before_;
  // How far this attempt has come, and how far all earlier ones.
  std::optional<double> last_epoch_;
  std::optional<std::int64_t> furthest_step_before_;
  std::optional<double> furthest_epoch_before_;
};

}  // namespace slipway::ensemble
