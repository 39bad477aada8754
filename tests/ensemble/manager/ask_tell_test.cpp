#include "ensemble/manager/ask_tell.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "core/error.h"
#include "core/process_identity.h"
#include "ensemble/manager/ask_tell_lines.h"
#include "ensemble/manager/manager.h"
#include "ensemble/manager/requests.h"
#include "tests/ensemble/hand_clock.h"
#include "tests/ensemble/manager/fake_runner.h"
#include "tests/support/temp_directory.h"

namespace slipway::ensemble {
namespace {

using testing::HasSubstr;

EnsembleOptions Options(std::int64_t trials = 4) {
  EnsembleOptions options;
  options.objectives = {{"loss", Goal::kMinimize}};
  options.trials = trials;
  options.sampler = "random";
  options.space = ParseSpace(Json::parse(R"({"x":{"uniform":[-2,2]},"kind":{"choice":["a","b"]}})"));
  return options;
}

class AskTellTest : public testing::Test {
 protected:
  /// Closes the session that is open and begins the next one.
  AskTell& Open(const EnsembleOptions& options, Unfinished unfinished = Unfinished::kKeep) {
    session_.reset();
    book_.reset();
    book_.emplace(TrialBook::OpenForWriting(folder_.path()));
    session_.emplace(*book_, options, LossRules{unfinished});
    return *session_;
  }
  static AskedTrial Ask(AskTell& session) { return std::get<AskedTrial>(session.Ask()); }
  static std::string WhyNothing(AskTell& session) { return std::get<NothingToRun>(session.Ask()).why; }
  /// What another process sees.
  std::vector<TrialRecord> Stored() { return TrialBook::OpenForReading(folder_.path()).Trials(); }
  std::vector<AttemptRecord> StoredAttempts(TrialNumber trial) {
    return TrialBook::OpenForReading(folder_.path()).Attempts(trial);
  }

  test::TempDirectory folder_;
  std::optional<TrialBook> book_;
  std::optional<AskTell> session_;
};

TEST_F(AskTellTest, IsDurableBeforeItAnswers) {
  auto& session = Open(Options());
  const auto asked = Ask(session);
  EXPECT_EQ(Stored().at(0).state, TrialState::kRunning);
  EXPECT_EQ(Stored().at(0).parameters, asked.parameters);
  EXPECT_FALSE(StoredAttempts(0).at(0).process);
  session.Report(0, {1, {}, {{"loss", 0.5}}});
  EXPECT_EQ(TrialBook::OpenForReading(folder_.path()).Metrics(0).at(0).value, 0.5);
  EXPECT_EQ(session.Tell(0, ToldResults{{0.25}}).state, TrialState::kComplete);
  EXPECT_EQ(Stored().at(0).objective, 0.25);
  EXPECT_EQ(StoredAttempts(0).at(0).outcome, Outcome::kComplete);
}

TEST_F(AskTellTest, GivesTheConfigurationsThatTheManagerWouldGive) {
  std::vector<Point> asked;
  auto& session = Open(Options());
  for (int i = 0; i < 4; ++i) {
    const auto trial = Ask(session);
    asked.push_back(trial.parameters);
    session.Tell(trial.trial, ToldResults{{std::get<double>(trial.parameters.front().second)}});
  }
  EXPECT_EQ(WhyNothing(session), "all 4 trials have begun");

  const test::TempDirectory other;
  auto book = TrialBook::OpenForWriting(other.path());
  FakeRunner runner([](TrialNumber, int, const Json& point) { return Reports("loss", point.at("x").get<double>()); });
  CountingObserver observer;
  RunEnsemble(book, Options(), runner, observer);
  const auto managed = book.Trials();
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(managed[i].parameters, asked[i]);
}

TEST_F(AskTellTest, WithoutAValueTheReportsCount) {
  auto& session = Open(Options());
  Ask(session);
  session.Report(0, {1, {}, {{"loss", 0.5}, {"accuracy", 1}}});
  session.Report(0, {2, {}, {{"loss", 0.25}}});
  EXPECT_EQ(session.Tell(0, ToldResults{}).objective, 0.25);
  Ask(session);
  const auto silent = session.Tell(1, ToldResults{});
  EXPECT_EQ(silent.state, TrialState::kFailed);
  EXPECT_EQ(silent.reason, "reported no 'loss'");
}

TEST_F(AskTellTest, KnowsFailedAndPrunedTrials) {
  auto& session = Open(Options());
  for (int i = 0; i < 4; ++i) Ask(session);
  EXPECT_EQ(session.Tell(0, ToldFailed{"no disk"}).reason, "no disk");
  session.Report(1, {1, {}, {{"loss", 0.5}}});
  session.Tell(1, ToldPruned{});
  session.Tell(2, ToldResults{{std::nan("")}});
  session.Tell(3, ToldResults{{-HUGE_VAL}});
  const auto trials = Stored();
  EXPECT_EQ(trials[0].state, TrialState::kFailed);
  EXPECT_EQ(trials[1].state, TrialState::kPruned);
  EXPECT_EQ(trials[1].objective, 0.5);
  EXPECT_EQ(trials[2].state, TrialState::kFailed);
  EXPECT_EQ(trials[3].reason, "reported an infinite 'loss'");
  EXPECT_FALSE(session.study().Best());
}

TEST_F(AskTellTest, WantsAValueForEachObjective) {
  auto options = Options();
  options.objectives.push_back({"seconds", Goal::kMinimize});
  auto& session = Open(options);
  Ask(session);
  EXPECT_THROW(session.Tell(0, ToldResults{{1}}), Error);
  EXPECT_THROW(session.Tell(0, ToldResults{{1, 2, 3}}), Error);
  EXPECT_EQ(Stored().at(0).state, TrialState::kRunning);
  EXPECT_THAT(session.Tell(0, ToldResults{{1, 2}}).further, testing::ElementsAre(2.0));
  Ask(session);
  EXPECT_EQ(session.Tell(1, ToldResults{{1, std::nan("")}}).state, TrialState::kFailed);
}

TEST_F(AskTellTest, KeepsOrQueuesWhatWasNotTold) {
  const auto first = Ask(Open(Options()));
  EXPECT_EQ(Open(Options(), Unfinished::kKeep).running(), 1u);
  EXPECT_EQ(session_->Tell(0, ToldResults{{0.5}}).attempts, 1);
  const auto second = Ask(*session_);
  auto& later = Open(Options(), Unfinished::kQueueAgain);
  EXPECT_EQ(later.running(), 0u);
  EXPECT_THROW(later.Tell(second.trial, ToldResults{{0.5}}), Error);
  const auto again = Ask(later);
  EXPECT_EQ(again.trial, second.trial);
  EXPECT_EQ(again.attempt, 2);
  EXPECT_EQ(again.parameters, second.parameters);
  EXPECT_THROW(later.Tell(again.trial, ToldResults{{0.5}}, 1), Error);
  EXPECT_EQ(later.Tell(again.trial, ToldResults{{0.5}}, 2).state, TrialState::kComplete);
  EXPECT_EQ(StoredAttempts(second.trial).at(0).state, TrialState::kLost);
}

TEST_F(AskTellTest, TheManagerQueuesThemAgain) {
  Ask(Open(Options()));
  session_.reset();
  FakeRunner runner([](TrialNumber, int, const Json&) { return Reports("loss", 1); });
  CountingObserver observer;
  const auto summary = RunEnsemble(*book_, Options(), runner, observer);
  EXPECT_EQ(summary.complete, 4);
  EXPECT_TRUE(runner.orphans_.empty());
  EXPECT_EQ(book_->Trials().at(0).attempts, 2);
}

TEST_F(AskTellTest, LeavesTrialsOfAManagerThatStillRun) {
  Open(Options());
  Changes changes;
  changes.trials.push_back(TrialRecord{});
  changes.trials[0].parameters = {{"x", 1.0}, {"kind", std::string("a")}};
  changes.claims.push_back({0, 1});
  changes.starts.push_back({0, 1, IdentityOf(::getpid())});
  book_->Write(changes);
  EXPECT_THROW(Open(Options()), Error);
  EXPECT_EQ(Stored().at(0).state, TrialState::kRunning);
}

TEST_F(AskTellTest, EndsWithTooManyFailures) {
  auto options = Options();
  options.max_failures = 1;
  auto& session = Open(options);
  for (int i = 0; i < 2; ++i) session.Tell(Ask(session).trial, ToldFailed{"bad"});
  EXPECT_EQ(WhyNothing(session), "2 trials have failed");
}

TEST_F(AskTellTest, EnqueuesConfigurations) {
  auto& session = Open(Options(2));
  EXPECT_EQ(session.Enqueue({{"x", std::int64_t{1}}}), 0);
  const auto asked = Ask(session);
  EXPECT_EQ(Describe(*Find(asked.parameters, "x")), "1.0");
  EXPECT_THROW(session.Enqueue({{"x", std::int64_t{3}}}), Error);
  EXPECT_THROW(session.Enqueue({{"y", std::int64_t{1}}}), Error);
  EXPECT_EQ(session.Enqueue({}), 1);
  EXPECT_THROW(session.Enqueue({}), Error);
}

TEST_F(AskTellTest, GivesATrialThatIsRunAgainOutOnce) {
  auto options = Options();
  options.requests_in = folder_.path();
  auto& session = Open(options);
  session.Tell(Ask(session).trial, ToldFailed{"bad"});
  PostRequest(folder_.path(), Retry{{0}});
  EXPECT_EQ(Ask(session).attempt, 2);
  EXPECT_EQ(Stored().at(0).state, TrialState::kRunning);
  EXPECT_EQ(Ask(Open(options)).trial, 1) << "trial 0 runs";
}

TEST_F(AskTellTest, KnowsWhatASilentAttemptHasUsedOfItsTimeLimit) {
  auto options = Options(1);
  options.trial_time_limit = 3 * 3600;
  HandClock clock;
  auto book = TrialBook::OpenForWriting(folder_.path());
  AskTell session(book, options, LossRules{Unfinished::kKeep, 2 * 3600.0}, clock);
  Ask(session);
  clock.passed += std::chrono::hours(2);
  EXPECT_EQ(Ask(session).attempt, 2);
  clock.passed += std::chrono::minutes(61);
  EXPECT_THAT(session.Ask(), testing::VariantWith<NothingToRun>(testing::_));
  EXPECT_EQ(Stored().at(0).state, TrialState::kFailed);
}

TEST_F(AskTellTest, AResourceThatIsNoNumberIsNoReport) {
  auto options = Options();
  options.scheduler.type = "patient";
  options.scheduler.patience = 2;
  options.resource = "samples";
  auto& session = Open(options);
  Ask(session);
  session.Report(0, {1, {}, {{"samples", NAN}, {"loss", 1}}});
  for (const double samples : {10, 20})
    session.Report(0, {static_cast<std::int64_t>(samples), {}, {{"samples", samples}, {"loss", 1}}});
  EXPECT_EQ(session.Report(0, {30, {}, {{"samples", 30}, {"loss", 1}}}).decision, Decision::kStop);
}

EnsembleOptions WithMedian() {
  auto options = Options(10);
  options.scheduler.type = "median";
  options.scheduler.startup = 2;
  options.scheduler.min = 1;
  return options;
}

TEST_F(AskTellTest, SaysWhatTheSchedulerWants) {
  auto& session = Open(WithMedian());
  for (TrialNumber trial = 0; trial < 3; ++trial) {
    Ask(session);
    for (std::int64_t step = 1; step <= 3; ++step) {
      EXPECT_EQ(session.Report(trial, {step, {}, {{"loss", 0.5}}}).decision, Decision::kContinue);
    }
    session.Tell(trial, ToldResults{});
  }
  Ask(session);
  const auto advice = session.Report(3, {1, {}, {{"loss", 9}}});
  EXPECT_EQ(advice.decision, Decision::kStop);
  EXPECT_NE(advice.reason, "");
  EXPECT_EQ(StoredAttempts(3).at(0).stop, StopReason::kPruned);
  const auto told = session.Tell(3, ToldResults{{9}});
  EXPECT_EQ(told.state, TrialState::kPruned);
  EXPECT_THAT(told.reason, HasSubstr(advice.reason));
}

TEST_F(AskTellTest, TheSchedulerKnowsEarlierSessions) {
  for (TrialNumber trial = 0; trial < 3; ++trial) {
    auto& session = Open(WithMedian());
    Ask(session);
    for (std::int64_t step = 1; step <= 3; ++step) session.Report(trial, {step, {}, {{"loss", 0.5}}});
    session.Tell(trial, ToldResults{});
  }
  Ask(Open(WithMedian()));
  EXPECT_EQ(Open(WithMedian()).Report(3, {1, {}, {{"loss", 9}}}).decision, Decision::kStop);
  EXPECT_EQ(Open(WithMedian()).Tell(3, ToldResults{{9}}).state, TrialState::kPruned);
}

TEST_F(AskTellTest, PausedTrialsAreGivenOutAgainWhenTheyArePromoted) {
  auto options = Options(4);
  options.scheduler.type = "asha";
  options.scheduler.min = 1;
  options.scheduler.max = 4;
  options.scheduler.reduction = 2;
  auto& session = Open(options);
  std::map<TrialNumber, std::int64_t> steps;  // each trial goes on where it was paused
  int complete = 0;
  int paused = 0;
  for (auto next = session.Ask(); std::holds_alternative<AskedTrial>(next); next = session.Ask()) {
    const TrialNumber trial = std::get<AskedTrial>(next).trial;
    auto decision = Decision::kContinue;
    while (decision == Decision::kContinue && steps[trial] < 4) {
      const double loss = 1.0 / static_cast<double>(trial + 1);
      decision = session.Report(trial, {++steps[trial], {}, {{"loss", loss}}}).decision;
    }
    const auto told = session.Tell(trial, ToldResults{});
    EXPECT_EQ(told.state, decision == Decision::kPause ? TrialState::kPaused : TrialState::kComplete);
    ++(told.state == TrialState::kPaused ? paused : complete);
  }
  EXPECT_GE(paused, 3);
  EXPECT_GE(complete, 1);
  EXPECT_EQ(Stored().size(), 4u);
}

/// One line and its answer.
class Lines : public AskTellTest {
 protected:
  Json Answer(const std::string& line) { return ensemble::Answer(*session_, line); }
};

TEST_F(Lines, AnswerEveryRequest) {
  Open(Options());
  const auto asked = Answer(R"({"do":"ask"})");
  EXPECT_EQ(asked["trial"], 0);
  EXPECT_EQ(asked["attempt"], 1);
  EXPECT_TRUE(asked["parameters"]["x"].is_number());
  EXPECT_EQ(Answer(R"({"do":"best"})"), Json::parse(R"({"trial":null})"));
  EXPECT_EQ(Answer(R"({"do":"report","trial":0,"step":3,"value":0.4,"metrics":{"rate":"NaN"}})"),
            Json::parse(R"({"trial":0,"decision":"continue"})"));
  EXPECT_EQ(Answer(R"({"do":"report","trial":0,"step":4.0,"value":0.4})")["decision"], "continue");
  const auto told = Answer(R"({"do":"tell","trial":0,"value":0.3})");
  EXPECT_EQ(told["state"], "complete");
  EXPECT_EQ(told["objectives"]["loss"], 0.3);
  EXPECT_EQ(Answer(R"({"do":"best"})")["trial"], 0);
  EXPECT_EQ(Answer(R"({"do":"enqueue","parameters":{"x":1}})"), Json::parse(R"({"trial":1})"));
  EXPECT_EQ(Answer(R"({"do":"ask"})")["parameters"]["x"], 1.0);
  EXPECT_EQ(Answer(R"({"do":"tell","trial":1,"failed":"no disk"})")["reason"], "no disk");
  Answer(R"({"do":"ask"})");
  EXPECT_EQ(Answer(R"({"do":"tell","trial":2,"pruned":true})")["state"], "pruned");
  Answer(R"({"do":"ask"})");
  EXPECT_EQ(Answer(R"({"do":"tell","trial":3,"value":"Infinity"})")["state"], "failed");
  const auto none = Answer(R"({"do":"ask"})");
  EXPECT_TRUE(none["trial"].is_null());
  EXPECT_EQ(none["why"], "all 4 trials have begun");
  EXPECT_EQ(none["running"], 0);
}

TEST_F(Lines, AnswerWhatIsWrongWithARequest) {
  Open(Options());
  Answer(R"({"do":"ask"})");
  const auto error = [&](const std::string& line) { return Answer(line).value("error", std::string()); };
  EXPECT_THAT(error(""), HasSubstr("no JSON object"));
  EXPECT_THAT(error("[]"), HasSubstr("no JSON object"));
  EXPECT_THAT(error("{\"do\":\"\xff\"}"), HasSubstr("no JSON object"));
  EXPECT_THAT(error("{}"), HasSubstr("'do' must be a text"));
  EXPECT_THAT(error(R"({"do":"asc"})"), HasSubstr("did you mean 'ask'?"));
  EXPECT_THAT(error(R"({"do":"tell"})"), HasSubstr("'trial' must be an integer"));
  EXPECT_THAT(error(R"({"do":"tell","trial":1e300,"value":1})"), HasSubstr("'trial' must be an integer"));
  EXPECT_THAT(error(R"({"do":"tell","trial":7,"value":1})"), HasSubstr("there is no trial 7"));
  EXPECT_THAT(error(R"({"do":"tell","trial":-1,"value":1})"), HasSubstr("there is no trial -1"));
  EXPECT_THAT(error(R"({"do":"tell","trial":0,"value":"big"})"), HasSubstr("'value' must be a number"));
  EXPECT_THAT(error(R"({"do":"tell","trial":0,"value":[1,2]})"), HasSubstr("2 values were given"));
  EXPECT_THAT(error(R"({"do":"tell","trial":0,"value":1,"attempt":0})"), HasSubstr("'attempt'"));
  EXPECT_THAT(error(R"({"do":"tell","trial":0,"vaule":1})"), HasSubstr("no member 'vaule'; did you mean 'value'?"));
  EXPECT_THAT(error(R"({"do":"ask","trial":0})"), HasSubstr("a request 'ask' has no member 'trial'"));
  EXPECT_THAT(error(R"({"do":"tell","trial":0,"pruned":"no"})"), HasSubstr("'pruned' must be true or false"));
  EXPECT_THAT(error(R"({"do":"tell","trial":0,"value":1,"pruned":true})"), HasSubstr("exclude each other"));
  EXPECT_THAT(error(R"({"do":"tell","trial":0,"value":1,"failed":"x"})"), HasSubstr("exclude each other"));
  EXPECT_THAT(error(R"({"do":"report","trial":0,"step":1})"), HasSubstr("nothing is reported"));
  EXPECT_THAT(error(R"({"do":"report","trial":0,"step":0.5,"value":1})"), HasSubstr("'step' must be an integer"));
  EXPECT_THAT(error(R"({"do":"report","trial":0,"step":true,"value":1})"), HasSubstr("'step' must be an integer"));
  EXPECT_THAT(error(R"({"do":"report","trial":0,"step":1,"value":1,"epoch":"NaN"})"), HasSubstr("'epoch'"));
  EXPECT_THAT(error(R"({"do":"enqueue","parameters":{"x":[1]}})"), HasSubstr("'x'"));
  EXPECT_THAT(error(R"({"do":"enqueue","parameters":{"x":5}})"), HasSubstr("is not one of its values"));
  EXPECT_THAT(error(R"({"do":"enqueue"})"), HasSubstr("'parameters' must be an object"));
  EXPECT_THAT(error(std::string(kLongestRequestBytes + 1, ' ')), HasSubstr("at most"));
  EXPECT_THAT(error(std::string(100'000, '[')), HasSubstr("no JSON object"));
  EXPECT_THAT(error(R"({"do":)" + std::string(100'000, '[') + std::string(100'000, ']') + "}"), HasSubstr("'do'"));
  EXPECT_EQ(Answer(R"({"do":"tell","trial":0,"value":1,"pruned":false})")["state"], "complete");
}

/// Requests with bytes changed at random: each is answered, and the book agrees with the session.
TEST_F(Lines, SurviveAnything) {
  Open(Options(1000));
  const std::vector<std::string> sound = {
      R"({"do":"ask"})",
      R"({"do":"tell","trial":0,"value":0.5})",
      R"({"do":"tell","trial":1,"failed":"x","attempt":1})",
      R"({"do":"report","trial":2,"step":3,"value":0.4,"epoch":1,"metrics":{"m":1}})",
      R"({"do":"enqueue","parameters":{"x":0.5,"kind":"a"}})",
  };
  std::mt19937 random(3);
  for (int round = 0; round < 600; ++round) {
    std::string line = sound[random() % sound.size()];
    for (unsigned changes = random() % 4; changes > 0; --changes) {
      line[random() % line.size()] = static_cast<char>(random());
    }
    EXPECT_TRUE(Answer(line).is_object());
  }
  const auto& trials = session_->study().trials().trials();
  const auto stored = Stored();
  ASSERT_EQ(stored.size(), trials.size());
  for (std::size_t i = 0; i < stored.size(); ++i) {
    EXPECT_EQ(stored[i].state, trials[i].state);
    EXPECT_EQ(stored[i].objective, trials[i].objective);
    EXPECT_EQ(stored[i].parameters, trials[i].parameters);
  }
}

}  // namespace
}  // namespace slipway::ensemble
