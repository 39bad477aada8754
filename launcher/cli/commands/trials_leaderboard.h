/// The lines of `slipway trials ls` and `best`: one for each trial or, with repeats, for each configuration.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/trials/trials_view.h"

namespace slipway::launcher {

/// The complete repeats of a configuration, by the first objective.
struct Repeats {
  int complete = 0;
  int all = 1;
  double least = 0;  ///< least and most are unknown without complete repeats
  double most = 0;
  std::optional<double> deviation;  ///< standard deviation of the sample; needs two complete repeats
};

struct LeaderboardRow {
  /// A trial, or with repeats a configuration. For a configuration, values are means of the complete repeats. Attempts
  /// and times are those of all repeats. The number is that of the first complete one.
  ensemble::TrialRecord trial;
  std::optional<int> rank;         ///< by the first objective, from 1
  std::optional<int> front;        ///< with several objectives: 1 is the Pareto front
  std::optional<double> seconds;   ///< of the latest attempt; with repeats the mean of the complete ones
  std::optional<Repeats> repeats;  ///< nothing: each configuration runs once
};

/// Ranked rows first, then the others by number.
std::vector<LeaderboardRow> LeaderboardOf(const TrialsView& view);

/// Cuts the list to `limit` rows; 0 keeps all.
void KeepFirst(std::vector<LeaderboardRow>& rows, int limit);
/// The ranked rows, with several objectives those of the Pareto front, at most `limit`; 0: all.
std::vector<LeaderboardRow> BestRows(const TrialsView& view, int limit);
/// The trials that the rows stand for, in their order.
std::vector<RankedTrial> TrialsOf(const TrialsView& view, const std::vector<LeaderboardRow>& rows);

/// "minimize loss, maximize accuracy"
std::string GoalsText(const ensemble::StudyRecord& study);
/// The table of `rows`, with all objectives.
/// `columns`: see TextTable::CutToFit.
std::string LeaderboardTable(const std::vector<LeaderboardRow>& rows, const ensemble::StudyRecord& study,
                             std::optional<int> columns);
/// A list with one document for each configuration; rows of single trials are left out.
Json ConfigurationsDocument(const std::vector<LeaderboardRow>& rows, const ensemble::StudyRecord& study);

/// Whether the trial has a value of every objective, and may be on a Pareto front.
bool HasAllValues(const ensemble::TrialRecord& trial, const ensemble::StudyRecord& study);
/// Converts the values of such a trial so that lower is better, and back.
std::vector<double> LowerIsBetter(std::vector<double> values, const ensemble::StudyRecord& study);
/// The values as the program reported them.
std::vector<double> ValuesOf(const ensemble::TrialRecord& trial);

}  // namespace slipway::launcher
