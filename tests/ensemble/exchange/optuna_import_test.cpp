#include <SQLiteCpp/Database.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>
#include <random>

#include "core/error.h"
#include "core/files.h"
#include "ensemble/exchange/import_trials.h"
#include "ensemble/exchange/optuna.h"
#include "ensemble/exchange/optuna_file.h"
#include "ensemble/manager/ask_tell.h"
#include "ensemble/study/open_study.h"
#include "tests/ensemble/exchange/optuna_program.h"
#include "tests/ensemble/exchange/sample_book.h"
#include "tests/ensemble/hand_clock.h"
#include "tests/support/temp_directory.h"

namespace slipway::ensemble {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

const std::vector<Objective> kOneToMinimize = {{"loss", Goal::kMinimize}};

SearchSpace Space(const char* json) { return ParseSpace(Json::parse(json)); }

OptunaTrial Complete(std::vector<std::pair<std::string, double>> floats, double value = 0.5) {
  OptunaTrial trial;
  trial.state = OptunaState::kComplete;
  trial.values = {value};
  for (const auto& [name, number] : floats) {
    trial.parameters.push_back({name, number, OptunaDistribution(UniformDomain{-10, 10})});
  }
  return trial;
}

OptunaTrial Failed(std::vector<std::pair<std::string, double>> floats) {
  auto trial = Complete(std::move(floats));
  trial.state = OptunaState::kFail;
  return trial;
}

Imported Import(const std::vector<OptunaTrial>& trials, const char* space) {
  return FromOptuna({"s", {Goal::kMinimize}, {}, {}}, trials, Space(space), kOneToMinimize);
}

TEST(ToOptuna, LetsLostTrialsRunAgain) {
  TrialRecord trial;
  trial.state = TrialState::kLost;
  trial.started = 1000;
  trial.parameters = {{"x", 0.5}};
  const auto optuna = ToOptuna(trial, StudyRecord(), Space(R"({"x":{"uniform":[0,1]}})"), {});
  EXPECT_EQ(optuna.state, OptunaState::kWaiting);
  EXPECT_FALSE(optuna.started);
  EXPECT_TRUE(optuna.parameters.empty()) << "fixed ones, of a trial that has not run";
}

TEST(FromOptuna, CountsWhyTrialsAreLeftOut) {
  auto running = Complete({{"x", 1}});
  running.state = OptunaState::kRunning;
  auto odd = Complete({{"x", 1}});
  odd.parameters[0].distribution = "{}";
  const auto imported = Import({Complete({{"x", 1}, {"y", 3}}), Complete({{"x", 1}}), Complete({{"x", 5}, {"y", 3}}),
                                Complete({{"x", 6}, {"y", 3}}), Complete({{"x", 1}, {"\x1b[2J", 3}}), running, odd,
                                Complete({{"x", 2}, {"y", 0}})},
                               R"({"x":{"uniform":[0,4]},"y":{"int":[0,9]},"epochs":3,"":["x < y"]})");
  ASSERT_EQ(imported.trials.size(), 1u);
  EXPECT_EQ(Describe(imported.trials[0].parameters), "x=1 y=3 epochs=3");
  EXPECT_THAT(imported.left_out, ElementsAre(Pair("it has no value for 'y'", 1), Pair("it is not over", 1),
                                             Pair("the point breaks the constraint \"x < y\"", 1),
                                             Pair("the space has no parameter \"\\u001b[2J\"", 1),
                                             Pair("the value of 'x' cannot be read", 1),
                                             Pair("the value of 'x' lies outside of its domain", 2)));
}

TEST(FromOptuna, WantsExactlyTheActiveParameters) {
  const char* space = R"({"x":{"int":[0,1]},"y":{"uniform":[0,1],"when":{"x":1}}})";
  EXPECT_EQ(Import({Complete({{"x", 0}})}, space).trials.size(), 1u);
  EXPECT_EQ(Import({Complete({{"y", 1}, {"x", 1}})}, space).trials.size(), 1u);
  EXPECT_THAT(Import({Complete({{"x", 1}})}, space).left_out, ElementsAre(Pair("it has no value for 'y'", 1)));
  EXPECT_THAT(Import({Complete({{"x", 0}, {"y", 1}})}, space).left_out,
              ElementsAre(Pair(HasSubstr("it is not active"), 1)));
}

TEST(FromOptuna, MeansTheDecimalsOfSteps) {
  const char* space = R"({"x":{"uniform":[0,1],"step":0.1},"y":{"uniform":[0,1],"when":{"x":0.3}},"":["x != 0.7"]})";
  const auto imported = Import({Complete({{"x", 3 * 0.1}, {"y", 1}}), Complete({{"x", 7 * 0.1}})}, space);
  ASSERT_EQ(imported.trials.size(), 1u);
  EXPECT_EQ(Describe(imported.trials[0].parameters), "x=0.3 y=1");
  EXPECT_THAT(imported.left_out, ElementsAre(Pair("the point breaks the constraint \"x != 0.7\"", 1)));
}

TEST(FromOptuna, TakesNoneForNull) {
  const char* space = R"({"c":{"choice":["a",null]}})";
  auto none = Complete({});
  none.parameters.push_back({"c", 1, OptunaDistribution(ChoiceDomain{{Scalar{"a"}, Scalar{}}})});
  const auto imported = Import({none}, space);
  ASSERT_EQ(imported.trials.size(), 1u);
  EXPECT_EQ(Describe(imported.trials[0].parameters), "c=null");
}

TEST(FromOptuna, KeepsWhatBecameOfTrials) {
  auto pruned = Complete({{"x", 1}}, 0.75);
  pruned.state = OptunaState::kPruned;
  auto infinite = Complete({{"x", 1}}, HUGE_VAL);
  auto valueless = Complete({{"x", 1}});
  valueless.values.clear();
  const auto imported = Import({Complete({{"x", 1}}, 0.25), pruned, Failed({{"x", 1}}), infinite, valueless},
                               R"({"x":{"uniform":[0,4]}})");
  ASSERT_EQ(imported.trials.size(), 5u);
  EXPECT_EQ(imported.trials[0].state, TrialState::kComplete);
  EXPECT_EQ(imported.trials[0].objective, 0.25);
  EXPECT_EQ(imported.trials[1].state, TrialState::kPruned);
  EXPECT_EQ(imported.trials[1].objective, 0.75);
  for (const std::size_t i : {2, 3, 4}) {
    EXPECT_EQ(imported.trials[i].state, TrialState::kFailed);
    EXPECT_FALSE(imported.trials[i].objective);
    EXPECT_NE(imported.trials[i].reason, "");
  }
}

TEST(FromOptuna, RefusesOtherObjectives) {
  const auto space = Space(R"({"x":{"uniform":[0,4]}})");
  EXPECT_THROW(FromOptuna({"s", {Goal::kMaximize}, {}, {}}, {}, space, kOneToMinimize), Error);
  EXPECT_THROW(FromOptuna({"s", {Goal::kMinimize, Goal::kMinimize}, {}, {}}, {}, space, kOneToMinimize), Error);
}

class OptunaFile : public testing::Test {
 protected:
  /// The sample book as an Optuna study.
  void Write() {
    SampleBook sample(folder_.path());
    auto& book = sample.book;
    const auto study = *book.Study();
    const auto space = ParseSpace(Json::parse(kSampleSpace));
    OpenFile(file_, O_RDWR | O_CREAT);
    OptunaFileWriter writer(file_, file_, ToOptuna(study, "sample"));
    for (const auto& trial : book.Trials()) writer.Add(ToOptuna(trial, study, space, book.Metrics(trial.number)));
    writer.Finish();
  }
  void Change(const std::string& sql) { SQLite::Database(file_.string(), SQLite::OPEN_READWRITE).exec(sql); }
  void ExpectRefused(const std::string& why, const ReadLimits& limits = {}) {
    try {
      ReadOptunaFile(file_, std::nullopt, limits);
      FAIL() << why;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr(why));
    }
  }

  test::TempDirectory folder_;
  fs::path file_ = folder_ / "study.db";
};

TEST_F(OptunaFile, WhatWasExportedComesBack) {
  Write();
  const auto read = ReadOptunaFile(file_, std::nullopt);
  EXPECT_EQ(read.study.name, "sample");
  const auto imported =
      FromOptuna(read.study, read.trials, ParseSpace(Json::parse(kSampleSpace)), {{"accuracy", Goal::kMaximize}});
  EXPECT_THAT(imported.left_out, ElementsAre(Pair("it is not over", 3)));
  auto book = TrialBook::OpenForReading(folder_.path());
  const auto trials = book.Trials();
  ASSERT_EQ(imported.trials.size(), 5u);
  for (const auto& trial : imported.trials) {
    const auto& original = trials[static_cast<std::size_t>(trial.number)];
    EXPECT_EQ(trial.parameters, original.parameters);
    EXPECT_EQ(trial.objective, original.objective);
    const bool cancelled = original.state == TrialState::kCancelled;
    EXPECT_EQ(trial.state, cancelled ? TrialState::kFailed : original.state);
    EXPECT_NEAR(trial.started.value(), original.started.value(), 0.001);
    EXPECT_NEAR(trial.ended.value(), original.ended.value(), 0.001);
  }
}

TEST_F(OptunaFile, RefusesOlderAndNewerOnes) {
  Write();
  Change("UPDATE alembic_version SET version_num = 'v3.2.0.a'");
  EXPECT_EQ(ReadOptunaFile(file_, std::nullopt).trials.size(), 8u);
  Change("UPDATE alembic_version SET version_num = 'v9.0.0.a'");
  ExpectRefused("which is newer than what is known here");
  Change("UPDATE alembic_version SET version_num = 'v2.6.0.a'");
  ExpectRefused("optuna storage upgrade");
  Change("UPDATE version_info SET schema_version = 13");
  ExpectRefused("which is");
  Change("UPDATE version_info SET schema_version = 11; UPDATE alembic_version SET version_num = 'v3.0.0.d'");
  ExpectRefused("which is older than what is known here");
  Change("DELETE FROM version_info");
  ExpectRefused("which is older");
}

TEST_F(OptunaFile, RefusesWhatIsNoStorageOfOptuna) {
  ExpectRefused("is no file");
  WriteFile(file_, "study_id,name\n1,a\n" + std::string(4096, 'x'));
  ExpectRefused("is no SQLite file");
  fs::remove(file_);
  SampleBook(folder_.path()).book.Settle();
  fs::copy_file(folder_ / "trials.db", file_);
  ExpectRefused("is no storage of Optuna");
  fs::remove(file_);
  ASSERT_EQ(::mkfifo(file_.c_str(), 0600), 0);
  ExpectRefused("is no file");
}

TEST_F(OptunaFile, RefusesTablesThatAreNone) {
  Write();
  Change(
      "DROP TABLE trial_values; CREATE VIEW trial_values AS WITH RECURSIVE n(trial_id, objective, value, value_type) "
      "AS (SELECT 1, 0, 0, 'FINITE' UNION ALL SELECT trial_id, objective + 1, 0, 'FINITE' FROM n) SELECT * FROM n");
  ExpectRefused("is no storage of Optuna");
}

TEST_F(OptunaFile, ReadsNoMoreThanItsLimits) {
  Write();
  ReadLimits limits;
  limits.bytes = 1000;
  ExpectRefused("holds more than can be imported", limits);
  limits = {};
  limits.steps = 100;
  ExpectRefused("holds more than can be imported", limits);
  Change("UPDATE trial_params SET distribution_json = hex(zeroblob(600000)) WHERE param_id = 1");
  ExpectRefused("holds more than can be imported");
}

TEST_F(OptunaFile, ShowsNamesWithoutWhatTerminalsObey) {
  Write();
  Change("UPDATE trials SET state = char(27) || '[2J' WHERE number = 0");
  ExpectRefused("holds a trial in the unknown state \"\\u001b[2J\"");
}

/// Whatever its bytes are, a file is read or refused: in bounded time and memory, and without a crash.
TEST_F(OptunaFile, SurvivesDamageAnywhere) {
  Write();
  const std::string sound = ReadFile(file_);
  std::mt19937 random(7);
  int refused = 0;
  for (int round = 0; round < 400; ++round) {
    std::string damaged = sound;
    if (round % 4 == 0) damaged.resize(random() % damaged.size());
    for (unsigned flips = 1 + random() % 20; flips > 0 && !damaged.empty(); --flips) {
      damaged[random() % damaged.size()] = static_cast<char>(random());
    }
    WriteFile(file_, damaged);
    try {
      const auto read = ReadOptunaFile(file_, std::nullopt);
      FromOptuna(read.study, read.trials, ParseSpace(Json::parse(kSampleSpace)), {{"accuracy", Goal::kMaximize}});
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 100);
}

TEST_F(OptunaFile, ReadsWhatOptunaWrote) {
  if (!HasOptuna()) GTEST_SKIP() << "python3-optuna is not installed";
  RunWithOptuna("write_with_optuna.py", file_);
  ExpectRefused("name one with --study: \"one\", \"two\"");
  EXPECT_THROW(ReadOptunaFile(file_, "three"), Error);
  EXPECT_THAT(ReadOptunaFile(file_, "two").study.goals, ElementsAre(Goal::kMaximize, Goal::kMinimize));
  const auto read = ReadOptunaFile(file_, "one");
  ASSERT_EQ(read.trials.size(), 7u);
  const auto imported = FromOptuna(read.study, read.trials, Space(R"({
    "lr": {"log": [1e-5, 1]}, "dropout": {"uniform": [0, 0.7], "step": 0.1}, "units": {"int": [8, 1024]},
    "optimizer": {"choice": ["sgd", "adam", null, true, 3, 2.5]},
    "momentum": {"uniform": [0, 0.99], "when": {"optimizer": "sgd"}}, "epochs": 3})"),
                                   kOneToMinimize);
  EXPECT_THAT(imported.left_out, ElementsAre(Pair("it is not over", 2)));
  ASSERT_EQ(imported.trials.size(), 5u);
  EXPECT_EQ(Describe(imported.trials[0].parameters),
            "lr=0.01 dropout=0.3 units=100 optimizer=sgd momentum=0.9 epochs=3");
  EXPECT_EQ(imported.trials[0].objective, 0.0);
  EXPECT_EQ(imported.trials[1].state, TrialState::kPruned);
  EXPECT_EQ(imported.trials[1].objective, 0.5);
  EXPECT_EQ(imported.trials[2].state, TrialState::kFailed);
  EXPECT_EQ(imported.trials[3].state, TrialState::kFailed);
  EXPECT_EQ(imported.trials[4].objective, 1.0);
}

/// In the book of a study with one parameter.
class ImportedTrials : public testing::Test {
 protected:
  ImportedTrials() {
    options_.objectives = kOneToMinimize;
    options_.trials = 2;
    options_.sampler = "random";
    options_.space = Space(kSpace);
  }

  void Open() { OpenStudy(book_, options_, 100); }
  ImportCount Take(const std::vector<OptunaTrial>& trials, double now) {
    return ImportTrials(book_, Import(trials, kSpace).trials, now);
  }

  static constexpr auto kSpace = R"({"x":{"uniform":[0,4]}})";
  const test::TempDirectory folder_;
  TrialBook book_ = TrialBook::OpenForWriting(folder_.path());
  EnsembleOptions options_;
};

TEST_F(ImportedTrials, ComeOnTopOfTheBudgetAndOnlyOnce) {
  Open();
  const std::vector<OptunaTrial> trials = {Complete({{"x", 1}}, 0.5), Complete({{"x", 2}}, 0.25),
                                           Complete({{"x", 3}}, 0.75)};
  EXPECT_EQ(Take(trials, 200).added, 3);
  const auto again = Take(trials, 300);
  EXPECT_EQ(again.added, 0);
  EXPECT_EQ(again.known, 3);

  OpenStudy study(book_, options_, 400);
  EXPECT_EQ(study.Best()->objective, 0.25);
  EXPECT_EQ(study.at(1).origin, "import");
  EXPECT_EQ(study.at(1).attempts, 0);
  Changes changes;
  EXPECT_TRUE(study.Ask(changes));
  EXPECT_TRUE(study.Ask(changes));
  EXPECT_FALSE(study.Ask(changes));
  EXPECT_EQ(changes.trials.front().number, 3);
  book_.Write(changes);
}

/// They failed elsewhere. One that fails again here counts.
TEST_F(ImportedTrials, AreNoFailuresOfTheStudyIfTheyHadFailed) {
  options_.max_failures = 0;
  Open();
  ASSERT_EQ(Take({Failed({{"x", 1}})}, 200).added, 1);
  HandClock clock;
  AskTell session(book_, options_, {}, clock);
  const auto asked = session.Ask();
  ASSERT_TRUE(std::holds_alternative<AskedTrial>(asked));
  session.Tell(std::get<AskedTrial>(asked).trial, ToldFailed{"no luck"});
  EXPECT_TRUE(std::holds_alternative<NothingToRun>(session.Ask()));
}

TEST_F(ImportedTrials, AreTheFirstRunOfARepeatedConfiguration) {
  options_.repeats = 3;
  Open();
  const std::vector<OptunaTrial> trials = {Complete({{"x", 1}}, 0.5), Complete({{"x", 2}}, 0.25)};
  EXPECT_EQ(Take(trials, 200).added, 2);
  OpenStudy study(book_, options_, 300);
  EXPECT_EQ(study.trials().size(), 6);
  EXPECT_EQ(study.at(3).objective, 0.25);
  EXPECT_EQ(study.at(4).state, TrialState::kCancelled);
  EXPECT_EQ(study.at(4).repeat, 1);
  EXPECT_EQ(study.Best()->number, 3);
  EXPECT_EQ(study.NextConfiguration(), 2);
  EXPECT_TRUE(study.HasBudget());
}

TEST_F(ImportedTrials, OfOneConfigurationBecomeItsRepeats) {
  options_.repeats = 2;
  Open();
  const std::vector<OptunaTrial> trials = {Failed({{"x", 1}}), Complete({{"x", 1}}, 0.5), Complete({{"x", 2}}, 0.25),
                                           Complete({{"x", 1}}, 0.75), Complete({{"x", 2}}, 0.75)};
  const auto count = Take(trials, 200);
  EXPECT_EQ(count.added, 4);
  EXPECT_EQ(count.known, 1) << "the failed run of x=1 is one too many";
  EXPECT_EQ(Take(trials, 300).known, 5);

  OpenStudy study(book_, options_, 400);
  ASSERT_EQ(study.trials().size(), 4);
  EXPECT_EQ(study.NextConfiguration(), 2);
  EXPECT_EQ(study.at(0).objective, 0.5);
  EXPECT_EQ(study.at(1).objective, 0.75);
  EXPECT_EQ(study.at(1).repeat, 1);
  EXPECT_EQ(study.at(3).objective, 0.75);
  EXPECT_EQ(study.Best()->objective, 0.5) << "the mean of both";
}

}  // namespace
}  // namespace slipway::ensemble
