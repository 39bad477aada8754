#include "launcher/trials/trials_documents.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "core/number_words.h"
#include "core/parse_utc.h"
#include "ensemble/model/configurations.h"

namespace slipway::launcher {
namespace {

using ensemble::TrialRecord;
using ensemble::TrialState;

bool IsRanked(const TrialRecord& trial) { return trial.state == TrialState::kComplete && trial.objective.has_value(); }

Json TimeOrNull(const std::optional<double>& seconds) {
  return seconds ? Json(FormatUtc(WallTimeAt(*seconds))) : Json();
}

/// Means of the complete trials, nothing where there are none; by the number of the configuration.
std::vector<std::optional<double>> ValuesOfConfigurations(const std::vector<TrialRecord>& trials, int repeats) {
  const ensemble::Configurations configurations(ensemble::TrialTable(trials), repeats);
  std::vector<std::optional<double>> values;
  for (const auto& row : configurations.table().trials()) values.push_back(row.objective);
  return values;
}

Json AttemptDocument(const ensemble::AttemptRecord& attempt) {
  return Json{{"attempt", attempt.number},
              {"state", WordOf(attempt.state)},
              {"outcome", attempt.outcome == ensemble::Outcome::kNone ? Json(nullptr) : Json(WordOf(attempt.outcome))},
              {"host", attempt.host},
              {"place", attempt.place},
              {"pid", attempt.process ? Json(attempt.process->pid) : Json(nullptr)},
              {"started", TimeOrNull(attempt.started)},
              {"ended", TimeOrNull(attempt.ended)},
              {"exit_code", attempt.status ? Json(attempt.status->code) : Json(nullptr)},
              {"signal", attempt.status ? Json(attempt.status->signal) : Json(nullptr)},
              {"reason", attempt.reason}};
}

Json MetricDocument(const ensemble::MetricRecord& metric) {
  return Json{{"attempt", metric.attempt},
              {"step", metric.step},
              {"epoch", OrNull(metric.epoch)},
              {"name", metric.name},
              {"value", JsonOf(metric.value)}};
}

}  // namespace

std::vector<RankedTrial> Rank(std::vector<TrialRecord> trials, ensemble::Goal goal, int repeats) {
  const auto values = ValuesOfConfigurations(trials, repeats);
  const auto value = [&](const TrialRecord& trial) { return values[static_cast<std::size_t>(trial.number / repeats)]; };
  std::stable_sort(trials.begin(), trials.end(), [&](const TrialRecord& a, const TrialRecord& b) {
    if (IsRanked(a) != IsRanked(b)) return IsRanked(a);
    return IsRanked(a) && ensemble::IsBetter(*value(a), *value(b), goal);
  });
  std::vector<RankedTrial> ranked;
  int place = 0;
  for (auto& trial : trials) {
    const bool same = !ranked.empty() && ranked.back().trial.number / repeats == trial.number / repeats;
    if (!same) ++place;
    if (!IsRanked(trial)) {
      ranked.push_back({std::move(trial), {}});
      continue;
    }
    const auto mean = value(trial);
    ranked.push_back({std::move(trial), place, mean});
  }
  return ranked;
}

std::optional<double> DurationOf(const TrialRecord& trial, double now) {
  if (!trial.started) return std::nullopt;
  if (trial.ended) return std::max(0.0, *trial.ended - *trial.started);
  if (trial.state == TrialState::kRunning) return std::max(0.0, now - *trial.started);
  return std::nullopt;
}

Json OrNull(const std::optional<double>& number) { return number ? Json(*number) : Json(nullptr); }
Json OrNull(const std::optional<int>& number) { return number ? Json(*number) : Json(nullptr); }

Json ObjectivesDocument(const TrialRecord& trial, const ensemble::StudyRecord& study) {
  Json document{{study.objectives.front().metric, OrNull(trial.objective)}};
  for (std::size_t i = 1; i < study.objectives.size(); ++i) {
    const bool known = i <= trial.further.size();
    document.emplace(study.objectives[i].metric, known ? Json(trial.further[i - 1]) : Json(nullptr));
  }
  return document;
}

std::string OutcomeWords(const ensemble::AttemptRecord& attempt) {
  const bool open = attempt.outcome == ensemble::Outcome::kNone;
  std::string words(open ? WordOf(attempt.state) : WordOf(attempt.outcome));
  std::ranges::replace(words, '_', ' ');
  return words;
}

Json StudyDocument(const ensemble::StudyRecord& study) {
  Json objectives = Json::array();
  for (const auto& objective : study.objectives) {
    objectives.push_back(Json{{"metric", objective.metric},
                              {"goal", WordOf(objective.goal)},
                              {"value", WordOf(objective.counts)},
                              {"reach", OrNull(objective.reach)}});
  }
  return Json{{"objective", study.objectives.front().metric},
              {"goal", WordOf(study.objectives.front().goal)},
              {"objectives", objectives},
              {"trials", study.trials},
              {"repeats", study.repeats},
              {"scheduler", study.scheduler},
              {"sampler", study.sampler},
              {"seed", study.seed},
              {"space", Json::parse(study.space, nullptr, false)}};
}

Json CountsDocument(const std::vector<RankedTrial>& trials) {
  std::map<TrialState, int> counts;
  for (const auto& ranked : trials) ++counts[ranked.trial.state];
  Json document = Json::object();
  for (const auto& [state, count] : counts) document[std::string(WordOf(state))] = count;
  return document;
}

Json TrialDocument(const RankedTrial& ranked, const ensemble::StudyRecord& study, double now) {
  const TrialRecord& trial = ranked.trial;
  return Json{{"rank", OrNull(ranked.rank)},
              {"trial", trial.number},
              {"state", WordOf(trial.state)},
              {"objective", OrNull(trial.objective)},
              {"further", trial.further},
              {"objectives", ObjectivesDocument(trial, study)},
              {"configuration", trial.number / study.repeats},
              {"repeat", trial.repeat},
              {"parent", trial.parent ? Json(*trial.parent) : Json(nullptr)},
              {"origin", trial.origin},
              {"parameters", ensemble::ToJson(trial.parameters)},
              {"duration_s", OrNull(DurationOf(trial, now))},
              {"attempts", trial.attempts},
              {"reason", trial.reason},
              {"created", TimeOrNull(trial.created)},
              {"started", TimeOrNull(trial.started)},
              {"ended", TimeOrNull(trial.ended)}};
}

Json AttemptsDocument(const std::vector<ensemble::AttemptRecord>& attempts) {
  Json list = Json::array();
  for (const auto& attempt : attempts) list.push_back(AttemptDocument(attempt));
  return list;
}

Json MetricsDocument(const std::vector<ensemble::MetricRecord>& metrics) {
  Json list = Json::array();
  for (const auto& metric : metrics) list.push_back(MetricDocument(metric));
  return list;
}

}  // namespace slipway::launcher
