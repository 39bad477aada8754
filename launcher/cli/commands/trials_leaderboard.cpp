#include "launcher/cli/commands/trials_leaderboard.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "core/text.h"
#include "core/text_table.h"
#include "core/units.h"
#include "ensemble/analysis/ranking.h"
#include "ensemble/model/configurations.h"

namespace slipway::launcher {
namespace {

using ensemble::StudyRecord;
using ensemble::TrialNumber;
using ensemble::TrialRecord;
using ensemble::TrialState;

/// The repeats of one configuration, in the order of their numbers.
using Group = std::vector<const TrialRecord*>;

bool IsComplete(const TrialRecord* trial) { return trial->state == TrialState::kComplete && trial->objective; }

/// What can be said of several trials in one word: complete ones count when all are over.
TrialState StateOf(const Group& group) {
  const auto any = [&](TrialState state) { return std::ranges::count(group, state, &TrialRecord::state) > 0; };
  if (any(TrialState::kRunning) || any(TrialState::kClaimed)) return TrialState::kRunning;
  for (const auto* trial : group) {
    if (!ensemble::IsFinal(trial->state)) return trial->state;
  }
  return any(TrialState::kComplete) ? TrialState::kComplete : group.back()->state;
}

std::optional<double> SampleDeviation(const std::vector<double>& values) {
  if (values.size() < 2) return std::nullopt;
  const auto count = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / (count - 1));
}

Repeats RepeatsOf(const Group& group) {
  std::vector<double> values;
  for (const auto* trial : group) {
    if (IsComplete(trial)) values.push_back(*trial->objective);
  }
  Repeats repeats;
  repeats.complete = static_cast<int>(values.size());
  repeats.all = static_cast<int>(group.size());
  if (!values.empty()) {
    const auto [least, most] = std::ranges::minmax(values);
    repeats.least = least;
    repeats.most = most;
  }
  repeats.deviation = SampleDeviation(values);
  return repeats;
}

std::optional<double> MeanSeconds(const Group& group, double now) {
  double sum = 0;
  int count = 0;
  for (const auto* trial : group) {
    const auto seconds = DurationOf(*trial, now);
    if (!IsComplete(trial) || !seconds) continue;
    sum += *seconds;
    ++count;
  }
  return count > 0 ? std::optional(sum / count) : std::nullopt;
}

/// `means` has the values of the configuration.
LeaderboardRow RowOf(const Group& group, const TrialRecord& means, double now) {
  const auto first = std::ranges::find_if(group, IsComplete);
  LeaderboardRow row;
  row.trial = first == group.end() ? *group.front() : **first;
  row.trial.state = StateOf(group);
  row.trial.objective = means.objective;
  row.trial.further = means.further;
  row.trial.attempts = 0;
  for (const auto* trial : group) row.trial.attempts += trial->attempts;
  row.seconds = MeanSeconds(group, now);
  row.repeats = RepeatsOf(group);
  return row;
}

/// In the order of view.trials: a configuration stands where the first of its trials does.
std::vector<LeaderboardRow> RowsOfConfigurations(const TrialsView& view) {
  const auto records = RecordsByNumber(view);
  const ensemble::Configurations configurations(ensemble::TrialTable(records), view.study.repeats);
  std::map<TrialNumber, Group> groups;
  for (const auto& record : records) groups[configurations.Of(record.number)].push_back(&record);
  std::vector<LeaderboardRow> rows;
  for (const auto& [trial, rank, value] : view.trials) {
    const auto group = groups.extract(configurations.Of(trial.number));
    if (group.empty()) continue;
    rows.push_back(RowOf(group.mapped(), configurations.table().at(group.key()), view.now));
    rows.back().rank = rank;
  }
  return rows;
}

std::vector<LeaderboardRow> RowsOfTrials(const TrialsView& view) {
  std::vector<LeaderboardRow> rows;
  for (const auto& [trial, rank, value] : view.trials) {
    rows.push_back({trial, rank, {}, DurationOf(trial, view.now), {}});
  }
  return rows;
}

void FindFronts(std::vector<LeaderboardRow>& rows, const StudyRecord& study) {
  std::vector<LeaderboardRow*> standing;
  std::vector<ensemble::Objectives> points;
  for (auto& row : rows) {
    if (!row.rank || !HasAllValues(row.trial, study)) continue;
    standing.push_back(&row);
    points.push_back(LowerIsBetter(ValuesOf(row.trial), study));
  }
  for (const auto& place : ensemble::OrderByFronts(points)) {
    standing[place.point]->front = static_cast<int>(place.front) + 1;
  }
}

std::string PlaceCell(const std::optional<int>& place) { return place ? std::to_string(*place) : "-"; }

std::string TrialsCell(const LeaderboardRow& row, int repeats) {
  const auto first = row.trial.number / repeats * repeats;
  return fmt::format("{}-{}", first, first + repeats - 1);
}

/// Rows of configurations, not of single trials.
bool HaveRepeats(const std::vector<LeaderboardRow>& rows) { return !rows.empty() && rows.front().repeats; }
bool HasFronts(const StudyRecord& study) { return study.objectives.size() > 1; }

std::vector<std::string> HeaderOf(const StudyRecord& study, bool have_repeats) {
  std::vector<std::string> header = {"rank"};
  if (HasFronts(study)) header.push_back("front");
  header.insert(header.end(), {have_repeats ? "trials" : "trial", "state"});
  for (std::size_t i = 0; i < study.objectives.size(); ++i) {
    header.push_back((have_repeats ? "mean " : "") + study.objectives[i].ValueName());
    if (i == 0 && have_repeats) header.insert(header.end(), {"deviation", "repeats"});
  }
  header.insert(header.end(), {"parameters", "duration", "attempts"});
  return header;
}

std::vector<std::string> CellsOf(const LeaderboardRow& row, const StudyRecord& study) {
  const auto& trial = row.trial;
  std::vector<std::string> cells = {PlaceCell(row.rank)};
  if (HasFronts(study)) cells.push_back(PlaceCell(row.front));
  cells.push_back(row.repeats ? TrialsCell(row, study.repeats) : std::to_string(trial.number));
  cells.emplace_back(WordOf(trial.state));
  cells.push_back(NumberCell(trial.objective));
  if (row.repeats) {
    cells.push_back(NumberCell(row.repeats->deviation));
    cells.push_back(fmt::format("{} of {}", row.repeats->complete, row.repeats->all));
  }
  for (std::size_t i = 0; i + 1 < study.objectives.size(); ++i) {
    cells.push_back(NumberCell(i < trial.further.size() ? std::optional(trial.further[i]) : std::nullopt));
  }
  cells.push_back(ensemble::Describe(trial.parameters));
  cells.push_back(row.seconds ? FormatDuration(Seconds(*row.seconds)) : "-");
  cells.push_back(std::to_string(trial.attempts));
  return cells;
}

Json ConfigurationDocument(const LeaderboardRow& row, const StudyRecord& study) {
  const auto configuration = row.trial.number / study.repeats;
  Json trials = Json::array();
  for (int i = 0; i < row.repeats->all; ++i) trials.push_back(configuration * study.repeats + i);
  const bool any = row.repeats->complete > 0;
  Json document{{"rank", OrNull(row.rank)},
                {"configuration", configuration},
                {"trials", std::move(trials)},
                {"state", WordOf(row.trial.state)},
                {"objectives", ObjectivesDocument(row.trial, study)},
                {"deviation", OrNull(row.repeats->deviation)},
                {"least", any ? Json(row.repeats->least) : Json(nullptr)},
                {"most", any ? Json(row.repeats->most) : Json(nullptr)},
                {"complete", row.repeats->complete},
                {"parameters", ensemble::ToJson(row.trial.parameters)},
                {"duration_s", OrNull(row.seconds)},
                {"attempts", row.trial.attempts}};
  if (HasFronts(study)) document["front"] = OrNull(row.front);
  return document;
}

}  // namespace

std::vector<LeaderboardRow> LeaderboardOf(const TrialsView& view) {
  auto rows = view.study.repeats > 1 ? RowsOfConfigurations(view) : RowsOfTrials(view);
  if (HasFronts(view.study)) FindFronts(rows, view.study);
  return rows;
}

std::string GoalsText(const ensemble::StudyRecord& study) {
  return JoinEach(study.objectives, ", ", [](const ensemble::Objective& objective) {
    return fmt::format("{} {}", WordOf(objective.ValueGoal()), objective.ValueName());
  });
}

std::string LeaderboardTable(const std::vector<LeaderboardRow>& rows, const StudyRecord& study,
                             std::optional<int> columns) {
  TextTable table(HeaderOf(study, HaveRepeats(rows)));
  for (const auto& row : rows) table.AddRow(CellsOf(row, study));
  table.CutToFit("parameters", columns);
  return table.Render();
}

Json ConfigurationsDocument(const std::vector<LeaderboardRow>& rows, const StudyRecord& study) {
  Json list = Json::array();
  for (const auto& row : rows) {
    if (row.repeats) list.push_back(ConfigurationDocument(row, study));
  }
  return list;
}

bool HasAllValues(const TrialRecord& trial, const StudyRecord& study) {
  return trial.objective && trial.further.size() + 1 == study.objectives.size();
}

std::vector<double> LowerIsBetter(std::vector<double> values, const StudyRecord& study) {
  for (std::size_t m = 0; m < values.size(); ++m) {
    if (study.objectives[m].ValueGoal() == ensemble::Goal::kMaximize) values[m] = -values[m];
  }
  return values;
}

std::vector<double> ValuesOf(const TrialRecord& trial) {
  std::vector<double> values = {*trial.objective};
  values.insert(values.end(), trial.further.begin(), trial.further.end());
  return values;
}

void KeepFirst(std::vector<LeaderboardRow>& rows, int limit) {
  if (limit > 0 && rows.size() > static_cast<std::size_t>(limit)) rows.resize(static_cast<std::size_t>(limit));
}

std::vector<LeaderboardRow> BestRows(const TrialsView& view, int limit) {
  const bool has_front = view.study.objectives.size() > 1;
  auto rows = LeaderboardOf(view);
  std::erase_if(rows, [&](const auto& row) { return !row.rank || (has_front && row.front != 1); });
  KeepFirst(rows, limit);
  return rows;
}

std::vector<RankedTrial> TrialsOf(const TrialsView& view, const std::vector<LeaderboardRow>& rows) {
  const int repeats = rows.empty() || !rows.front().repeats ? 1 : view.study.repeats;
  std::map<ensemble::TrialNumber, std::size_t> place;
  for (const auto& row : rows) place.emplace(row.trial.number / repeats, place.size());
  std::vector<RankedTrial> trials;
  for (const auto& ranked : view.trials) {
    if (place.contains(ranked.trial.number / repeats)) trials.push_back(ranked);
  }
  std::ranges::stable_sort(trials, {}, [&](const RankedTrial& each) { return place.at(each.trial.number / repeats); });
  return trials;
}

}  // namespace slipway::launcher
