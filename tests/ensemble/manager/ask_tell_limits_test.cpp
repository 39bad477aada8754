// Trials that are given out and not told: time limits, silence, retries; and what a trial begins with and may spend.

#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "ensemble/manager/ask_tell.h"
#include "ensemble/manager/ask_tell_lines.h"
#include "tests/ensemble/hand_clock.h"
#include "tests/support/temp_directory.h"

namespace slipway::ensemble {
namespace {

using std::chrono::minutes;
using testing::HasSubstr;

EnsembleOptions LimitedOptions(std::int64_t trials = 4) {
  EnsembleOptions options;
  options.objectives = {{"loss", Goal::kMinimize}};
  options.trials = trials;
  options.sampler = "random";
  options.space = ParseSpace(Json::parse(R"({"x":{"uniform":[-2,2]}})"));
  return options;
}

class AskTellLimits : public testing::Test {
 protected:
  AskTell& Open(const EnsembleOptions& options, LossRules rules = {}) {
    session_.reset();
    book_.reset();
    book_.emplace(TrialBook::OpenForWriting(folder_.path()));
    session_.emplace(*book_, options, rules, clock_);
    return *session_;
  }
  AskedTrial Ask() { return std::get<AskedTrial>(session_->Ask()); }
  ToldReport Loss(double value, std::int64_t step = 1) { return {step, {}, {{"loss", value}}}; }
  TrialRecord Stored(TrialNumber trial) { return TrialBook::OpenForReading(folder_.path()).Trials().at(trial); }
  AttemptRecord StoredAttempt(TrialNumber trial, std::size_t attempt) {
    return TrialBook::OpenForReading(folder_.path()).Attempts(trial).at(attempt);
  }
  std::string ErrorOf(const std::function<void()>& action) {
    try {
      action();
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }

  test::TempDirectory folder_;
  HandClock clock_;
  std::optional<TrialBook> book_;
  std::optional<AskTell> session_;
};

EnsembleOptions WithTimeLimit() {
  auto options = LimitedOptions();
  options.trial_time_limit = 1800;
  return options;
}

TEST_F(AskTellLimits, ATrialThatIsOutForTooLongHasTimedOut) {
  Open(WithTimeLimit());
  EXPECT_EQ(Ask().trial, 0);
  clock_.Sleep(minutes(20));
  EXPECT_EQ(Ask().trial, 1);
  EXPECT_EQ(Stored(0).state, TrialState::kRunning);
  clock_.Sleep(minutes(10));
  EXPECT_EQ(Ask().trial, 2);
  EXPECT_EQ(Stored(0).state, TrialState::kFailed);
  EXPECT_EQ(StoredAttempt(0, 0).outcome, Outcome::kTimedOut);
  EXPECT_EQ(Stored(1).state, TrialState::kRunning);
  EXPECT_THAT(ErrorOf([&] { session_->Tell(0, ToldResults{{1}}); }),
              HasSubstr("trial 0 does not run: it is failed (time limit: 30m"));
  EXPECT_EQ(session_->Tell(1, ToldResults{{1}}).state, TrialState::kComplete);
}

TEST_F(AskTellLimits, AResultThatComesBeforeAnybodyNoticedCounts) {
  Open(WithTimeLimit());
  Ask();
  clock_.Sleep(minutes(40));
  EXPECT_EQ(session_->Tell(0, ToldResults{{1}}).state, TrialState::kComplete);
}

TEST_F(AskTellLimits, AReportBeyondTheTimeLimitIsAnsweredWithStop) {
  Open(WithTimeLimit());
  Ask();
  EXPECT_EQ(session_->Report(0, Loss(1)).decision, Decision::kContinue);
  clock_.Sleep(minutes(31));
  const auto advice = session_->Report(0, Loss(1, 2));
  EXPECT_EQ(advice.decision, Decision::kStop);
  EXPECT_EQ(advice.reason, "time limit: 30m00s");
  EXPECT_EQ(StoredAttempt(0, 0).stop, StopReason::kTrialTimeLimit);
  EXPECT_EQ(session_->Tell(0, ToldResults{{1}}).state, TrialState::kFailed);
  EXPECT_EQ(StoredAttempt(0, 0).outcome, Outcome::kTimedOut);
}

TEST_F(AskTellLimits, TheTimeOfEarlierSessionsCounts) {
  Open(WithTimeLimit());
  Ask();
  clock_.Sleep(minutes(29));
  Open(WithTimeLimit());
  EXPECT_EQ(Ask().trial, 1);
  clock_.Sleep(minutes(2));
  Open(WithTimeLimit());
  EXPECT_EQ(Ask().trial, 2);
  EXPECT_EQ(Stored(0).state, TrialState::kFailed);
}

TEST_F(AskTellLimits, WithoutALimitATrialMayBeOutForEver) {
  Open(LimitedOptions());
  Ask();
  clock_.Sleep(std::chrono::hours(24 * 365));
  Ask();
  EXPECT_EQ(Stored(0).state, TrialState::kRunning);
}

TEST_F(AskTellLimits, ASilentTrialIsGivenOutAgain) {
  Open(LimitedOptions(), {Unfinished::kKeep, 600});
  Ask();
  Ask();
  clock_.Sleep(minutes(9));
  session_->Report(1, Loss(0.5));  // a sign of life
  clock_.Sleep(minutes(2));
  const auto again = Ask();
  EXPECT_EQ(again.trial, 0);
  EXPECT_EQ(again.attempt, 2);
  EXPECT_EQ(StoredAttempt(0, 0).state, TrialState::kLost);
  EXPECT_EQ(StoredAttempt(0, 0).reason, "nothing was heard of it for 10m00s");
  EXPECT_EQ(Stored(0).failures, 0);
  EXPECT_THAT(ErrorOf([&] { session_->Tell(0, ToldResults{{1}}, 1); }), HasSubstr("attempt 1 of trial 0"));
  EXPECT_EQ(session_->Tell(0, ToldResults{{1}}, 2).state, TrialState::kComplete);
  EXPECT_EQ(session_->Tell(1, ToldResults{{1}}).state, TrialState::kComplete);
}

TEST_F(AskTellLimits, SilenceIsCountedAcrossSessions) {
  Open(LimitedOptions(), {Unfinished::kKeep, 600});
  Ask();
  clock_.Sleep(minutes(8));
  Open(LimitedOptions(), {Unfinished::kKeep, 600}).Report(0, Loss(0.5));
  clock_.Sleep(minutes(8));
  Open(LimitedOptions(), {Unfinished::kKeep, 600});
  EXPECT_EQ(Ask().trial, 1);
  clock_.Sleep(minutes(3));
  Open(LimitedOptions(), {Unfinished::kKeep, 600});
  EXPECT_EQ(Ask().trial, 0);
}

TEST_F(AskTellLimits, AToldFailureIsTriedAgainWhileRetriesAreLeft) {
  auto options = LimitedOptions();
  options.retries = 1;
  Open(options);
  const auto first = Ask();
  EXPECT_EQ(session_->Tell(0, ToldFailed{"no disk"}).state, TrialState::kQueued);
  const auto second = Ask();
  EXPECT_EQ(second.trial, 0);
  EXPECT_EQ(second.attempt, 2);
  EXPECT_EQ(second.parameters, first.parameters);
  const auto told = session_->Tell(0, ToldFailed{"no disk"});
  EXPECT_EQ(told.state, TrialState::kFailed);
  EXPECT_EQ(told.reason, "no disk");
  Ask();
  EXPECT_EQ(session_->Tell(1, ToldResults{{std::nan("")}}).state, TrialState::kFailed);  // a retry does not cure it
}

TEST_F(AskTellLimits, ATrialOfAPopulationNamesTheOneThatItDescendsFrom) {
  auto options = LimitedOptions(6);
  options.parallel = 4;
  options.scheduler.type = "pbt";
  options.scheduler.interval = 1;
  options.scheduler.population = 4;
  Open(options);
  for (int i = 0; i < 4; ++i) EXPECT_FALSE(Ask().parent);
  for (TrialNumber trial = 0; trial < 3; ++trial) session_->Report(trial, Loss(0.1 * static_cast<double>(trial)));
  EXPECT_EQ(session_->Report(3, Loss(9)).decision, Decision::kStop);
  session_->Tell(3, ToldResults{});
  const auto asked = session_->Ask();
  EXPECT_EQ(std::get<AskedTrial>(asked).trial, 4);
  EXPECT_EQ(std::get<AskedTrial>(asked).parent, 0);
  EXPECT_EQ(ToJson(asked)["parent"], 0);
}

TEST_F(AskTellLimits, AnAskedTrialKnowsWhereItMayBePaused) {
  auto options = LimitedOptions();
  options.scheduler.type = "asha";
  options.scheduler.min = 2;
  options.scheduler.max = 18;
  Open(options);
  const auto asked = session_->Ask();
  EXPECT_EQ(std::get<AskedTrial>(asked).limit, 2.0);
  EXPECT_EQ(ToJson(asked)["limit"], 2.0);
}

}  // namespace
}  // namespace slipway::ensemble
