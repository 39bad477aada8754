#include "launcher/exports/run_metrics.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/documents.h"
#include "core/error.h"
#include "core/metrics_line.h"
#include "core/parse_utc.h"
#include "ensemble/store/trial_book.h"
#include "launcher/ranks/monitor/line_follower.h"
#include "launcher/spec/secrets.h"

namespace slipway::launcher {
namespace {

Json SpecInPlan(const RunFolder& folder) try {
  return WithoutSecrets(Json::parse(ReadDocument(folder.plan_file())).value("spec", Json()));
} catch (const std::exception&) {  // damaged, or its owner's to read: the metrics are there without it
  return {};
}

Json ArgumentsIn(const Json& spec) {
  const auto train = spec.is_object() ? spec.value("train", Json()) : Json();
  auto args = train.is_object() ? train.value("args", Json()) : Json();
  return args.is_object() ? args : Json::object();
}

std::vector<RunSession> AttemptsOf(const RunFolder& folder, const ExportedRun& run) {
  std::vector<RunSession> sessions;
  for (int attempt = 1; attempt <= run.state.attempt; ++attempt) {
    if (!std::filesystem::exists(folder.attempt(attempt))) continue;
    RunSession session{.trial = {}, .attempt = attempt, .parameters = ArgumentsIn(run.spec), .group = folder.id()};
    const bool is_last = attempt == run.state.attempt;
    session.state = is_last ? PhaseName(run.state.phase) : PhaseName(Phase::kFailed);
    if (is_last) session.started = UnixSecondsIn(run.state.started);
    if (is_last) session.ended = UnixSecondsIn(run.state.ended);
    sessions.push_back(std::move(session));
  }
  return sessions;
}

RunSession SessionOf(const ensemble::TrialRecord& trial, const Json& arguments) {
  auto parameters = arguments;
  parameters.update(ensemble::ToJson(trial.parameters));
  return {.trial = trial.number,
          .attempt = trial.attempts,
          .parameters = std::move(parameters),
          .group = trial.configuration,
          .state = std::string(WordOf(trial.state)),
          .started = trial.started,
          .ended = trial.ended};
}

void AddSessionsOfTrials(const RunFolder& folder, ExportedRun& run) {
  if (!std::filesystem::exists(folder.trial_book())) return;
  auto book = ensemble::TrialBook::OpenForReading(folder.path());
  if (const auto study = book.Study()) run.objectives = study->objectives;
  const auto arguments = ArgumentsIn(run.spec);
  for (const auto& trial : book.Trials()) run.sessions.push_back(SessionOf(trial, arguments));
}

void ForEachOfAttempt(const RunFolder& folder, int attempt, const BytesRead& on_read,
                      const std::function<void(const RunValue&)>& take) {
  MetricsReader reader;
  const auto take_line = [&](std::string_view text) {
    const auto line = reader.Read(text);
    if (!line) return;
    for (const auto& [name, value] : line->values) {
      take({{}, attempt, name, line->step, line->epoch, value, line->time.value_or(0)});
    }
  };
  LineFollower(folder.attempt(attempt) / "metrics.jsonl", take_line, on_read).Finish();
}

}  // namespace

std::string SessionFolder(const RunSession& session) {
  return session.trial ? fmt::format("trial-{:05}", *session.trial) : fmt::format("attempt-{}", session.attempt);
}

ExportedRun ReadExportedRun(const RunFolder& folder) {
  ExportedRun run;
  run.state = folder.ReadState();
  run.tags = RunTagsOrNone(folder);
  run.spec = SpecInPlan(folder);
  if (run.state.ensemble) {
    AddSessionsOfTrials(folder, run);
  } else {
    run.sessions = AttemptsOf(folder, run);
  }
  return run;
}

void ForEachValue(const RunFolder& folder, const ExportedRun& run, const std::function<void(const RunValue&)>& take) {
  if (!run.state.ensemble) {
    for (const auto& session : run.sessions) {
      ForEachOfAttempt(folder, session.attempt, run.on_read, take);
    }
    return;
  }
  if (run.sessions.empty()) return;
  ensemble::TrialBook::OpenForReading(folder.path()).ForEachMetric([&](const ensemble::MetricRecord& metric) {
    take({metric.trial, metric.attempt, metric.name, metric.step, metric.epoch, metric.value, metric.time.value_or(0)});
  });
}

}  // namespace slipway::launcher
