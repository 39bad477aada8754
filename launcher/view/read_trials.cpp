#include "launcher/view/read_trials.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "ensemble/analysis/importance.h"
#include "ensemble/analysis/ranking.h"
#include "ensemble/space/space.h"
#include "launcher/trials/lost_trials.h"
#include "launcher/trials/model_ensemble.h"
#include "launcher/trials/trials_documents.h"
#include "launcher/view/read_curves.h"

namespace slipway::launcher {
namespace {

using ensemble::StudyRecord;
using ensemble::TrialRecord;

// ---- the study

void TakeBounds(const ensemble::Domain& domain, ParameterView& view) {
  std::visit(
      [&](const auto& kind) {
        if constexpr (requires { kind.low; }) {
          view.low = static_cast<double>(kind.low);
          view.high = static_cast<double>(kind.high);
        } else if constexpr (requires { kind.values; }) {
          for (const auto& value : kind.values) view.values.push_back(ensemble::ToJson(value));
        } else {
          view.values.push_back(ensemble::ToJson(kind.value));
        }
      },
      domain);
}

void TakeStudy(const StudyRecord& study, RunView& view) {
  view.scheduler = study.scheduler;
  view.sampler = study.sampler;
  for (const auto& objective : study.objectives) {
    view.objectives.push_back({objective.metric, objective.ValueName(), objective.ValueGoal()});
  }
  const auto space = ensemble::StoredSpace(study);
  for (const auto& parameter : space.parameters()) {
    ParameterView shown{parameter.name, ensemble::DomainName(parameter.domain), {}, {}, {}};
    TakeBounds(parameter.domain, shown);
    view.space.push_back(std::move(shown));
  }
}

// ---- the trials

std::map<ensemble::TrialNumber, std::string> PlacesOf(const std::vector<ensemble::AttemptRecord>& attempts) {
  std::map<ensemble::TrialNumber, std::string> places;
  for (const auto& attempt : attempts) places[attempt.trial] = attempt.place.empty() ? attempt.host : attempt.place;
  return places;
}

std::vector<TrialSpan> SpansOf(const std::vector<ensemble::AttemptRecord>& attempts) {
  using enum ensemble::TrialState;
  std::vector<TrialSpan> spans;
  for (const auto& attempt : attempts) {
    if (!attempt.started) continue;
    const bool lost = attempt.state == kFailed || attempt.state == kLost || attempt.state == kCancelled;
    spans.push_back({*attempt.started, attempt.ended, attempt.nodes, lost});
  }
  return spans;
}

std::optional<double> ValueOf(const TrialRecord& trial, std::size_t objective) {
  if (objective == 0) return trial.objective;
  return objective <= trial.further.size() ? std::optional(trial.further[objective - 1]) : std::nullopt;
}

Json ParameterOf(const TrialRecord& trial, const std::string& name) {
  const auto* value = ensemble::Find(trial.parameters, name);
  return value != nullptr ? ensemble::ToJson(*value) : Json();
}

void AddRow(const TrialRecord& trial, TrialColumns& columns) {
  columns.number.push_back(trial.number);
  columns.state.emplace_back(WordOf(trial.state));
  for (std::size_t i = 0; i < columns.value.size(); ++i) columns.value[i].push_back(ValueOf(trial, i));
  columns.started.push_back(trial.started);
  columns.ended.push_back(trial.ended);
  columns.attempts.push_back(trial.attempts);
  columns.repeat.push_back(trial.repeat);
  columns.parent.push_back(trial.parent);
  columns.origin.push_back(trial.origin);
  columns.reason.push_back(trial.reason);
  for (auto& [name, values] : columns.parameters) values.push_back(ParameterOf(trial, name));
}

TrialColumns ColumnsOf(const std::vector<TrialRecord>& trials, const RunView& view, TrialPart part) {
  TrialColumns columns;
  columns.value.resize(view.objectives.size());
  for (const auto& parameter : part == TrialPart::kWhole ? view.space : std::vector<ParameterView>()) {
    columns.parameters.push_back({parameter.name, {}});
  }
  for (const auto& trial : trials) AddRow(trial, columns);
  return columns;
}

void TakeRanks(const std::vector<RankedTrial>& ranked, TrialColumns& columns) {
  columns.rank.resize(columns.number.size());
  for (const auto& trial : ranked) {
    const auto row = static_cast<std::size_t>(trial.trial.number);
    if (row < columns.rank.size()) columns.rank[row] = trial.rank;
  }
}

void TakeBest(const std::vector<RankedTrial>& ranked, RunView& view) {
  if (ranked.empty() || !ranked.front().value) return;
  const auto& best = ranked.front();
  view.best = BestValue{view.objectives.front().name, view.objectives.front().goal, *best.value, best.trial.number, {}};
}

/// The time left, if trials go on to end as fast as until now.
std::optional<double> TimeLeft(double ended, double total, double since, double now) {
  if (ended < 1 || ended >= total || now <= since) return {};
  return (total - ended) * (now - since) / ended;
}

void TakeProgress(const std::vector<TrialRecord>& trials, const StudyRecord& study, double now, RunView& view) {
  const auto ended = static_cast<double>(
      std::ranges::count_if(trials, [](const TrialRecord& trial) { return ensemble::IsFinal(trial.state); }));
  const auto total = static_cast<double>(study.trials * study.repeats);
  const bool runs = !HasEnded(view.phase);
  view.progress = WorkDone{ended, total, "trials", runs ? TimeLeft(ended, total, study.created, now) : std::nullopt};
}

// ---- the analysis

void TakeImportance(const StudyRecord& study, std::vector<TrialRecord> trials, RunView& view) try {
  const ensemble::Encoding encoding(ensemble::StoredSpace(study));
  const ensemble::TrialTable table(std::move(trials));
  ensemble::ObservationLog log(encoding, study.objectives.front().ValueGoal());
  const auto shares = ensemble::ImportancesOf(encoding, log.Update(table.size(), table));
  for (const auto& [parameter, share] : shares.parameters) {
    view.importance.push_back({parameter, share.mean, share.low, share.high});
  }
  if (shares.predicted < ensemble::kPredictedEnough) {
    view.warnings.push_back(
        fmt::format("the importance of parameters is a guess: the analysis predicts {:.0f} % of "
                    "the variance of trials that it has not seen",
                    100 * shares.predicted));
  }
} catch (const Error&) {  // too few trials have a value
}

void TakeFront(const StudyRecord& study, const std::vector<TrialRecord>& trials, RunView& view) {
  if (study.objectives.size() < 2) return;
  std::vector<ensemble::Objectives> points;
  std::vector<ensemble::TrialNumber> numbers;
  for (const auto& trial : trials) {
    const bool is_whole = trial.objective && trial.further.size() + 1 == study.objectives.size();
    if (trial.state != ensemble::TrialState::kComplete || !is_whole) continue;
    ensemble::Objectives values = {*trial.objective};
    values.insert(values.end(), trial.further.begin(), trial.further.end());
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (study.objectives[i].ValueGoal() == ensemble::Goal::kMaximize) values[i] = -values[i];
    }
    points.push_back(std::move(values));
    numbers.push_back(trial.number);
  }
  for (const auto& standing : ensemble::OrderByFronts(points)) {
    if (standing.front == 0) view.pareto.push_back(numbers[standing.point]);
  }
  std::ranges::sort(view.pareto);
}

}  // namespace

void AddTrials(const RunFolder& folder, RunView& view, double now, TrialPart part) try {
  if (!std::filesystem::exists(folder.trial_book())) return;
  auto book = ensemble::TrialBook::OpenForReading(folder.path());
  const auto study = book.Study();
  if (!study) return;
  TakeStudy(*study, view);
  auto trials = part == TrialPart::kWhole ? book.Trials() : book.TrialStates();
  MarkLost(folder.path(), trials);
  TakeProgress(trials, *study, now, view);
  view.trials = ColumnsOf(trials, view, part);
  const auto attempts = part == TrialPart::kWhole ? book.Attempts() : book.OpenAttempts();
  if (part == TrialPart::kWhole) view.trial_spans = SpansOf(attempts);
  const auto places = PlacesOf(attempts);
  for (const auto number : view.trials->number) {
    const auto found = places.find(number);
    view.trials->place.push_back(found == places.end() ? "" : found->second);
  }
  const auto ranked = Rank(std::move(trials), study->objectives.front().ValueGoal(), study->repeats);
  TakeRanks(ranked, *view.trials);
  TakeBest(ranked, view);
} catch (const Error& error) {
  view.warnings.push_back(error.message());
}

void AddAnalysis(const RunFolder& folder, RunView& view) try {
  if (!view.trials) return;
  auto book = ensemble::TrialBook::OpenForReading(folder.path());
  const auto study = book.Study();
  if (!study) return;
  auto trials = book.Trials();
  const auto curves = ReadTrialCurves(book, trials.size());
  view.curves = curves.Views();
  if (curves.left_out()) view.warnings.emplace_back("only the first 200 names of metrics are shown");
  TakeFront(*study, trials, view);
  TakeImportance(*study, std::move(trials), view);
  if (const auto models = ReadModelEnsemble(folder.path())) view.selection = ToJson(*models);
} catch (const Error& error) {
  view.warnings.push_back(error.message());
}

}  // namespace slipway::launcher
