/// Selects trials for model ensembles. Their prediction is the weighted average of the members' predictions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ensemble/analysis/scoring.h"

namespace slipway::ensemble {

/// Stored in documents as words.
enum class SelectionMethod {
  kBest,   ///< the best trials by the study's objective, with equal weights
  kGreedy  ///< SelectGreedily
};
WordTable<SelectionMethod> WordsOf(SelectionMethod);

/// A trial that may become a member, with its prepared outputs (Scoring::Prepare). They must outlive the selection.
struct Candidate {
  TrialNumber trial = 0;
  std::span<const float> outputs;
};

struct Member {
  TrialNumber trial = 0;
  int count = 1;      ///< how often it was chosen
  double weight = 1;  ///< count divided by all counts; the weights of all members sum to 1
};

struct Selection {
  std::vector<Member> members;        ///< the heaviest first, equals by number
  double score = 0;                   ///< of the weighted average
  std::vector<double> score_of_size;  ///< after 1, 2, ... choices; empty with bags
};

struct GreedyOptions {
  std::size_t members = 25;  ///< the most different members
  std::size_t steps = 50;    ///< choices, with replacement
  int bags = 0;              ///< 0: choose once from all candidates
  std::uint64_t seed = 1;    ///< of the bags
};

/// The candidate with the best score by itself; the lowest number among equals.
struct Single {
  TrialNumber trial = 0;
  double score = 0;
};
Single BestSingle(std::span<const Candidate> candidates, const Scoring& scoring);

/// The score of the members' weighted average, also by another metric than that of the selection. All members are
/// candidates.
double ScoreOf(std::span<const Member> members, std::span<const Candidate> candidates, const Scoring& scoring);

/// The first `count` candidates with equal weights; all if there are fewer. Needs at least one candidate.
Selection SelectFirst(std::span<const Candidate> candidates, const Scoring& scoring, std::size_t count);

/// Greedy forward selection with replacement. Begins with the best candidates by their own score: as many as score best
/// together, 25 at most. Then repeatedly adds the candidate that makes the average best. The best size on the way is
/// the result; the smaller among equals.
/// With bags, it selects from random halves of the candidates and adds up the choices: this overfits the records less.
/// If the result is worse than the best candidate alone, that candidate is the result.
///
/// Result: never worse than BestSingle on these records; the same for every order of the candidates. The score on the
///         records of the selection is too optimistic: measure it on others.
/// Shape:  at least one candidate.
/// Cost:   candidates * steps passes of Scoring::Score, for each bag half of that; one number for each output.
/// Source: Caruana, Niculescu-Mizil, Crew, Ksikes: "Ensemble selection from libraries of models", ICML 2004.
Selection SelectGreedily(std::span<const Candidate> candidates, const Scoring& scoring,
                         const GreedyOptions& options = {});

}  // namespace slipway::ensemble
