#include "launcher/trials/select_models.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <span>

#include "core/files.h"
#include "core/output.h"
#include "ensemble/analysis/selection.h"
#include "launcher/trials/model_ensemble.h"
#include "launcher/trials/trials_library.h"
#include "launcher/trials/trials_view.h"

namespace slipway::launcher {
namespace {

using ensemble::Candidate;
using ensemble::Scoring;
using ensemble::Selection;
using ensemble::SelectionMethod;

constexpr int kUsualTopOfBest = 3;
constexpr std::size_t kNamedOnes = 20;

constexpr auto kTrial = "trial";
constexpr auto kConfiguration = "configuration";

struct Choice {
  std::string by = kTrial;
  SelectionMethod method = SelectionMethod::kGreedy;
  ensemble::GreedyOptions greedy;  ///< `members` also of best
};

Choice ChoiceOf(const SelectModelsOptions& options, std::uint64_t seed) {
  Choice choice;
  choice.by = options.by;
  choice.method = ensemble::ParseSelectionMethod(options.method);
  if (choice.method == SelectionMethod::kBest) choice.greedy.members = kUsualTopOfBest;
  if (options.top) choice.greedy.members = static_cast<std::size_t>(*options.top);
  choice.greedy.steps = std::max(choice.greedy.steps, choice.greedy.members);
  choice.greedy.bags = options.bags;
  choice.greedy.seed = seed;
  return choice;
}

/// The selection, and what it is to be held against.
struct Answer {
  Selection selection;
  ensemble::Single best_single;
  Selection average;  ///< of as many trials, the best by the objective
  Json other_scores;  ///< of the selection, by further metrics that suit
};

Json OtherScores(const Selection& selection, const std::vector<Candidate>& candidates, const Scoring& scoring) {
  Json scores = Json::object();
  for (const auto metric : ensemble::KindredMetrics(scoring.metric())) {
    if (metric == scoring.metric()) continue;
    scores[std::string(ensemble::SelectionMetricName(metric))] =
        ScoreOf(selection.members, candidates, Scoring(scoring.targets(), metric));
  }
  return scores;
}

Answer Select(const std::vector<Candidate>& candidates, const Scoring& scoring, const Choice& choice) {
  Answer answer;
  answer.selection = choice.method == SelectionMethod::kBest
                         ? ensemble::SelectFirst(candidates, scoring, choice.greedy.members)
                         : ensemble::SelectGreedily(candidates, scoring, choice.greedy);
  answer.best_single = ensemble::BestSingle(candidates, scoring);
  answer.average = ensemble::SelectFirst(candidates, scoring, answer.selection.members.size());
  answer.other_scores = OtherScores(answer.selection, candidates, scoring);
  return answer;
}

/// What may become a member: a trial, or the repeats of a configuration that have predictions.
struct Unit {
  std::int64_t number = 0;          ///< of the trial or configuration
  std::vector<std::size_t> trials;  ///< places in the library, the best one first
};

/// In the order of the library. `repeats` trials are one unit.
std::vector<Unit> UnitsOf(const TrialsLibrary& library, int repeats) {
  std::vector<Unit> units;
  for (std::size_t i = 0; i < library.trials.size(); ++i) {
    const auto number = library.trials[i].trial.number / repeats;
    auto unit = std::ranges::find(units, number, &Unit::number);
    if (unit == units.end()) unit = units.insert(unit, Unit{number, {}});
    unit->trials.push_back(i);
  }
  return units;
}

/// The average of the unit's prepared outputs, in the place of those of its first trial.
std::span<const float> Average(TrialsLibrary& library, const Unit& unit) {
  auto& sum = library.predictions[unit.trials.front()].values;
  for (std::size_t i = 1; i < unit.trials.size(); ++i) {
    std::ranges::transform(sum, library.predictions[unit.trials[i]].values, sum.begin(), std::plus());
  }
  const auto share = 1 / static_cast<float>(unit.trials.size());
  if (unit.trials.size() > 1) std::ranges::for_each(sum, [&](float& value) { value *= share; });
  return sum;
}

std::vector<Candidate> Prepare(TrialsLibrary& library, const std::vector<Unit>& units, const Scoring& scoring) {
  for (auto& predictions : library.predictions) scoring.Prepare(predictions);
  std::vector<Candidate> candidates;
  for (const auto& unit : units) candidates.push_back({unit.number, Average(library, unit)});
  return candidates;
}

double MeanObjective(const TrialsLibrary& library, const Unit& unit) {
  double sum = 0;
  for (const auto i : unit.trials) sum += *library.trials[i].trial.objective;
  return sum / static_cast<double>(unit.trials.size());
}

Json MemberDocument(const TrialsLibrary& library, const Unit& unit, const std::string& by) {
  Json member{{by, unit.number}, {"objective", MeanObjective(library, unit)}};
  member["parameters"] = ensemble::ToJson(library.trials[unit.trials.front()].trial.parameters);
  if (by == kTrial) {
    member["folder"] = TrialFolder(unit.number).string();
    return member;
  }
  auto numbers = std::vector<ensemble::TrialNumber>();
  for (const auto i : unit.trials) numbers.push_back(library.trials[i].trial.number);
  std::ranges::sort(numbers);
  member["trials"] = numbers;
  member["folders"] = Json::array();
  for (const auto number : numbers) member["folders"].push_back(TrialFolder(number).string());
  return member;
}

Json MembersDocument(const TrialsLibrary& library, const std::vector<Unit>& units, const Selection& selection,
                     const std::string& by) {
  Json members = Json::array();
  for (const auto& [number, count, weight] : selection.members) {
    members.push_back(MemberDocument(library, *std::ranges::find(units, number, &Unit::number), by));
    members.back()["weight"] = weight;
    members.back()["count"] = count;
  }
  return members;
}

Json DocumentOf(const TrialsLibrary& library, const std::vector<Unit>& units, const Scoring& scoring,
                const Choice& choice, const Answer& answer) {
  Json left_out = Json::array();
  for (const auto& [trial, reason] : library.left_out) left_out.push_back(Json{{"trial", trial}, {"reason", reason}});
  return Json{{"schema", "slipway.ensemble/1"},
              {"by", choice.by},
              {"method", ensemble::SelectionMethodName(choice.method)},
              {"metric", ensemble::SelectionMetricName(scoring.metric())},
              {"goal", GoalName(scoring.goal())},
              {"score", answer.selection.score},
              {"other_scores", answer.other_scores},
              {"members", MembersDocument(library, units, answer.selection, choice.by)},
              {"best_single", {{choice.by, answer.best_single.trial}, {"score", answer.best_single.score}}},
              {"average", {{"members", answer.average.members.size()}, {"score", answer.average.score}}},
              {"score_of_size", answer.selection.score_of_size},
              {"records", library.targets.records},
              {"order", library.targets.order},
              {"candidates", units.size()},
              {"left_out", std::move(left_out)},
              {"inputs", library.Hash()}};
}

/// Complete trials, best first.
std::vector<RankedTrial> BestTrials(const TrialsView& view, int count) {
  auto trials = view.trials;
  std::erase_if(trials, [](const RankedTrial& ranked) { return !ranked.rank; });
  trials.resize(std::min(trials.size(), static_cast<std::size_t>(count)));
  return trials;
}

void WarnOfLeftOut(const TrialsLibrary& library, Output& output) {
  const auto& left_out = library.left_out;
  const std::size_t named = std::min(left_out.size(), kNamedOnes);
  for (std::size_t i = 0; i < named; ++i) {
    output.Warn(fmt::format("trial {} is left out: {}", left_out[i].trial, left_out[i].reason));
  }
  if (left_out.size() > named) output.Warn(fmt::format("{} further trials are left out", left_out.size() - named));
}

}  // namespace

std::filesystem::path FileOf(const SelectModelsOptions& options) {
  return options.out.empty() ? options.run_folder / kModelEnsembleName : options.out;
}

Json SelectModels(const SelectModelsOptions& options, Output& output) {
  const auto view = OpenTrials(options.run_folder);
  const auto choice = ChoiceOf(options, view.study.seed);
  const int repeats = choice.by == kConfiguration ? view.study.repeats : 1;
  auto library = ReadLibrary(options.run_folder, BestTrials(view, options.candidates * repeats));
  WarnOfLeftOut(library, output);
  const Scoring scoring(library.targets, options.metric ? ensemble::ParseSelectionMetric(*options.metric)
                                                        : ensemble::UsualMetric(library.targets, library.predictions));
  const auto units = UnitsOf(library, repeats);
  const auto candidates = Prepare(library, units, scoring);
  const auto answer = Select(candidates, scoring, choice);
  auto document = DocumentOf(library, units, scoring, choice, answer);
  document["objective"] = view.study.objectives.front().metric;
  WriteFileDurably(FileOf(options), document.dump(2) + "\n");
  return document;
}

}  // namespace slipway::launcher
