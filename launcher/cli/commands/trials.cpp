#include "launcher/cli/commands/trials.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "core/error.h"
#include "core/nearest_word.h"
#include "core/output.h"
#include "core/text.h"
#include "core/text_table.h"
#include "core/units.h"
#include "ensemble/manager/requests.h"
#include "launcher/cli/commands/trials_leaderboard.h"
#include "launcher/trials/model_ensemble.h"
#include "launcher/trials/unread_metrics.h"

namespace slipway::launcher {
namespace {

using ensemble::TrialRecord;

std::string DurationCell(const std::optional<double>& seconds) {
  return seconds ? FormatDuration(Seconds(*seconds)) : "-";
}

std::string Headline(const TrialsView& view) {
  const Json document = CountsDocument(view.trials);
  const auto counts = JoinEach(document.items(), ", ", [](const auto& count) {
    return fmt::format("{} {}", count.value().template get<int>(), count.key());
  });
  const auto repeats = view.study.repeats > 1 ? fmt::format(" ({} of each configuration)", view.study.repeats) : "";
  return fmt::format("{} of {} trials begun{}{}{}; {}, sampler {}\n", view.trials.size(),
                     view.study.trials * view.study.repeats, repeats, counts.empty() ? "" : ": ", counts,
                     GoalsText(view.study), view.study.sampler);
}

Json ListDocument(const char* schema, const TrialsView& view, const std::vector<LeaderboardRow>& rows) {
  std::map<ensemble::TrialNumber, std::optional<int>> fronts;
  for (const auto& row : rows) fronts[row.trial.number] = row.front;
  Json trials = Json::array();
  for (const auto& ranked : TrialsOf(view, rows)) {
    trials.push_back(TrialDocument(ranked, view.study, view.now));
    if (const auto front = fronts[ranked.trial.number]) trials.back()["front"] = *front;
  }
  Json document{{"schema", schema},
                {"study", StudyDocument(view.study)},
                {"counts", CountsDocument(view.trials)},
                {"trials", std::move(trials)}};
  if (view.study.repeats > 1) document["configurations"] = ConfigurationsDocument(rows, view.study);
  return document;
}

/// Numbers of the trials, one a line.
std::string Brief(const std::vector<LeaderboardRow>& rows) {
  std::string text;
  for (const auto& row : rows) text += std::to_string(row.trial.number) + "\n";
  return text;
}

struct List {
  const char* schema;
  std::filesystem::path run_folder;
  std::vector<LeaderboardRow> rows;
  std::string remark = {};
};

void Print(Output& output, const TrialsView& view, const List& list) {
  Json document = ListDocument(list.schema, view, list.rows);
  auto text = Headline(view) + list.remark;
  if (const auto models = ReadModelEnsemble(list.run_folder)) {
    document["model_ensemble"] = ToJson(*models);
    text += "model ensemble: " + Describe(*models) + "\n";
  }
  output.Print({document, text + LeaderboardTable(list.rows, view.study, output.Columns()), Brief(list.rows)});
}

ensemble::TrialState StateFrom(const std::string& word) {
  const auto state = FromWord<ensemble::TrialState>(word);
  if (state) return *state;
  throw Error(ErrorKind::kUsage,
              fmt::format("unknown state '{}'{}", word, SuggestWord(word, AllWords<ensemble::TrialState>())));
}

/// Trials in a state, one by one: of a configuration some may be in it and others not.
std::vector<LeaderboardRow> RowsInState(const TrialsView& view, ensemble::TrialState state) {
  std::vector<LeaderboardRow> rows;
  for (const auto& [trial, rank, value] : view.trials) {
    if (trial.state == state) rows.push_back({trial, rank, {}, DurationOf(trial, view.now), {}});
  }
  return rows;
}

/// Until the manager has taken a retry up, its trials are shown as they ended.
std::string RetriesText(const std::filesystem::path& run_folder, const std::string& selector) {
  std::set<ensemble::TrialNumber> trials;
  for (const auto& request : ensemble::WaitingRequests(run_folder)) {
    if (const auto* retry = std::get_if<ensemble::Retry>(&request.what)) {
      trials.insert(retry->trials.begin(), retry->trials.end());
    }
  }
  if (trials.empty()) return {};
  return fmt::format("{} wait{} to run again ({}): slipway resume {}\n", Counted(trials.size(), "trial"),
                     trials.size() == 1 ? "s" : "", fmt::join(trials, ", "), selector);
}

const RankedTrial& FindTrial(const TrialsView& view, std::int64_t number) {
  const auto found = std::find_if(view.trials.begin(), view.trials.end(),
                                  [&](const auto& ranked) { return ranked.trial.number == number; });
  if (found != view.trials.end()) return *found;
  const auto last = static_cast<std::int64_t>(view.trials.size()) - 1;
  throw Error(ErrorKind::kUsage, fmt::format("there is no trial {}", number),
              last < 0 ? "no trial has begun yet" : fmt::format("trials 0 to {} exist", last));
}

std::string AttemptsTable(const std::vector<ensemble::AttemptRecord>& attempts) {
  TextTable table({"attempt", "outcome", "exit", "duration", "host", "reason"});
  for (const auto& attempt : attempts) {
    const bool timed = attempt.started && attempt.ended;
    table.AddRow({std::to_string(attempt.number), OutcomeWords(attempt),
                  attempt.status ? attempt.status->Describe() : "-",
                  DurationCell(timed ? std::optional(*attempt.ended - *attempt.started) : std::nullopt), attempt.host,
                  std::string(FirstLine(attempt.reason))});
  }
  return table.Render();
}

/// The last value of each metric of each attempt.
std::string MetricsTable(const std::vector<ensemble::MetricRecord>& metrics) {
  std::map<std::pair<int, std::string>, const ensemble::MetricRecord*> last;
  for (const auto& metric : metrics) last[{metric.attempt, metric.name}] = &metric;
  TextTable table({"attempt", "metric", "last value", "step", "epoch"});
  for (const auto& [key, metric] : last) {
    table.AddRow({std::to_string(metric->attempt), metric->name, fmt::format("{:.6g}", metric->value),
                  std::to_string(metric->step), NumberCell(metric->epoch)});
  }
  return table.Render();
}

/// "trial 7: complete, rank 2, accuracy 0.91, seconds 31".
std::string StandingText(const TrialsView& view, const RankedTrial& ranked) {
  const TrialRecord& trial = ranked.trial;
  const auto state = WordOf(trial.state);
  auto text = fmt::format("trial {}: {}", trial.number, state);
  if (ranked.rank && view.study.repeats == 1) text += fmt::format(", rank {}", *ranked.rank);
  if (trial.objective) text += fmt::format(", {} {:.6g}", view.study.objectives.front().ValueName(), *trial.objective);
  for (std::size_t i = 0; i < trial.further.size(); ++i) {
    text += fmt::format(", {} {:.6g}", view.study.objectives.at(i + 1).ValueName(), trial.further[i]);
  }
  return trial.reason.empty() ? text : text + " (" + trial.reason + ")";
}

/// "repeat 2 of 3 of configuration 4, rank 1: mean accuracy 0.9, deviation 0.01".
std::string RepeatText(const TrialsView& view, const TrialRecord& trial) {
  const int repeats = view.study.repeats;
  const auto rows = LeaderboardOf(view);
  const auto row = std::ranges::find_if(
      rows, [&](const auto& each) { return each.trial.number / repeats == trial.number / repeats; });
  auto text = fmt::format("repeat {} of {} of configuration {}", trial.repeat + 1, repeats, trial.number / repeats);
  if (row->rank) text += fmt::format(", rank {}", *row->rank);
  if (row->trial.objective) {
    text += fmt::format(": mean {} {:.6g}", view.study.objectives.front().ValueName(), *row->trial.objective);
  }
  if (row->repeats->deviation) text += fmt::format(", deviation {:.3g}", *row->repeats->deviation);
  return text + "\n";
}

/// Where it comes from and what has become of it.
std::string TiesText(const TrialsView& view, const TrialRecord& trial, const std::optional<ModelEnsemble>& models) {
  std::string text;
  if (view.study.repeats > 1) text += RepeatText(view, trial);
  if (trial.parent) text += fmt::format("a varied copy of trial {}\n", *trial.parent);
  const auto weight = models ? WeightOf(*models, trial.number) : std::nullopt;
  if (weight) text += fmt::format("member of the model ensemble with weight {:.3f}\n", *weight);
  return text;
}

std::string ShowText(const TrialsView& view, const RankedTrial& ranked, const std::filesystem::path& run_folder,
                     const std::vector<ensemble::AttemptRecord>& attempts,
                     const std::vector<ensemble::MetricRecord>& metrics) {
  const TrialRecord& trial = ranked.trial;
  auto text = StandingText(view, ranked) + "\n" + TiesText(view, trial, ReadModelEnsemble(run_folder));
  text += fmt::format("folder: {}\n", (run_folder / TrialFolder(trial.number)).string());
  for (const auto& [name, value] : trial.parameters) text += fmt::format("  {} = {}\n", name, ensemble::Brief(value));
  if (!attempts.empty()) text += "\n" + AttemptsTable(attempts);
  if (!metrics.empty()) text += "\n" + MetricsTable(metrics);
  return text;
}

}  // namespace

int TrialsLs(const TrialsLsOptions& options, Output& output) {
  const auto state = options.state ? std::optional(StateFrom(*options.state)) : std::nullopt;
  const TrialsView view = OpenTrials(options.run_folder);
  auto rows = state ? RowsInState(view, *state) : LeaderboardOf(view);
  KeepFirst(rows, options.limit);
  Print(output, view,
        {"slipway.trials/1", options.run_folder, std::move(rows), RetriesText(options.run_folder, options.selector)});
  return 0;
}

int TrialsBest(const TrialsBestOptions& options, Output& output) {
  const TrialsView view = OpenTrials(options.run_folder);
  const bool has_front = view.study.objectives.size() > 1;
  auto rows = BestRows(view, options.limit);
  const char* remark = has_front ? "several objectives: those that no other beats; also: slipway trials pareto\n" : "";
  Print(output, view, {"slipway.trials.best/1", options.run_folder, std::move(rows), remark});
  return 0;
}

int TrialsShow(const TrialsShowOptions& options, Output& output) {
  TrialsView view = OpenTrials(options.run_folder);
  const RankedTrial& ranked = FindTrial(view, options.trial);
  const auto folder = options.run_folder / TrialFolder(options.trial);
  auto attempts = view.book.Attempts(options.trial);
  const bool is_lost = ranked.trial.state == ensemble::TrialState::kLost;
  if (is_lost && !attempts.empty()) attempts.back().state = ranked.trial.state;
  const auto metrics = view.book.Metrics(options.trial);
  Json document = TrialDocument(ranked, view.study, view.now);
  document["schema"] = "slipway.trials.show/1";
  document["folder"] = folder.string();
  document["attempts"] = AttemptsDocument(attempts);
  document["metrics"] = MetricsDocument(metrics);
  const auto all_unread = FindUnreadMetrics(folder, attempts);
  document["unread_metrics"] = ToJson(all_unread);
  for (const auto& unread : all_unread) output.Warn(Describe(unread));
  output.Print({document, ShowText(view, ranked, options.run_folder, attempts, metrics), folder.string()});
  return 0;
}

}  // namespace slipway::launcher
