#include "launcher/trials/select_models.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

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

struct Choice {
  SelectionMethod method = SelectionMethod::kGreedy;
  ensemble::GreedyOptions greedy;  ///< `members` also of best
};

Choice ChoiceOf(const SelectModelsOptions& options, std::uint64_t seed) {
  Choice choice;
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

std::vector<Candidate> Prepare(TrialsLibrary& library, const Scoring& scoring) {
  std::vector<Candidate> candidates;
  for (std::size_t i = 0; i < library.trials.size(); ++i) {
    scoring.Prepare(library.predictions[i]);
    candidates.push_back({library.trials[i].trial.number, library.predictions[i].values});
  }
  return candidates;
}

const RankedTrial& TrialOf(const TrialsLibrary& library, ensemble::TrialNumber number) {
  return *std::ranges::find(library.trials, number, [](const RankedTrial& ranked) { return ranked.trial.number; });
}

Json MembersDocument(const TrialsLibrary& library, const Selection& selection) {
  Json members = Json::array();
  for (const auto& [trial, count, weight] : selection.members) {
    const auto& ranked = TrialOf(library, trial);
    members.push_back(Json{{"trial", trial},
                           {"weight", weight},
                           {"count", count},
                           {"objective", *ranked.trial.objective},
                           {"parameters", ensemble::ToJson(ranked.trial.parameters)},
                           {"folder", TrialFolder(trial).string()}});
  }
  return members;
}

Json DocumentOf(const TrialsLibrary& library, const Scoring& scoring, const Choice& choice, const Answer& answer) {
  Json left_out = Json::array();
  for (const auto& [trial, reason] : library.left_out) left_out.push_back(Json{{"trial", trial}, {"reason", reason}});
  return Json{{"schema", "slipway.ensemble/1"},
              {"method", ensemble::SelectionMethodName(choice.method)},
              {"metric", ensemble::SelectionMetricName(scoring.metric())},
              {"goal", GoalName(scoring.goal())},
              {"score", answer.selection.score},
              {"other_scores", answer.other_scores},
              {"members", MembersDocument(library, answer.selection)},
              {"best_single", {{"trial", answer.best_single.trial}, {"score", answer.best_single.score}}},
              {"average", {{"members", answer.average.members.size()}, {"score", answer.average.score}}},
              {"score_of_size", answer.selection.score_of_size},
              {"records", library.targets.records},
              {"order", library.targets.order},
              {"candidates", library.trials.size()},
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
  auto library = ReadLibrary(options.run_folder, BestTrials(view, options.candidates));
  WarnOfLeftOut(library, output);
  const Scoring scoring(library.targets, options.metric ? ensemble::ParseSelectionMetric(*options.metric)
                                                        : ensemble::UsualMetric(library.targets, library.predictions));
  const auto candidates = Prepare(library, scoring);
  const auto answer = Select(candidates, scoring, choice);
  auto document = DocumentOf(library, scoring, choice, answer);
  WriteFileDurably(FileOf(options), document.dump(2) + "\n");
  return document;
}

}  // namespace slipway::launcher
