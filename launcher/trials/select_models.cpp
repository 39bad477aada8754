#include "launcher/trials/select_models.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/files.h"
#include "core/fnv1a.h"
#include "core/nearest_word.h"
#include "core/output.h"
#include "ensemble/analysis/predictions.h"
#include "ensemble/analysis/selection.h"
#include "launcher/trials/model_ensemble.h"
#include "launcher/trials/trials_documents.h"
#include "launcher/trials/trials_view.h"

namespace slipway::launcher {
namespace {

namespace fs = std::filesystem;

using ensemble::Candidate;
using ensemble::Predictions;
using ensemble::Scoring;
using ensemble::Selection;
using ensemble::SelectionMethod;
using ensemble::Targets;

struct LeftOut {
  ensemble::TrialNumber trial = 0;
  std::string reason;
};

/// The predictions that the trials of an ensemble have left behind.
struct TrialsLibrary {
  ensemble::Targets targets;
  std::vector<RankedTrial> trials;                 ///< in the order given
  std::vector<ensemble::Predictions> predictions;  ///< of each of `trials`
  std::vector<LeftOut> left_out;

  /// Changes when any byte of a file, or the set of trials, does.
  std::string Hash() const {
    std::string text = fmt::format("targets {} {:08x} {}\n", targets.records, targets.crc, targets.order);
    for (std::size_t i = 0; i < trials.size(); ++i) {
      text += fmt::format("{} {:08x} {}\n", trials[i].trial.number, predictions[i].crc, predictions[i].order);
    }
    return fmt::format("{:016x}", Fnv1a64(text));
  }
};

constexpr const char* kLibraryTargets = "targets.npy";

/// Where a trial's targets must be those of the trials before it.
void RequireSameTargets(const Targets& targets, const Targets& known) {
  if (targets.crc == known.crc && targets.records == known.records && targets.order == known.order) return;
  throw Error(ErrorKind::kEnvironment, fmt::format("'{}' and '{}' differ", known.path.string(), targets.path.string()),
              "let all trials predict the same validation records in the same order");
}

/// Why a trial cannot be read; its predictions, and its targets when the run has none, when it can.
struct Found {
  std::optional<Predictions> predictions;
  std::optional<Targets> targets;
  std::string reason;
};

Found ReadTrial(const fs::path& folder, bool with_targets) {
  for (const char* name : {"predictions.npy", kLibraryTargets}) {
    const bool needed = with_targets || name != kLibraryTargets;
    if (needed && !fs::exists(folder / name)) return {{}, {}, fmt::format("it has no {}", name)};
  }
  Found found;
  try {
    if (with_targets) found.targets = ensemble::ReadTargets(folder / kLibraryTargets);
    found.predictions = ensemble::ReadPredictions(folder / "predictions.npy");
  } catch (const Error& error) {
    found.reason = error.message();
  }
  return found;
}

[[noreturn]] void RefuseEmpty(const TrialsLibrary& library) {
  const auto& left_out = library.left_out;
  const auto example = left_out.empty() ? "" : fmt::format("; trial {}: {}", left_out[0].trial, left_out[0].reason);
  throw Error(ErrorKind::kUsage, fmt::format("no complete trial has predictions to select by{}", example),
              "let the program write predictions.npy and targets.npy into $SLIPWAY_RUN_DIR: "
              "docs/how-to/average-the-best-models.md");
}

/// Reads predictions.npy of each trial, and targets.npy of the run folder or, where it has none, of each trial.
/// Cost:   memory of all predictions.
/// Errors: Error(kEnvironment): damaged targets in the run folder, trials whose own targets differ; Error(kUsage) when
///         no trial has predictions, saying how a program hands them over. What is wrong with one trial leaves it out.
TrialsLibrary ReadLibrary(const fs::path& run_folder, const std::vector<RankedTrial>& trials) {
  TrialsLibrary library;
  const bool run_has_targets = fs::exists(run_folder / kLibraryTargets);
  if (run_has_targets) library.targets = ensemble::ReadTargets(run_folder / kLibraryTargets);
  for (const auto& ranked : trials) {
    auto found = ReadTrial(run_folder / TrialFolder(ranked.trial.number), !run_has_targets);
    if (!found.predictions) {
      library.left_out.push_back({ranked.trial.number, std::move(found.reason)});
      continue;
    }
    if (found.targets && !library.trials.empty()) RequireSameTargets(*found.targets, library.targets);
    if (found.targets && library.trials.empty()) library.targets = std::move(*found.targets);
    library.trials.push_back(ranked);
    library.predictions.push_back(std::move(*found.predictions));
  }
  if (library.trials.empty()) RefuseEmpty(library);
  return library;
}

constexpr int kUsualTopOfBest = 3;
constexpr std::size_t kNamedOnes = 20;

constexpr auto kTrial = "trial";
constexpr auto kConfiguration = "configuration";

struct Choice {
  std::string by = kTrial;
  SelectionMethod method = SelectionMethod::kGreedy;
  ensemble::GreedyOptions greedy;  ///< `members` also of best
};

template <HasWords Enum>
Enum ParseWord(std::string_view noun, std::string_view word) {
  if (const auto value = FromWord<Enum>(word)) return *value;
  throw Error(ErrorKind::kUsage, fmt::format("unknown {} '{}'{}", noun, word, SuggestWord(word, AllWords<Enum>())));
}

Choice ChoiceOf(const SelectModelsOptions& options, std::uint64_t seed) {
  Choice choice;
  choice.by = options.by;
  choice.method = ParseWord<SelectionMethod>("method", options.method);
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
    scores[std::string(WordOf(metric))] = ScoreOf(selection.members, candidates, Scoring(scoring.targets(), metric));
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
              {"method", WordOf(choice.method)},
              {"metric", WordOf(scoring.metric())},
              {"goal", WordOf(scoring.goal())},
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
  const Scoring scoring(library.targets, options.metric
                                             ? ParseWord<ensemble::SelectionMetric>("metric", *options.metric)
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
