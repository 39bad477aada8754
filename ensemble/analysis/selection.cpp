#include "ensemble/analysis/selection.h"

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>

#include "ensemble/search/numbers/draws.h"

namespace slipway::ensemble {
namespace {

constexpr std::size_t kMostAtTheStart = 25;

using Candidates = std::vector<Candidate>;

/// The sum of members' outputs, and how many were added.
class Blend {
 public:
  explicit Blend(std::size_t size) : sums_(size, 0.0) {}

  void Add(const Candidate& candidate, int times = 1) {
    for (std::size_t i = 0; i < sums_.size(); ++i) sums_[i] += times * static_cast<double>(candidate.outputs[i]);
    count_ += times;
  }
  double ScoreWith(const Candidate& candidate, const Scoring& scoring) const {
    return scoring.Score(sums_, candidate.outputs, count_ + 1.0);
  }

 private:
  std::vector<double> sums_;
  int count_ = 0;
};

/// The chosen candidates, in order. scores[k]: the score of the first k + 1.
struct Path {
  std::vector<std::size_t> chosen;
  std::vector<double> scores;
};

/// The index of the best score; the first among equals.
std::size_t BestIndex(const std::vector<double>& scores, Goal goal) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < scores.size(); ++i) {
    if (IsBetter(scores[i], scores[best], goal)) best = i;
  }
  return best;
}

/// Candidates by their own score, best first; equals by number.
Candidates SortedByScore(std::span<const Candidate> candidates, const Scoring& scoring) {
  const double sign = scoring.goal() == Goal::kMaximize ? -1 : 1;
  const Blend nobody(candidates.front().outputs.size());
  std::vector<std::tuple<double, TrialNumber, Candidate>> order;
  for (const auto& candidate : candidates) {
    order.emplace_back(sign * nobody.ScoreWith(candidate, scoring), candidate.trial, candidate);
  }
  std::ranges::sort(order, {}, [](const auto& entry) { return std::pair(std::get<0>(entry), std::get<1>(entry)); });
  Candidates sorted;
  for (const auto& entry : order) sorted.push_back(std::get<2>(entry));
  return sorted;
}

/// The path that adds the first, second, ... candidate.
Path FirstOnes(std::span<const Candidate> candidates, const Scoring& scoring, std::size_t most) {
  Path path;
  Blend blend(candidates.front().outputs.size());
  for (std::size_t i = 0; i < std::min(most, candidates.size()); ++i) {
    path.scores.push_back(blend.ScoreWith(candidates[i], scoring));
    path.chosen.push_back(i);
    blend.Add(candidates[i]);
  }
  return path;
}

/// Which candidates may still be chosen: all, until the limit of different members is reached; then only members.
class Allowance {
 public:
  Allowance(std::size_t candidates, std::size_t most) : is_member_(candidates, 0), left_(most) {}

  bool Allows(std::size_t candidate) const { return left_ > 0 || is_member_[candidate] != 0; }
  void Take(std::size_t candidate) {
    if (is_member_[candidate] == 0) --left_;
    is_member_[candidate] = 1;
  }

 private:
  std::vector<char> is_member_;
  std::size_t left_;
};

std::size_t BestAddition(const Candidates& sorted, const Blend& blend, const Allowance& allowance,
                         const Scoring& scoring, double& score) {
  std::size_t best = sorted.size();
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (!allowance.Allows(i)) continue;
    const double with = blend.ScoreWith(sorted[i], scoring);
    if (best < sorted.size() && !IsBetter(with, score, scoring.goal())) continue;
    best = i;
    score = with;
  }
  return best;
}

Path GreedyPath(const Candidates& sorted, const Scoring& scoring, const GreedyOptions& options) {
  Path path = FirstOnes(sorted, scoring, std::min({options.members, options.steps, kMostAtTheStart}));
  const auto start = BestIndex(path.scores, scoring.goal()) + 1;
  path.chosen.resize(start);
  path.scores.resize(start);
  Blend blend(sorted.front().outputs.size());
  Allowance allowance(sorted.size(), options.members);
  for (const auto i : path.chosen) {
    blend.Add(sorted[i]);
    allowance.Take(i);
  }
  while (path.chosen.size() < options.steps) {
    double score = 0;
    const auto best = BestAddition(sorted, blend, allowance, scoring, score);
    blend.Add(sorted[best]);
    allowance.Take(best);
    path.chosen.push_back(best);
    path.scores.push_back(score);
  }
  return path;
}

using Choices = std::map<std::size_t, int>;  // candidate -> how often it was chosen

Choices ChoicesOf(const Path& path, std::size_t size) {
  Choices counts;
  for (std::size_t k = 0; k < size; ++k) ++counts[path.chosen[k]];
  return counts;
}

Selection SelectionOf(const Choices& counts, std::span<const Candidate> candidates, const Scoring& scoring) {
  Selection selection;
  Blend all_but_one(candidates.front().outputs.size());
  int total = 0;
  for (const auto& [i, count] : counts) {
    selection.members.push_back({candidates[i].trial, count, 0.0});
    all_but_one.Add(candidates[i], i == counts.begin()->first ? count - 1 : count);
    total += count;
  }
  for (auto& member : selection.members) member.weight = static_cast<double>(member.count) / total;
  std::ranges::sort(selection.members, {}, [](const Member& member) { return std::pair(-member.count, member.trial); });
  selection.score = all_but_one.ScoreWith(candidates[counts.begin()->first], scoring);
  return selection;
}

Selection SelectFromAll(const Candidates& sorted, const Scoring& scoring, const GreedyOptions& options) {
  auto path = GreedyPath(sorted, scoring, options);
  const auto best = BestIndex(path.scores, scoring.goal());
  auto selection = SelectionOf(ChoicesOf(path, best + 1), sorted, scoring);
  selection.score = path.scores[best];
  selection.score_of_size = std::move(path.scores);
  return selection;
}

/// Half of all candidates (rounded up), in their order.
std::vector<std::size_t> DrawBag(std::size_t candidates, Draws& draws) {
  std::vector<std::size_t> bag;
  const std::size_t wanted = (candidates + 1) / 2;
  for (std::size_t i = 0; i < candidates; ++i) {
    if (draws.Below(candidates - i) < wanted - bag.size()) bag.push_back(i);
  }
  return bag;
}

/// The `most` candidates that were chosen most often; among equals the better ones by their own score.
Choices MostChosen(const Choices& counts, std::size_t most) {
  std::vector<std::pair<std::size_t, int>> order(counts.begin(), counts.end());
  std::ranges::stable_sort(order, std::greater<>(), &std::pair<std::size_t, int>::second);
  order.resize(std::min(most, order.size()));
  return {order.begin(), order.end()};
}

Selection SelectFromBags(const Candidates& sorted, const Scoring& scoring, const GreedyOptions& options) {
  Choices counts;
  for (int bag = 0; bag < options.bags; ++bag) {
    Draws draws(options.seed, bag, "selection bag");
    const auto drawn = DrawBag(sorted.size(), draws);
    Candidates part;
    for (const auto i : drawn) part.push_back(sorted[i]);
    const auto path = GreedyPath(part, scoring, options);
    const auto size = BestIndex(path.scores, scoring.goal()) + 1;
    for (const auto& [i, count] : ChoicesOf(path, size)) counts[drawn[i]] += count;
  }
  auto selection = SelectionOf(MostChosen(counts, options.members), sorted, scoring);
  auto single = SelectionOf({{0, 1}}, sorted, scoring);
  return IsBetter(single.score, selection.score, scoring.goal()) ? single : selection;
}

}  // namespace

WordTable<SelectionMethod> WordsOf(SelectionMethod) {
  static constexpr Word<SelectionMethod> kWords[] = {{SelectionMethod::kBest, "best"},
                                                     {SelectionMethod::kGreedy, "greedy"}};
  return kWords;
}

Single BestSingle(std::span<const Candidate> candidates, const Scoring& scoring) {
  const auto best = SortedByScore(candidates, scoring).front();
  return {best.trial, Blend(best.outputs.size()).ScoreWith(best, scoring)};
}

double ScoreOf(std::span<const Member> members, std::span<const Candidate> candidates, const Scoring& scoring) {
  Choices counts;
  for (const auto& member : members) {
    const auto candidate = std::ranges::find(candidates, member.trial, &Candidate::trial);
    counts[static_cast<std::size_t>(candidate - candidates.begin())] = member.count;
  }
  return SelectionOf(counts, candidates, scoring).score;
}

Selection SelectFirst(std::span<const Candidate> candidates, const Scoring& scoring, std::size_t count) {
  auto path = FirstOnes(candidates, scoring, count);
  auto selection = SelectionOf(ChoicesOf(path, path.chosen.size()), candidates, scoring);
  selection.score = path.scores.back();
  selection.score_of_size = std::move(path.scores);
  return selection;
}

Selection SelectGreedily(std::span<const Candidate> candidates, const Scoring& scoring, const GreedyOptions& options) {
  const auto sorted = SortedByScore(candidates, scoring);
  return options.bags > 0 ? SelectFromBags(sorted, scoring, options) : SelectFromAll(sorted, scoring, options);
}

}  // namespace slipway::ensemble
