// Failed trials of an ensemble, grouped by what they failed of.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "launcher/cli/explain/explanation.h"

namespace slipway::launcher {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(GroupFailures, PutsTheMostFrequentFirst) {
  const auto groups = GroupFailures({{4, "time limit"}, {9, "failed: exit status 3"}, {2, "failed: exit status 3"}});
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].what, "failed: exit status 3");
  EXPECT_THAT(groups[0].trials, ElementsAre(2, 9));
  EXPECT_THAT(groups[1].trials, ElementsAre(4));
}

TEST(GroupFailures, TakesTheFirstTrialsWordsForAllThatAreAlike) {
  const auto groups = GroupFailures({{9, "no room in /b", "no room in PATH"}, {2, "no room in /a", "no room in PATH"}});
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].what, "no room in /a");
  EXPECT_THAT(groups[0].trials, ElementsAre(2, 9));
}

TEST(GroupFailures, OrdersEqualGroupsByTheirFirstTrial) {
  const auto groups = GroupFailures({{5, "a"}, {1, "b"}});
  EXPECT_EQ(groups[0].what, "b");
  EXPECT_THAT(GroupFailures({}), IsEmpty());
}

RunFacts Ensemble() {
  RunFacts facts;
  facts.state.run = "many-1";
  facts.selector = "many-1";
  facts.state.ensemble = true;
  EndAs(facts.state, Phase::kFailed, cause::TooManyFailures{7});
  facts.trials = {{"complete", 3}, {"failed", 7}};
  std::vector<ensemble::TrialNumber> trials(7);
  std::iota(trials.begin(), trials.end(), 2);
  facts.failures = {{"failed: exit status 3", trials, "KeyError: 'lr'"}};
  return facts;
}

TEST(ExplainTrials, CountsThemAndShowsOneOfEachGroup) {
  const auto explanation = Explain(Ensemble());
  EXPECT_THAT(explanation.because,
              ElementsAre("7 trials failed, more than max_failures", "trials: 3 complete, 7 failed",
                          "7 trials failed: exit status 3 (2, 3, 4, 5, 6, ...)",
                          "  the last words of trial 2: KeyError: 'lr'"));
  EXPECT_THAT(explanation.next,
              ElementsAre("if the cause is in the spec, correct it and start anew: slipway run SPEC",
                          "go on although they failed: slipway resume many-1 --set ensemble.max_failures=N",
                          "read what it wrote: slipway logs many-1 --trial 2"));
}

TEST(ExplainTrials, NamesNoLogOfATrialThatRanOutside) {
  auto facts = Ensemble();
  facts.failures.front().has_folder = false;
  EXPECT_EQ(Explain(facts).next.back(), "see what is known of it: slipway trials show 2 many-1");
}

TEST(ExplainTrials, OffersAnotherPatternWhileNoTrialHasAResult) {
  auto facts = Ensemble();
  facts.trials = {{"failed", 7}};
  facts.failures.front().unreported = "loss";
  facts.failures.front().unmatched.emplace();
  EXPECT_THAT(Explain(facts).next, Contains("if it is in the pattern: slipway trials retry --failed many-1 && slipway "
                                            "resume many-1 --set train.metrics.pattern='PATTERN'"));
  facts.has_results = true;
  EXPECT_THAT(Explain(facts).next, testing::Not(Contains(HasSubstr("train.metrics.pattern"))));
}

TEST(ExplainTrials, EndsAfterTheLargestGroups) {
  auto facts = Ensemble();
  facts.failures.assign(8, {"killed: signal 9 (SIGKILL)", {1}, ""});
  EXPECT_THAT(Explain(facts).because, Contains("and 3 other ways to fail"));
  EXPECT_THAT(Explain(facts).because, Contains("1 trial killed: signal 9 (SIGKILL) (1)"));
}

TEST(ExplainTrials, SayNothingWhereThereAreNone) {
  RunFacts facts;
  EXPECT_THAT(Explain(facts).because, IsEmpty());
}

}  // namespace
}  // namespace slipway::launcher
