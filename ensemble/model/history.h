/// What a trial has reported of one metric, over all of its attempts, and which value of it counts.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "ensemble/model/records.h"

namespace slipway::ensemble {

/// A later attempt goes on from a checkpoint, or from the beginning: what it reports from some step on replaces what
/// earlier attempts had reported from there on, and what lies before belongs to its past.
/// Memory: one entry for each reported step, while the trial runs.
class History {
 public:
  explicit History(const Objective& objective) : objective_(objective) {}

  /// The reports that follow are those of another attempt.
  void BeginAttempt() { attempt_has_reported_ = false; }
  /// `elapsed`: seconds that the trial had run by then, in all its attempts.
  void Take(std::int64_t step, double value, double elapsed);

  /// Whether the present attempt has reported.
  bool AttemptHasReported() const { return attempt_has_reported_; }
  /// The value that counts; it may be NaN or infinite. Nothing: nothing was reported, or the goal not reached.
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

}  // namespace slipway::ensemble
