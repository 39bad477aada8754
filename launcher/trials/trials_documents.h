/// The JSON documents of `slipway trials`: pure functions of the rows.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/json.h"
#include "ensemble/model/records.h"

namespace slipway::launcher {

/// A trial with its place on the leaderboard; only complete trials have one.
struct RankedTrial {
  ensemble::TrialRecord trial;
  std::optional<int> rank;           ///< from 1; with repeats that of its configuration
  std::optional<double> value = {};  ///< what it is ranked by: its objective; with repeats the configuration's mean
};

/// Ranks complete trials by objective, then lists all others by number; equal objectives keep the order of their
/// numbers. With repeats the mean of a configuration's complete trials counts. `trials` must be in the order of their
/// numbers.
std::vector<RankedTrial> Rank(std::vector<ensemble::TrialRecord> trials, ensemble::Goal goal, int repeats);

/// Duration of its latest attempt in seconds; until `now` while it runs.
std::optional<double> DurationOf(const ensemble::TrialRecord& trial, double now);

Json OrNull(const std::optional<double>& number);
Json OrNull(const std::optional<int>& number);

Json StudyDocument(const ensemble::StudyRecord& study);
/// The values of all objectives by metric; null when a value is missing.
Json ObjectivesDocument(const ensemble::TrialRecord& trial, const ensemble::StudyRecord& study);
/// The number of trials in each state that occurs.
Json CountsDocument(const std::vector<RankedTrial>& trials);
Json TrialDocument(const RankedTrial& ranked, const ensemble::StudyRecord& study, double now);
/// "complete", "out of memory", "manager lost"; for an attempt that has not ended, its state.
std::string OutcomeWords(const ensemble::AttemptRecord& attempt);
/// A list.
Json AttemptsDocument(const std::vector<ensemble::AttemptRecord>& attempts);
/// A list. Values that JSON cannot hold are "NaN", "Infinity" or "-Infinity".
Json MetricsDocument(const std::vector<ensemble::MetricRecord>& metrics);

}  // namespace slipway::launcher
