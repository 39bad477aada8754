#include "ensemble/manager/same_failure.h"

#include <gmock/gmock.h>
#include <signal.h>

namespace slipway::ensemble {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

/// What the runner says of a program that ended with `status` and a log whose last line is `last_line`.
AttemptFacts Ended(ExitStatus status, const std::string& last_line) {
  AttemptFacts facts;
  facts.status = status;
  facts.objective.metric = "loss";
  facts.detail = "rank 0 on n1 ended with " + status.Describe();
  facts.last_line = last_line;
  return facts;
}

AttemptFacts Complete() {
  AttemptFacts facts = Ended({}, "");
  facts.value = 0.5;
  return facts;
}

class Failures : public testing::Test {
 protected:
  void Take(TrialNumber trial, const AttemptFacts& facts) { failures_.Take(trial, facts, Judge(facts)); }
  const std::string& what() const { return failures_.what(); }

  SameFailure failures_{3, false};
};

TEST_F(Failures, AlikeInThreeTrialsEndTheEnsemble) {
  Take(0, Ended({1, 0}, "OSError: cannot read /data/17: No such file"));
  Take(1, Ended({1, 0}, "OSError: cannot read /data/18: No such file"));
  EXPECT_THAT(what(), IsEmpty());
  Take(2, Ended({1, 0}, "OSError: cannot read /data/19: No such file"));
  EXPECT_EQ(what(), "3 trials in a row failed alike: exit status 1: OSError: cannot read /data/19: No such file");
}

TEST_F(Failures, OfOneTrialAreOne) {
  for (int attempt = 0; attempt < 9; ++attempt) Take(0, Ended({1, 0}, "no licence"));
  EXPECT_THAT(what(), IsEmpty());
}

TEST_F(Failures, UnlikeEachOtherAreOfTheParameters) {
  for (int trial = 0; trial < 9; ++trial) Take(trial, Ended({1 + trial % 2, 0}, "out of memory"));
  EXPECT_THAT(what(), IsEmpty());
}

TEST_F(Failures, WithoutAWordAreLikeNoOther) {
  for (int trial = 0; trial < 9; ++trial) Take(trial, Ended({1, 0}, ""));
  EXPECT_THAT(what(), IsEmpty());
}

TEST_F(Failures, AfterATrialThatWorkedAreOfTheParameters) {
  Take(0, Complete());
  for (int trial = 1; trial < 9; ++trial) Take(trial, Ended({1, 0}, "CUDA out of memory"));
  EXPECT_THAT(what(), IsEmpty());
}

TEST_F(Failures, ToRunAtAllCountAlsoAfterATrialThatWorked) {
  Take(0, Complete());
  for (int trial = 1; trial < 4; ++trial) Take(trial, Ended({127, 0}, "sh: 1: python3: not found"));
  EXPECT_THAT(what(), HasSubstr("python3: not found"));
  Take(4, Complete());
  EXPECT_THAT(what(), IsEmpty()) << "it runs again";
}

TEST_F(Failures, ToStartCountFromTheFirstTryOn) {
  for (int trial = 0; trial < 3; ++trial) {
    AttemptFacts facts;
    facts.cause = OutsideCause::kNotStarted;
    facts.start_failed_before = trial == 1;  // a second try has other words
    facts.detail = "cannot create '/runs/" + std::to_string(trial) + "': Permission denied";
    Take(trial, facts);
  }
  EXPECT_THAT(what(), HasSubstr("3 trials in a row failed alike: cannot create"));
}

TEST_F(Failures, ToReportTheObjectiveCountButNotNaN) {
  auto facts = Ended({}, "");
  facts.value = std::numeric_limits<double>::quiet_NaN();
  for (int trial = 0; trial < 3; ++trial) Take(trial, facts);
  EXPECT_THAT(what(), IsEmpty());
  SameFailure failures(3, false);
  facts.detail.clear();
  facts.value.reset();
  for (int trial = 0; trial < 3; ++trial) failures.Take(trial, facts, Judge(facts));
  EXPECT_EQ(failures.what(), "3 trials in a row failed alike: reported no 'loss'");
}

/// Rewording a message changes nothing.
TEST_F(Failures, AreAlikeWhateverTheirReasonsSay) {
  auto facts = Ended({}, "");
  for (int trial = 0; trial < 3; ++trial) {
    auto verdict = Judge(facts);
    verdict.reason = "wording " + std::string(static_cast<std::size_t>(trial) + 1, 'x');
    failures_.Take(trial, facts, verdict);
  }
  EXPECT_THAT(what(), HasSubstr("3 trials in a row failed alike"));
}

TEST_F(Failures, OfTheMachineSayNothing) {
  auto lost = Ended({0, SIGKILL}, "");
  lost.cause = OutsideCause::kNodeLost;
  Take(0, Ended({1, 0}, "no licence"));
  Take(1, lost);
  Take(2, Ended({1, 0}, "no licence"));
  Take(3, Ended({1, 0}, "no licence"));
  EXPECT_THAT(what(), HasSubstr("no licence"));
}

TEST(SameFailure, OfZeroTrialsNeverEndsAnything) {
  SameFailure failures(0, false);
  const auto facts = Ended({127, 0}, "not found");
  for (int trial = 0; trial < 9; ++trial) failures.Take(trial, facts, Judge(facts));
  EXPECT_THAT(failures.what(), IsEmpty());
}

}  // namespace
}  // namespace slipway::ensemble
