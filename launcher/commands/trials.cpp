#include "launcher/commands/trials.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/nearest_word.h"
#include "core/output.h"
#include "core/text_table.h"
#include "core/units.h"
#include "launcher/commands/trials_view.h"

namespace slipway::launcher {
namespace {

using ensemble::TrialRecord;

std::string DurationCell(const std::optional<double>& seconds) {
  return seconds ? FormatDuration(Seconds(*seconds)) : "-";
}

std::string Table(const TrialsView& view, const std::vector<RankedTrial>& trials) {
  TextTable table(
      {"rank", "trial", "state", view.study.objectives.front().metric, "parameters", "duration", "attempts"});
  for (const auto& [trial, rank] : trials) {
    table.AddRow({rank ? std::to_string(*rank) : "-", std::to_string(trial.number),
                  std::string(ensemble::TrialStateName(trial.state)), NumberCell(trial.objective),
                  ParametersCell(trial.parameters), DurationCell(DurationOf(trial, view.now)),
                  std::to_string(trial.attempts)});
  }
  return table.Render();
}

std::string Headline(const TrialsView& view) {
  std::string counts;
  const Json document = CountsDocument(view.trials);
  for (const auto& [state, count] : document.items()) {
    counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", count.get<int>(), state);
  }
  return fmt::format("{} of {} trials begun{}{}; {} {}, sampler {}\n", view.trials.size(), view.study.trials,
                     counts.empty() ? "" : ": ", counts, GoalName(view.study.objectives.front().goal),
                     view.study.objectives.front().metric, view.study.sampler);
}

Json ListDocument(const char* schema, const TrialsView& view, const std::vector<RankedTrial>& trials) {
  Json rows = Json::array();
  for (const auto& trial : trials) rows.push_back(TrialDocument(trial, view.now));
  return Json{{"schema", schema},
              {"study", StudyDocument(view.study)},
              {"counts", CountsDocument(view.trials)},
              {"trials", std::move(rows)}};
}

/// Numbers of the trials, one a line.
std::string Brief(const std::vector<RankedTrial>& trials) {
  std::string text;
  for (const auto& ranked : trials) text += std::to_string(ranked.trial.number) + "\n";
  return text;
}

void PrintList(Output& output, const char* schema, const TrialsView& view, const std::vector<RankedTrial>& trials) {
  const Json document = ListDocument(schema, view, trials);
  output.Print({document, Headline(view) + Table(view, trials), Brief(trials)});
}

ensemble::TrialState StateFrom(const std::string& word) {
  const auto state = ensemble::ParseTrialState(word);
  if (state) return *state;
  throw Error(ErrorKind::kUsage,
              fmt::format("unknown state '{}'{}", word, SuggestWord(word, ensemble::TrialStateNames())));
}

void KeepFirst(std::vector<RankedTrial>& trials, int limit) {
  if (limit > 0 && trials.size() > static_cast<std::size_t>(limit)) trials.resize(static_cast<std::size_t>(limit));
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
  TextTable table({"attempt", "state", "exit", "duration", "host", "reason"});
  for (const auto& attempt : attempts) {
    const bool timed = attempt.started && attempt.ended;
    table.AddRow({std::to_string(attempt.number), std::string(ensemble::TrialStateName(attempt.state)),
                  attempt.status ? attempt.status->Describe() : "-",
                  DurationCell(timed ? std::optional(*attempt.ended - *attempt.started) : std::nullopt), attempt.host,
                  attempt.reason});
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

std::string ShowText(const TrialsView& view, const RankedTrial& ranked, const std::filesystem::path& folder,
                     const std::vector<ensemble::AttemptRecord>& attempts,
                     const std::vector<ensemble::MetricRecord>& metrics) {
  const TrialRecord& trial = ranked.trial;
  std::string text = fmt::format("trial {}: {}", trial.number, ensemble::TrialStateName(trial.state));
  if (ranked.rank) text += fmt::format(", rank {}", *ranked.rank);
  if (trial.objective) text += fmt::format(", {} {:.6g}", view.study.objectives.front().metric, *trial.objective);
  if (!trial.reason.empty()) text += " (" + trial.reason + ")";
  text += fmt::format("\nfolder: {}\n", folder.string());
  for (const auto& [name, value] : trial.parameters)
    text += fmt::format("  {} = {}\n", name, ensemble::Describe(value));
  if (!attempts.empty()) text += "\n" + AttemptsTable(attempts);
  if (!metrics.empty()) text += "\n" + MetricsTable(metrics);
  return text;
}

}  // namespace

int TrialsLs(const TrialsLsOptions& options, Output& output) {
  const auto state = options.state ? std::optional(StateFrom(*options.state)) : std::nullopt;
  const TrialsView view = OpenTrials(options.run_folder);
  auto trials = view.trials;
  if (state) std::erase_if(trials, [&](const auto& ranked) { return ranked.trial.state != *state; });
  KeepFirst(trials, options.limit);
  PrintList(output, "slipway.trials/1", view, trials);
  return 0;
}

int TrialsBest(const TrialsBestOptions& options, Output& output) {
  const TrialsView view = OpenTrials(options.run_folder);
  auto trials = view.trials;
  std::erase_if(trials, [](const auto& ranked) { return !ranked.rank; });
  KeepFirst(trials, options.limit);
  PrintList(output, "slipway.trials.best/1", view, trials);
  return 0;
}

int TrialsShow(const TrialsShowOptions& options, Output& output) {
  TrialsView view = OpenTrials(options.run_folder);
  const RankedTrial& ranked = FindTrial(view, options.trial);
  const auto folder = options.run_folder / TrialFolder(options.trial);
  const auto attempts = view.book.Attempts(options.trial);
  const auto metrics = view.book.Metrics(options.trial);
  Json document = TrialDocument(ranked, view.now);
  document["schema"] = "slipway.trials.show/1";
  document["folder"] = folder.string();
  document["attempts"] = AttemptsDocument(attempts);
  document["metrics"] = MetricsDocument(metrics);
  output.Print({document, ShowText(view, ranked, folder, attempts, metrics), folder.string()});
  return 0;
}

}  // namespace slipway::launcher
