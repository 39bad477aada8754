#include <fmt/format.h>

#include <algorithm>

#include "core/terminal_columns.h"
#include "launcher/watch/draw_parts.h"
#include "launcher/watch/plot.h"
#include "launcher/watch/rows.h"

namespace slipway::launcher::watch {
namespace {

constexpr int kSparkColumns = 12;
constexpr double kMilli = 1e3;
constexpr std::size_t kPlacesMeasured = 100;

std::string Milliseconds(double seconds) { return fmt::format("{:.1f}", kMilli * seconds); }

std::string SparkOf(const WatchData& data, ensemble::TrialNumber trial) {
  const auto found = data.sparks.find(trial);
  return found == data.sparks.end() ? "" : Sparkline(found->second, kSparkColumns);
}

std::string LastOf(const WatchData& data, ensemble::TrialNumber trial) {
  const auto found = data.sparks.find(trial);
  return found == data.sparks.end() || found->second.empty() ? "-" : NumberText(found->second.back());
}

std::string ValueOf(const TrialColumns& trials, std::size_t row) {
  return trials.value.empty() ? "-" : NumberText(trials.value[0][row]);
}

std::vector<TableCell> TrialCells(const Model& model, std::size_t row) {
  const auto& trials = *model.data->run->trials;
  const auto& state = trials.state[row];
  return {{trials.rank[row] ? std::to_string(*trials.rank[row]) : "-"},
          {std::to_string(trials.number[row])},
          {state, StyleOfState(state)},
          {ValueOf(trials, row)},
          {DurationText(DurationOfTrial(*model.data->run, row, model.now))},
          {trials.place[row]},
          {trials.reason[row].empty() ? ParametersOf(trials, row) : trials.reason[row]}};
}

std::vector<TableCell> PlaceCells(const Model& model, std::size_t row) {
  const auto& trials = *model.data->run->trials;
  const auto number = trials.number[row];
  return {{trials.place[row].empty() ? "-" : trials.place[row]},
          {std::to_string(number)},
          {trials.state[row], StyleOfState(trials.state[row])},
          {DurationText(DurationOfTrial(*model.data->run, row, model.now))},
          {LastOf(*model.data, number)},
          {SparkOf(*model.data, number), Style::kAccent},
          {ParametersOf(trials, row)}};
}

/// Columns that the longest place of the first rows takes, from 8 to `most`.
int WidthOfPlaces(const Model& model, const ListState& list, int most) {
  int width = 8;
  for (std::size_t i = 0; i < std::min(kPlacesMeasured, list.order.size()); ++i) {
    width = std::max(width, WidthOf(model.data->run->trials->place[list.order[i]]));
  }
  return std::min(width, most);
}

std::vector<TableCell> RankCells(const Model& model, std::size_t row) {
  const auto& rank = model.data->ranks[row];
  const auto silence = rank.last_output ? std::optional(std::max(0.0, model.now - *rank.last_output)) : std::nullopt;
  const auto remark =
      rank.culprit     ? rank.last_call.empty() ? "holds the others up" : "holds the others up; last: " + rank.last_call
      : rank.straggler ? "the others wait for it"
                       : "";
  const auto of = [&](double RankSteps::*field) -> TableCell {
    return {rank.steps ? Milliseconds((*rank.steps).*field) : "-"};
  };
  return {{std::to_string(rank.rank)},
          {rank.steps ? rank.steps->host : ""},
          {rank.straggler && !rank.culprit ? "others wait" : rank.state, rank.culprit     ? Style::kBad
                                                                         : rank.straggler ? Style::kWarning
                                                                                          : Style::kPlain},
          of(&RankSteps::step_s),
          of(&RankSteps::compute_s),
          of(&RankSteps::wait_s),
          of(&RankSteps::exchange_s),
          of(&RankSteps::input_s),
          {DurationText(silence)},
          {remark, rank.culprit ? Style::kBad : Style::kWarning}};
}

}  // namespace

void DrawRunList(Frame& frame, const Rectangle& place, const Model& model) {
  const auto& data = *model.data;
  const auto cells = [&](std::size_t row) -> std::vector<TableCell> {
    const auto& run = data.runs[row];
    const bool is_timed = run.since && (run.until || !run.ended);
    const auto time =
        is_timed ? std::optional(std::max(0.0, run.until.value_or(model.now) - *run.since)) : std::nullopt;
    return {{run.id},
            {run.state, StyleOfState(run.state)},
            {run.since ? TimeText(*run.since, model.now) : "-"},
            {DurationText(time)},
            {run.workflow   ? "steps"
             : run.ensemble ? "trials"
                            : "single"},
            {run.reason}};
  };
  const int longest = std::clamp(place.columns / 3, 28, 48);
  DrawTable(frame, place,
            {{{"run", longest}, {"state", 10}, {"started", 11}, {"time", 7, true}, {"kind", 6}, {"reason"}},
             cells,
             data.all_runs_read ? "no run fits" : "reading ..."},
            model.list());
}

void DrawSteps(Frame& frame, const Rectangle& place, const Model& model) {
  const auto& workflow = *model.data->workflow;
  frame.Put(place.row, place.column,
            workflow.reason.empty() ? workflow.counts : workflow.counts + ": " + workflow.reason,
            StyleOfState(PhaseName(workflow.phase)), place.columns);
  const auto cells = [&](std::size_t row) -> std::vector<TableCell> {
    const auto& step = workflow.steps[row];
    const auto time = step.since ? std::optional(std::max(0.0, model.now - *step.since)) : step.seconds;
    return {{step.name}, {step.state, StyleOfState(step.state)}, {DurationText(time)}, {step.kind}, {step.reason}};
  };
  const int longest = std::clamp(place.columns / 3, 16, 40);
  DrawTable(frame, {place.row + 1, place.column, place.rows - 1, place.columns},
            {{{"step", longest}, {"state", 9}, {"time", 7, true}, {"kind", 10}, {"why"}}, cells, "no step fits"},
            model.list());
}

void DrawTrials(Frame& frame, const Rectangle& place, const Model& model) {
  const auto& run = *model.data->run;
  const auto value = run.objectives.empty() ? std::string("value") : run.objectives.front().name;
  const int wide = place.columns > 100 ? 20 : 10;
  DrawTable(frame, place,
            {{{"rank", 5, true},
              {"trial", 6, true},
              {"state", 9},
              {value, 11, true},
              {"time", 8, true},
              {"place", wide},
              {"parameters, or why"}},
             [&](std::size_t row) { return TrialCells(model, row); },
             run.trials ? "no trial fits" : "no trial yet"},
            model.list());
}

void DrawPlaces(Frame& frame, const Rectangle& place, const Model& model, const ListState& list) {
  const int wide = WidthOfPlaces(model, list, place.columns / 3);
  DrawTable(frame, place,
            {{{"place", wide},
              {"trial", 6, true},
              {"state", 8},
              {"time", 8, true},
              {"last", 10, true},
              {"", kSparkColumns},
              {"parameters"}},
             [&](std::size_t row) { return PlaceCells(model, row); },
             "no trial is running"},
            list);
}

void DrawRanks(Frame& frame, const Rectangle& place, const Model& model) {
  auto below = place;
  if (!model.data->finding.empty()) {
    frame.Put(below.row, below.column, model.data->finding, Style::kBad, below.columns);
    ++below.row, --below.rows;
  }
  if (!model.data->trace_line.empty()) {
    frame.Put(below.row, below.column, model.data->trace_line, Style::kAccent, below.columns);
    ++below.row, --below.rows;
  }
  DrawTable(frame, below,
            {{{"rank", 5, true},
              {"host", 7},
              {"state", 13},
              {"step ms", 8, true},
              {"compute", 8, true},
              {"wait", 7, true},
              {"exchange", 8, true},
              {"input", 7, true},
              {"silent", 7, true},
              {"remark"}},
             [&](std::size_t row) { return RankCells(model, row); },
             "no rank has begun"},
            model.list());
}

void DrawEvents(Frame& frame, const Rectangle& place, const Model& model) {
  const auto& events = model.data->run->events;
  DrawTable(frame, place,
            {{{"time", 11}, {"event", 20}, {"what"}},
             [&](std::size_t row) -> std::vector<TableCell> {
               return {{TimeText(events[row].time, model.now)},
                       {events[row].event, StyleOfState(events[row].event)},
                       {events[row].text}};
             },
             "no event fits"},
            model.list());
}

}  // namespace slipway::launcher::watch
