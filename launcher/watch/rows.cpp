#include "launcher/watch/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <tuple>

#include "core/json_text.h"
#include "core/text.h"
#include "launcher/view/accounting.h"
#include "launcher/watch/plot.h"

namespace slipway::launcher::watch {
namespace {

using Order = std::vector<std::size_t>;

std::vector<std::string> WordsIn(const std::string& filter) {
  std::vector<std::string> words;
  for (std::size_t at = 0; (at = filter.find_first_not_of(' ', at)) != std::string::npos;) {
    const auto end = std::min(filter.find(' ', at), filter.size());
    words.push_back(LowerCase(std::string_view(filter).substr(at, end - at)));
    at = end;
  }
  return words;
}

std::string ValueText(const Json& value) {
  return value.is_number_float() ? ShortNumber(value.get<double>()) : PlainText(value);
}

bool HasParameter(const TrialColumns& trials, std::size_t row, const std::string& word) {
  return std::ranges::any_of(trials.parameters, [&](const auto& parameter) {
    return row < parameter.second.size() && !parameter.second[row].is_null() &&
           LowerCase(parameter.first + "=" + ValueText(parameter.second[row])).starts_with(word);
  });
}

std::string TrialText(const TrialColumns& trials, std::size_t row) {
  return LowerCase(fmt::format("{} {} {} {} {}", trials.number[row], trials.state[row], trials.place[row],
                               trials.origin[row], trials.reason[row]));
}

std::string RowText(const WatchData& data, Page page, std::size_t row) {
  if (page == Page::kRuns) {
    const auto& run = data.runs[row];
    return LowerCase(fmt::format("{} {} {} {}", run.id, run.state, run.ensemble ? "ensemble" : "single", run.reason));
  }
  if (page == Page::kSteps) {
    const auto& step = data.workflow->steps[row];
    return LowerCase(fmt::format("{} {} {} {}", step.name, step.kind, step.state, step.reason));
  }
  if (page == Page::kEvents) return LowerCase(data.run->events[row].event + " " + data.run->events[row].text);
  if (page == Page::kRanks) {
    const auto& rank = data.ranks[row];
    return LowerCase(fmt::format("{} {} {} {}", rank.rank, rank.state, rank.steps ? rank.steps->host : "",
                                 rank.straggler ? "straggler" : ""));
  }
  return TrialText(*data.run->trials, row);
}

bool Fits(const WatchData& data, Page page, std::size_t row, const std::vector<std::string>& words) {
  if (words.empty()) return true;
  const auto text = RowText(data, page, row);
  const bool has_parameters = page == Page::kTrials || page == Page::kPlaces;
  return std::ranges::all_of(words, [&](const std::string& word) {
    return text.find(word) != std::string::npos ||
           (has_parameters && word.find('=') != std::string::npos && HasParameter(*data.run->trials, row, word));
  });
}

/// All rows before the filter, in the order of the page.
Order RowsOf(const WatchData& data, Page page) {
  if (page == Page::kPlaces) return data.run && data.run->trials ? data.running : Order();
  std::size_t count = 0;
  if (page == Page::kRuns) count = data.runs.size();
  if (page == Page::kSteps && data.workflow) count = data.workflow->steps.size();
  if (page == Page::kRanks) count = data.ranks.size();
  if (page == Page::kTrials && data.run && data.run->trials) count = data.run->trials->number.size();
  if (page == Page::kEvents && data.run) count = data.run->events.size();
  Order rows(count);
  std::iota(rows.begin(), rows.end(), 0);
  if (page == Page::kEvents) std::ranges::reverse(rows);
  return rows;
}

/// By a number or a text of each row, rows without one last; equal ones stay as they are.
template <class Sorted>
void SortBy(Order& rows, bool reverse, Sorted sorted) {
  using Value = decltype(sorted(std::size_t{}));
  std::vector<std::pair<Value, std::size_t>> keyed;
  keyed.reserve(rows.size());
  for (const auto row : rows) keyed.emplace_back(sorted(row), row);
  std::ranges::stable_sort(keyed, [&](const auto& left, const auto& right) {
    if (!left.first || !right.first) return left.first && !right.first;
    return reverse ? *right.first < *left.first : *left.first < *right.first;
  });
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = keyed[i].second;
}

using Number = std::optional<double>;
using Text = std::optional<std::string>;

/// Columns: rank, number, state, value, seconds, place.
void SortTrials(const WatchData& data, const ListState& list, Order& rows) {
  const auto& trials = *data.run->trials;
  const auto value = [&](std::size_t row) { return trials.value.empty() ? Number() : trials.value[0][row]; };
  if (list.sort == 0) {
    SortBy(rows, list.reverse,
           [&](std::size_t row) { return trials.rank[row] ? Number(*trials.rank[row]) : Number(); });
  }
  if (list.sort == 1) SortBy(rows, list.reverse, [&](std::size_t row) { return Number(trials.number[row]); });
  if (list.sort == 2) SortBy(rows, list.reverse, [&](std::size_t row) { return Text(trials.state[row]); });
  if (list.sort == 3) SortBy(rows, list.reverse, value);
  if (list.sort == 4)
    SortBy(rows, list.reverse, [&](auto row) { return DurationOfTrial(*data.run, row, data.read_at); });
  if (list.sort == 5) SortBy(rows, list.reverse, [&](std::size_t row) { return Text(trials.place[row]); });
}

/// Columns: started (newest first), state, id.
void SortRuns(const WatchData& data, const ListState& list, Order& rows) {
  const auto& runs = data.runs;
  if (list.sort == 0) SortBy(rows, !list.reverse, [&](std::size_t row) { return runs[row].since; });
  if (list.sort == 1) SortBy(rows, list.reverse, [&](std::size_t row) { return Text(runs[row].state); });
  if (list.sort == 2) SortBy(rows, list.reverse, [&](std::size_t row) { return Text(runs[row].id); });
}

/// Columns: state (those that run first), order of the file, name, seconds (the longest first).
void SortSteps(const WatchData& data, const ListState& list, Order& rows) {
  if (!data.workflow) return;
  const auto& steps = data.workflow->steps;
  if (list.sort == 0) SortBy(rows, list.reverse, [&](std::size_t row) { return Number(steps[row].rank); });
  if (list.sort == 1) SortBy(rows, list.reverse, [&](std::size_t row) { return Number(row); });
  if (list.sort == 2) SortBy(rows, list.reverse, [&](std::size_t row) { return Text(steps[row].name); });
  if (list.sort == 3) SortBy(rows, !list.reverse, [&](std::size_t row) { return steps[row].seconds; });
}

/// Columns: rank, step, waiting (the one that waits least first), silence.
void SortRanks(const WatchData& data, const ListState& list, Order& rows) {
  const auto& ranks = data.ranks;
  const auto of = [&](std::size_t row, double RankSteps::*field) {
    return ranks[row].steps ? Number((*ranks[row].steps).*field) : Number();
  };
  if (list.sort == 0) SortBy(rows, list.reverse, [&](std::size_t row) { return Number(ranks[row].rank); });
  if (list.sort == 1) SortBy(rows, !list.reverse, [&](std::size_t row) { return of(row, &RankSteps::step_s); });
  if (list.sort == 2) SortBy(rows, list.reverse, [&](std::size_t row) { return of(row, &RankSteps::wait_s); });
  if (list.sort == 3) SortBy(rows, list.reverse, [&](std::size_t row) { return ranks[row].last_output; });
}

}  // namespace

const std::vector<std::string>& SortsOf(Page page) {
  static const std::vector<std::string> none,
      trials = {"rank", "number", "state", "value", "seconds", "place"}, runs = {"started", "state", "run"},
      steps = {"state", "file", "name", "seconds"}, ranks = {"rank", "step", "wait", "silence"};
  if (page == Page::kTrials || page == Page::kPlaces) return trials;
  if (page == Page::kRuns) return runs;
  if (page == Page::kSteps) return steps;
  return page == Page::kRanks ? ranks : none;
}

bool IsList(Page page) {
  return page == Page::kRuns || page == Page::kSteps || page == Page::kTrials || page == Page::kPlaces ||
         page == Page::kRanks || page == Page::kEvents;
}

std::string KeyOf(const WatchData& data, Page page, std::size_t row) {
  if (page == Page::kRuns && row < data.runs.size()) return data.runs[row].id;
  if (page == Page::kSteps && data.workflow && row < data.workflow->steps.size()) {
    return data.workflow->steps[row].name;
  }
  if (page == Page::kRanks && row < data.ranks.size()) return std::to_string(data.ranks[row].rank);
  if (page == Page::kEvents && data.run) return std::to_string(row + data.run->events_left_out);
  const bool is_trial = (page == Page::kTrials || page == Page::kPlaces) && data.run && data.run->trials;
  return is_trial && row < data.run->trials->number.size() ? std::to_string(data.run->trials->number[row]) : "";
}

std::vector<std::size_t> OrderOf(const WatchData& data, Page page, const ListState& list) {
  auto rows = RowsOf(data, page);
  const auto words = WordsIn(list.filter);
  std::erase_if(rows, [&](std::size_t row) { return !Fits(data, page, row, words); });
  if (page == Page::kTrials || page == Page::kPlaces) {
    if (!rows.empty()) SortTrials(data, list, rows);
  } else if (page == Page::kRuns) {
    SortRuns(data, list, rows);
  } else if (page == Page::kSteps) {
    SortSteps(data, list, rows);
  } else if (page == Page::kRanks) {
    SortRanks(data, list, rows);
  }
  return rows;
}

std::optional<double> DurationOfTrial(const RunView& run, std::size_t row, double now) {
  const auto& trials = *run.trials;
  const auto& started = trials.started[row];
  if (!started) return {};
  if (trials.ended[row]) return std::max(0.0, *trials.ended[row] - *started);
  return IsUnderWay(trials.state[row]) ? std::optional(std::max(0.0, EndOf(run, now) - *started)) : std::nullopt;
}

std::string ParametersOf(const TrialColumns& trials, std::size_t row) {
  std::string text;
  for (const auto& [name, values] : trials.parameters) {
    if (row >= values.size() || values[row].is_null()) continue;
    text += (text.empty() ? "" : " ") + name + "=" + ValueText(values[row]);
  }
  return text;
}

bool IsUnderWay(std::string_view state) { return state == "claimed" || state == "waiting" || state == "running"; }

}  // namespace slipway::launcher::watch
