#include "ensemble/analysis/selection.h"

#include <gmock/gmock.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/error.h"

namespace slipway::ensemble {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;
using testing::Pointwise;

Targets Labels(std::vector<std::int64_t> labels) {
  Targets targets;
  targets.path = "targets.npy";
  targets.records = labels.size();
  targets.labels = std::move(labels);
  return targets;
}

Targets Numbers(std::vector<float> values) {
  Targets targets;
  targets.path = "targets.npy";
  targets.records = values.size();
  targets.values = std::move(values);
  return targets;
}

Predictions Outputs(std::size_t records, std::vector<float> values) {
  Predictions predictions;
  predictions.path = "trials/00001/predictions.npy";
  predictions.records = records;
  predictions.outputs = values.size() / records;
  predictions.values = std::move(values);
  return predictions;
}

/// Trials 0, 1, ... with these outputs; keeps them.
class Library {
 public:
  explicit Library(std::vector<std::vector<float>> outputs) : outputs_(std::move(outputs)) {
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      candidates_.push_back({static_cast<TrialNumber>(i), outputs_[i]});
    }
  }
  const std::vector<Candidate>& candidates() const { return candidates_; }

 private:
  std::vector<std::vector<float>> outputs_;
  std::vector<Candidate> candidates_;
};

std::vector<std::pair<TrialNumber, int>> CountsOf(const Selection& selection) {
  std::vector<std::pair<TrialNumber, int>> counts;
  for (const auto& member : selection.members) counts.emplace_back(member.trial, member.count);
  return counts;
}

std::string SelectionErrorOf(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

double Score(const Targets& targets, SelectionMetric metric, const std::vector<float>& outputs) {
  return Scoring(targets, metric).Score(std::vector<double>(outputs.size(), 0.0), outputs, 1);
}

TEST(Scoring, OfKnownPredictions) {
  const auto labels = Labels({0, 1, 1});
  EXPECT_DOUBLE_EQ(Score(labels, SelectionMetric::kAccuracy, {0.9F, 0.1F, 0.5F, 0.5F, 0.25F, 0.75F}), 2.0 / 3);
  EXPECT_NEAR(Score(labels, SelectionMetric::kLogLoss, {1, 0, 0.5F, 0.5F, 0.75F, 0.25F}), std::log(8) / 3, 1e-7);
  EXPECT_NEAR(Score(labels, SelectionMetric::kLogLoss, {0, 1, 0, 1, 0, 1}), -std::log(1e-7) / 3, 1e-6);
  const auto numbers = Numbers({1, 2, 3, 4});
  EXPECT_DOUBLE_EQ(Score(numbers, SelectionMetric::kRmse, {1, 2, 3, 8}), 2);
  EXPECT_DOUBLE_EQ(Score(numbers, SelectionMetric::kMae, {1, 2, 3, 8}), 1);
  EXPECT_DOUBLE_EQ(Score(Labels({1, 2}), SelectionMetric::kMae, {2, 2}), 0.5);
}

TEST(Scoring, AsksForWhatSuitsTheTargets) {
  const auto labels = Labels({0, 1});
  const auto numbers = Numbers({0, 1});
  const std::vector<Predictions> votes = {Outputs(2, {1, 0, 0, 1}), Outputs(2, {0.5F, 0.5F, 0, 1})};
  EXPECT_EQ(UsualMetric(labels, votes), SelectionMetric::kAccuracy);
  EXPECT_EQ(UsualMetric(labels, std::span(votes).subspan(1)), SelectionMetric::kLogLoss);
  EXPECT_EQ(UsualMetric(numbers, votes), SelectionMetric::kRmse);
  EXPECT_THAT(SelectionErrorOf([&] { Scoring(numbers, SelectionMetric::kLogLoss); }),
              HasSubstr("log_loss needs class labels"));
}

TEST(Scoring, RefusesOutputsThatDoNotFitTheTargets) {
  const auto labels = Labels({0, 3});
  const Scoring scoring(labels, SelectionMetric::kAccuracy);
  auto predictions = Outputs(2, {1, 0, 0, 1, 0, 0});
  EXPECT_THAT(SelectionErrorOf([&] { scoring.Prepare(predictions); }),
              testing::AllOf(HasSubstr("'trials/00001/predictions.npy' does not fit 'targets.npy'"),
                             HasSubstr("record 1 has the label 3, there are 3 classes")));
  auto fewer = Outputs(1, {1, 0});
  EXPECT_THAT(SelectionErrorOf([&] { scoring.Prepare(fewer); }), HasSubstr("has 1 records"));
  const auto numbers = Numbers({0, 1});
  auto wide = Outputs(2, {1, 0, 0, 1});
  EXPECT_THAT(SelectionErrorOf([&] { Scoring(numbers, SelectionMetric::kRmse).Prepare(wide); }),
              HasSubstr("2 outputs for each record, 1 targets"));
}

TEST(Probabilities, AreKeptAndLogitsBecomeSome) {
  auto probabilities = Outputs(2, {0.25F, 0.75F, 1, 0});
  MakeProbabilities(probabilities);
  EXPECT_THAT(probabilities.values, ElementsAre(0.25F, 0.75F, 1, 0));
  auto logits = Outputs(2, {0, std::log(3.0F), 1000, 1000});
  MakeProbabilities(logits);
  EXPECT_THAT(logits.values, Pointwise(FloatNear(1e-6F), {0.25F, 0.75F, 0.5F, 0.5F}));
}

TEST(Probabilities, OfOneOutputAreThoseOfTheSecondClass) {
  auto probability = Outputs(2, {0.25F, 1});
  MakeProbabilities(probability);
  EXPECT_EQ(probability.outputs, 2u);
  EXPECT_THAT(probability.values, ElementsAre(0.75F, 0.25F, 0, 1));
  auto logit = Outputs(2, {-std::log(3.0F), 0});
  MakeProbabilities(logit);
  EXPECT_THAT(logit.values, Pointwise(FloatNear(1e-6F), {0.75F, 0.25F, 0.5F, 0.5F}));
}

TEST(GreedySelection, FindsTheWeightsThatCancelErrors) {
  const auto targets = Numbers({0, 0, 0});
  const Library library({{2, 2, 2}, {-1, -1, -1}, {5, 6, 7}});
  const auto selection = SelectGreedily(library.candidates(), Scoring(targets, SelectionMetric::kRmse));
  EXPECT_THAT(CountsOf(selection), ElementsAre(std::pair(1, 2), std::pair(0, 1)));
  EXPECT_DOUBLE_EQ(selection.members[0].weight, 2.0 / 3);
  EXPECT_NEAR(selection.score, 0, 1e-12);
  EXPECT_DOUBLE_EQ(selection.score_of_size[0], 1);
}

TEST(GreedySelection, TakesTheSmallestOfEquallyGoodSizes) {
  const auto targets = Labels({0, 1});
  const Library library({{1, 0, 0, 1}, {1, 0, 0, 1}, {0, 1, 1, 0}});
  const auto selection = SelectGreedily(library.candidates(), Scoring(targets, SelectionMetric::kAccuracy));
  EXPECT_THAT(CountsOf(selection), ElementsAre(std::pair(0, 1)));
  EXPECT_EQ(selection.score, 1);
  EXPECT_EQ(selection.score_of_size.size(), GreedyOptions().steps);
}

TEST(GreedySelection, OfOneCandidateIsThatOne) {
  const auto targets = Numbers({1});
  const Library library(std::vector<std::vector<float>>(1, {3}));
  for (const int bags : {0, 4}) {
    const auto selection =
        SelectGreedily(library.candidates(), Scoring(targets, SelectionMetric::kMae), {25, 50, bags, 1});
    ASSERT_EQ(selection.members.size(), 1u);
    EXPECT_EQ(selection.members[0].weight, 1);
    EXPECT_EQ(selection.score, 2);
  }
}

TEST(FirstSelection, AveragesAsManyAsThereAre) {
  const auto targets = Numbers({0});
  const Library library({{1}, {-2}, {4}});
  const Scoring scoring(targets, SelectionMetric::kMae);
  const auto two = SelectFirst(library.candidates(), scoring, 2);
  EXPECT_THAT(CountsOf(two), ElementsAre(std::pair(0, 1), std::pair(1, 1)));
  EXPECT_DOUBLE_EQ(two.score, 0.5);
  EXPECT_THAT(two.score_of_size, ElementsAre(1, 0.5));
  EXPECT_EQ(SelectFirst(library.candidates(), scoring, 99).members.size(), 3u);
}

TEST(SingleBest, IsTheFirstOfEquals) {
  const auto targets = Numbers({0});
  const Library library({{3}, {-1}, {1}});
  const auto best = BestSingle(library.candidates(), Scoring(targets, SelectionMetric::kMae));
  EXPECT_EQ(best.trial, 1);
  EXPECT_EQ(best.score, 1);
}

/// Small libraries, options and every metric.
struct Case {
  Targets targets;
  std::vector<std::vector<float>> outputs;
  SelectionMetric metric;
  GreedyOptions options;
};

Case DrawCase() {
  Case made;
  const auto records = *rc::gen::inRange<std::size_t>(1, 8);
  const auto trials = *rc::gen::inRange<std::size_t>(1, 9);
  made.metric = static_cast<SelectionMetric>(*rc::gen::inRange(0, 4));
  made.options = {*rc::gen::inRange<std::size_t>(1, 5), *rc::gen::inRange<std::size_t>(1, 12), *rc::gen::inRange(0, 4),
                  *rc::gen::inRange<std::uint64_t>(0, 100)};
  std::vector<std::int64_t> labels;
  for (std::size_t i = 0; i < records; ++i) labels.push_back(*rc::gen::inRange(0, 2));
  made.targets = Labels(labels);
  const bool of_classes = made.metric == SelectionMetric::kAccuracy || made.metric == SelectionMetric::kLogLoss;
  for (std::size_t trial = 0; trial < trials; ++trial) {
    made.outputs.emplace_back();
    for (std::size_t i = 0; i < records; ++i) {
      const auto value = static_cast<float>(*rc::gen::inRange(0, 9)) / 8;
      if (of_classes) made.outputs.back().push_back(1 - value);
      made.outputs.back().push_back(value);
    }
  }
  return made;
}

/// The score of the weighted average, computed anew.
double ScoreOfWeights(const Selection& selection, const Case& made, const Scoring& scoring) {
  std::vector<double> sums(made.outputs[0].size(), 0.0);
  double total = 0;
  for (const auto& member : selection.members) {
    const auto& outputs = made.outputs[static_cast<std::size_t>(member.trial)];
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += member.count * static_cast<double>(outputs[i]);
    total += member.count;
  }
  return scoring.Score(sums, std::vector<float>(sums.size(), 0.0F), total);
}

TEST(GreedySelection, KeepsItsPromises) {
  rc::check([] {
    const auto made = DrawCase();
    const Library library(made.outputs);
    const Scoring scoring(made.targets, made.metric);
    const auto selection = SelectGreedily(library.candidates(), scoring, made.options);
    const auto single = BestSingle(library.candidates(), scoring);
    RC_ASSERT(!IsBetter(single.score, selection.score, scoring.goal()));
    RC_ASSERT(selection.members.size() <= made.options.members);
    double weights = 0;
    for (const auto& member : selection.members) weights += member.weight;
    RC_ASSERT(std::abs(weights - 1) < 1e-12);
    RC_ASSERT(std::abs(ScoreOfWeights(selection, made, scoring) - selection.score) < 1e-9);
    auto shuffled = library.candidates();
    std::ranges::reverse(shuffled);
    const auto again = SelectGreedily(shuffled, scoring, made.options);
    RC_ASSERT(CountsOf(again) == CountsOf(selection));
    RC_ASSERT(again.score == selection.score);
  });
}

}  // namespace
}  // namespace slipway::ensemble
