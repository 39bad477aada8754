/// Which trials together predict best: model ensembles whose prediction is the weighted average of their members'.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ensemble/analysis/scoring.h"

namespace slipway::ensemble {

/// Stored in documents as words: "best", "greedy".
enum class SelectionMethod {
  kBest,   ///< the best trials by the study's objective, each counts alike
  kGreedy  ///< SelectGreedily
};
std::string_view SelectionMethodName(SelectionMethod method);
/// Errors: Error(kUsage) naming the nearest word.
SelectionMethod ParseSelectionMethod(std::string_view word);
/// In the order of the enum.
const std::vector<std::string>& SelectionMethodNames();

/// A trial that may become a member: its prepared outputs (Scoring::Prepare), which must outlive the selection.
struct Candidate {
  TrialNumber trial = 0;
  std::span<const float> outputs;
};

struct Member {
  TrialNumber trial = 0;
  int count = 1;      ///< how often it was chosen
  double weight = 1;  ///< count over all counts; those of all members sum to 1
};

struct Selection {
  std::vector<Member> members;        ///< the heaviest first, equals by number
  double score = 0;                   ///< of the weighted average
  std::vector<double> score_of_size;  ///< of 1, 2, ... members, counted as often as they were chosen
};

struct GreedyOptions {
  std::size_t members = 25;  ///< at most so many different ones
  std::size_t steps = 50;    ///< choices, with replacement
  int bags = 0;              ///< 0: choose once from all candidates
  std::uint64_t seed = 1;    ///< of the bags
};

/// The candidate with the best score by itself, the lowest number among equals.
struct Single {
  TrialNumber trial = 0;
  double score = 0;
};
Single BestSingle(std::span<const Candidate> candidates, const Scoring& scoring);

/// The score of the members' weighted average, by another metric than they were selected by. All are candidates.
double ScoreOf(std::span<const Member> members, std::span<const Candidate> candidates, const Scoring& scoring);

/// The first `count` candidates, each counting alike; fewer when there are not so many. At least one candidate.
Selection SelectFirst(std::span<const Candidate> candidates, const Scoring& scoring, std::size_t count);

/// Greedy forward selection with replacement: begins with the best few by their own score (as many as score best
/// together, 25 at most), then adds, again and again, whoever makes the average best; the best size on the way wins,
/// the smaller among equals. With bags this is done in random halves of the candidates and the choices are added up,
/// which fits the selection records less closely; where that is worse than the best candidate alone, that one is the
/// result.
///
/// Result: never worse than BestSingle on these records; the same for every order of the candidates. Scores of the
///         records that it was selected on flatter: judge it on others.
/// Shape:  at least one candidate.
/// Cost:   candidates * steps passes of Scoring::Score, for each bag half of that; one number for each output.
/// Source: Caruana, Niculescu-Mizil, Crew, Ksikes: "Ensemble selection from libraries of models", ICML 2004.
Selection SelectGreedily(std::span<const Candidate> candidates, const Scoring& scoring,
                         const GreedyOptions& options = {});

}  // namespace slipway::ensemble
