// Trials that come in, go out, and are run from outside, as a user does it.

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/files.h"
#include "tests/end_to_end/workplace.h"

namespace slipway::test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

/// The objective is x itself.
constexpr auto kExchangeCommand = "[sh, -c, 'echo FoM: $1', trial, '{x}']";
std::string Ensemble(const std::string& trials, const std::string& space) {
  return "  metrics: {from: stdout, pattern: 'FoM: (?<objective>\\S+)'}\n"
         "ensemble:\n"
         "  objective: {metric: objective, goal: maximize}\n" +
         trials + "  sampler: random\n  space: {x: " + space + "}\n";
}

TEST(TrialsExchange, AnotherEnsembleGoesOnFromAnExportedStudy) {
  const Workplace place;
  place.WriteSpec("first.yaml", kExchangeCommand, 1, Ensemble("  trials: 3\n", "{int: [0, 2]}"));
  ASSERT_TRUE(place.Slipway({"run", "first.yaml"}).status.Success());
  EXPECT_THAT(place.Slipway({"trials", "export"}).output, StartsWith("trial,rank,state,objective,"));
  EXPECT_THAT(place.Slipway({"trials", "export", "--best", "1"}).output, HasSubstr(",1,complete,2.0,"));
  const std::vector<std::string> to_file = {"trials", "export", "last", "--format", "optuna", "--out", "study.db"};
  ASSERT_TRUE(place.Slipway(to_file).status.Success());
  EXPECT_EQ(place.Slipway(to_file).status.code, 2);

  place.WriteSpec("second.yaml", kExchangeCommand, 1, Ensemble("  trials: 2\n", "{int: [1, 9]}"));
  const auto imported = Json::parse(place.Slipway({"trials", "import", "second.yaml", "study.db", "--json"}).output);
  EXPECT_EQ(imported["imported"], 2);
  EXPECT_EQ(imported["left_out"][0]["reason"], "the value of 'x' lies outside of its domain");
  const auto run = imported["run"].get<std::string>();
  EXPECT_EQ(Json::parse(place.Slipway({"trials", "import", run, "study.db", "--json"}).output)["known"], 2);
  EXPECT_THAT(place.Slipway({"logs", run, "--trial", "0"}).errors,
              HasSubstr("trial 0 of run " + run + " was imported: it ran elsewhere, and its output stayed there"));
  const auto resumed = place.Slipway({"resume", run});
  ASSERT_TRUE(resumed.status.Success()) << resumed.errors;
  EXPECT_THAT(resumed.errors, HasSubstr("2 of 4 trials ended, 1 running"));
  const auto trials = Json::parse(place.Slipway({"trials", "ls", run, "--json"}).output);
  EXPECT_EQ(trials["counts"]["complete"], 4);
}

TEST(TrialsExchange, ATrialAndItsRunAreNamedInEitherOrder) {
  const Workplace place;
  place.WriteSpec("exp.yaml", "['true']", 1, Ensemble("  trials: 3\n", "{uniform: [0, 1]}"));
  ASSERT_TRUE(place.Slipway({"trials", "new", "exp.yaml"}).status.Success());
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(place.Slipway({"trials", "ask"}).status.Success());
  EXPECT_TRUE(place.Slipway({"trials", "tell", "last", "0", "--value", "1"}).status.Success());
  EXPECT_TRUE(place.Slipway({"trials", "tell", "1", "last", "--value", "2"}).status.Success());
  const auto shown = place.Slipway({"trials", "show", "1", "last"}).output;
  EXPECT_THAT(shown, StartsWith("trial 1: complete, rank 1, objective 2"));
  EXPECT_EQ(place.Slipway({"trials", "show", "last", "1"}).output, shown);
  EXPECT_EQ(place.Slipway({"trials", "show", "1"}).output, shown);
  EXPECT_THAT(place.Slipway({"trials", "show", "last"}).errors,
              HasSubstr("neither 'last' nor 'last' is the number of a trial"));
}

/// All digits are in the documents; people see six.
TEST(TrialsExchange, ViewsShowSixDigits) {
  const Workplace place;
  place.WriteSpec("exp.yaml", kExchangeCommand, 1, Ensemble("  trials: 1\n", "{uniform: [0, 1]}"));
  const auto run = place.Slipway({"run", "exp.yaml"});
  ASSERT_TRUE(run.status.Success()) << run.errors;
  const auto document = Json::parse(place.Slipway({"trials", "show", "0", "--json"}).output);
  const auto exact = document["parameters"]["x"].dump();
  const auto six = fmt::format("{:.6g}", document["parameters"]["x"].get<double>());
  ASSERT_GT(exact.size(), six.size() + 5);
  for (const auto& text : {run.output + run.errors, place.Slipway({"trials", "show", "0"}).output,
                           place.Slipway({"trials", "ls"}).output}) {
    EXPECT_THAT(text, HasSubstr(six));
    EXPECT_THAT(text, testing::Not(HasSubstr(exact)));
  }
}

TEST(TrialsExchange, AScriptAsksAndTells) {
  const Workplace place;
  place.WriteSpec("exp.yaml", "['true']", 1, Ensemble("  trials: 2\n", "{int: [0, 9]}"));
  const auto made = Json::parse(place.Slipway({"trials", "new", "exp.yaml", "--json"}).output);
  const auto run = made["run"].get<std::string>();
  const auto ask = [&] { return place.Slipway({"trials", "ask", run, "--json"}); };
  const auto first = Json::parse(ask().output);
  EXPECT_EQ(first["trial"], 0);
  EXPECT_TRUE(first["parameters"]["x"].is_number());
  EXPECT_TRUE(ask().status.Success());
  EXPECT_EQ(ask().status.code, 75);
  const auto told = place.Slipway({"trials", "tell", run, "0", "--value", "-0.5", "--json"});
  EXPECT_EQ(Json::parse(told.output)["objectives"]["objective"], -0.5);
  EXPECT_TRUE(place.Slipway({"trials", "tell", run, "1", "--failed", "no disk"}).status.Success());
  EXPECT_EQ(ask().status.code, 1);
  const auto again = place.Slipway({"trials", "tell", run, "1", "--value", "1"});
  EXPECT_EQ(again.status.code, 2);
  EXPECT_THAT(again.errors, HasSubstr("trial 1 does not run: it is failed"));
}

/// The option was forgotten: the trial has not failed.
TEST(TrialsExchange, WithoutAnyResultNothingIsTold) {
  const Workplace place;
  place.WriteSpec("exp.yaml", "['true']", 1, Ensemble("  trials: 1\n", "{int: [0, 9]}"));
  ASSERT_TRUE(place.Slipway({"trials", "new", "exp.yaml"}).status.Success());
  ASSERT_TRUE(place.Slipway({"trials", "ask", "last"}).status.Success());
  const auto told = place.Slipway({"trials", "tell", "last", "0"});
  EXPECT_EQ(told.status.code, 2);
  EXPECT_THAT(told.errors, HasSubstr("no result is given, and trial 0 has reported none"));
  EXPECT_TRUE(place.Slipway({"trials", "tell", "last", "0", "--value", "0.5"}).status.Success());
}

/// The shell's variable of the result was not set.
TEST(TrialsExchange, AnEmptyResultIsNone) {
  const Workplace place;
  place.WriteSpec("exp.yaml", "['true']", 1, Ensemble("  trials: 1\n", "{int: [0, 9]}"));
  ASSERT_TRUE(place.Slipway({"trials", "new", "exp.yaml"}).status.Success());
  ASSERT_TRUE(place.Slipway({"trials", "ask", "last"}).status.Success());
  const auto told = place.Slipway({"trials", "tell", "last", "0", "--value", ""});
  EXPECT_EQ(told.status.code, 2);
  EXPECT_THAT(told.errors, HasSubstr("--value: the value is empty"));
  const auto trial = Json::parse(place.Slipway({"trials", "show", "0", "--json"}).output);
  EXPECT_EQ(trial["state"], "running");
  EXPECT_TRUE(place.Slipway({"trials", "tell", "last", "0", "--value", "0.5"}).status.Success());
}

TEST(TrialsExchange, WorkersAskAndTellAtTheSameTime) {
  const Workplace place;
  constexpr int kWorkers = 4;
  place.WriteSpec("exp.yaml", "['true']", 1, Ensemble("  trials: 4\n", "{int: [0, 9]}"));
  ASSERT_TRUE(place.Slipway({"trials", "new", "exp.yaml"}).status.Success());
  const auto at_once = [&](const std::function<std::vector<std::string>(int)>& words) {
    std::vector<ChildProcess> workers;
    for (int i = 0; i < kWorkers; ++i) workers.push_back(place.Start(words(i)));
    for (auto& worker : workers) EXPECT_EQ(worker.Wait().code, 0) << ReadFile(place / "output.log");
  };
  at_once([](int) { return std::vector<std::string>{"trials", "ask", "last"}; });
  at_once([](int i) {
    return std::vector<std::string>{"trials", "tell", "last", std::to_string(i), "--value", std::to_string(i)};
  });
  const auto trials = Json::parse(place.Slipway({"trials", "ls", "--json"}).output);
  EXPECT_EQ(trials["counts"], Json::parse(R"({"complete": 4})")) << trials.dump(1);
}

/// The lock of another command whose name is not in the file yet.
TEST(TrialsExchange, ACommandWaitsForAnother) {
  const Workplace place;
  place.WriteSpec("exp.yaml", "['true']", 1, Ensemble("  trials: 1\n", "{int: [0, 9]}"));
  ASSERT_TRUE(place.Slipway({"trials", "new", "exp.yaml"}).status.Success());
  const auto lock_file = place.RunFolder() / "trials.lock";
  auto lock = FileLock::TryAcquire(lock_file, LockMode::kExclusive);
  ASSERT_TRUE(lock);
  auto asking = place.Start({"trials", "ask", "last"});
  EXPECT_FALSE(asking.WaitFor(std::chrono::milliseconds(300))) << ReadFile(place / "output.log");
  lock.reset();
  EXPECT_EQ(asking.Wait().code, 0) << ReadFile(place / "output.log");
  EXPECT_THAT(ReadFile(lock_file), HasSubstr(R"("hold":"command")")) << "others wait for it";
}

TEST(TrialsExchange, ANewRunTakesConfigurationsBeforeItsFirstTrial) {
  const Workplace place;
  place.WriteSpec("exp.yaml", "['true']", 1, Ensemble("  trials: 2\n", "{int: [0, 9]}"));
  ASSERT_TRUE(place.Slipway({"trials", "new", "exp.yaml"}).status.Success());
  const auto outside = place.Slipway({"trials", "enqueue", "last", "-p", "x=11"});
  EXPECT_EQ(outside.status.code, 2);
  EXPECT_THAT(outside.errors, HasSubstr("'x'"));
  const auto enqueued = place.Slipway({"trials", "enqueue", "last", "-p", "x=7"});
  EXPECT_EQ(enqueued.status.code, 0) << enqueued.errors;
  EXPECT_THAT(enqueued.output, HasSubstr("'slipway trials ask "));
  const auto asked = Json::parse(place.Slipway({"trials", "ask", "last", "--json"}).output);
  EXPECT_EQ(asked["parameters"]["x"], 7);
}

/// On the command line a word has no quotes: whether it is a number or a text, the space says.
TEST(TrialsExchange, AnEnqueuedWordIsWhatTheSpaceHas) {
  const Workplace place;
  place.WriteSpec("exp.yaml", "['true']", 1, Ensemble("  trials: 4\n", R"({choice: ["2", "1.10", "true", 3, true]})"));
  ASSERT_TRUE(place.Slipway({"trials", "new", "exp.yaml"}).status.Success());
  for (const std::string word : {"2", "1.10", "true", "3"}) {
    const auto enqueued = place.Slipway({"trials", "enqueue", "last", "-p", "x=" + word});
    EXPECT_EQ(enqueued.status.code, 0) << enqueued.errors;
  }
  for (const Json& value : {Json("2"), Json("1.10"), Json(true), Json(3)}) {
    EXPECT_EQ(Json::parse(place.Slipway({"trials", "ask", "last", "--json"}).output)["parameters"]["x"], value);
  }
}

/// The run has succeeded, and says nothing of its trials by itself.
TEST(TrialsExchange, ABookThatIsLostAfterTheEndIsToldOf) {
  const Workplace place;
  place.WriteSpec("exp.yaml", kExchangeCommand, 1, Ensemble("  trials: 2\n", "{int: [0, 9]}"));
  ASSERT_TRUE(place.Slipway({"run", "exp.yaml"}).status.Success());
  const auto book = place.RunFolder() / "trials.db";
  const auto expect_told = [&](const std::string& what) {
    const auto status = place.Slipway({"status"});
    EXPECT_EQ(status.status.code, 0);
    EXPECT_THAT(status.errors, AllOf(HasSubstr("its trials cannot be read: "), HasSubstr(what)));
    EXPECT_THAT(place.Slipway({"explain"}).output, HasSubstr(what));
    for (const std::string command : {"ls", "best", "export"}) {
      const auto refused = place.Slipway({"trials", command});
      EXPECT_EQ(refused.status.code, 3) << command;
      EXPECT_THAT(refused.errors, HasSubstr(what)) << command;
    }
    EXPECT_THAT(place.Slipway({"trials", "show", "0"}).errors, HasSubstr(what));
    EXPECT_THAT(place.Slipway({"trials", "enqueue", "-p", "x=7"}).errors, HasSubstr(what));
    EXPECT_THAT(place.Slipway({"trials", "retry", "0"}).errors, HasSubstr(what));
  };
  EXPECT_EQ(place.Slipway({"status"}).errors, "");
  fs::remove(book);
  expect_told("'" + book.string() + "' is missing, but trials have begun in");
  WriteFile(book, "");
  expect_told("'" + book.string() + "' is empty, but trials have begun in");
  WriteFile(book, std::string(8192, 'x'));
  expect_told("is no SQLite database");
}

/// Whoever was given trials would tell about those of another study.
TEST(TrialsExchange, RefusesALostBookWhoseTrialsRanElsewhere) {
  const Workplace place;
  place.WriteSpec("exp.yaml", "['true']", 1, Ensemble("  trials: 3\n", "{int: [0, 9]}"));
  ASSERT_TRUE(place.Slipway({"trials", "new", "exp.yaml"}).status.Success());
  const auto book = place.RunFolder() / "trials.db";
  const auto expect_refused = [&](const std::vector<std::string>& command) {
    const auto refused = place.Slipway(command);
    EXPECT_EQ(refused.status.code, 3) << refused.output;
    EXPECT_THAT(refused.errors, HasSubstr(book.string()));
    EXPECT_THAT(refused.errors, HasSubstr("slipway trials new "));
  };
  ASSERT_TRUE(place.Slipway({"trials", "ask", "last"}).status.Success()) << "there was no book before";
  ASSERT_TRUE(place.Slipway({"trials", "ask", "last"}).status.Success());
  fs::remove(book);
  expect_refused({"trials", "ask", "last"});
  expect_refused({"trials", "tell", "last", "0", "--value", "1"});
  expect_refused({"trials", "serve", "last"});
  expect_refused({"resume", "last"});
  EXPECT_FALSE(fs::exists(book));
  WriteFile(book, "");
  expect_refused({"trials", "ask", "last"});
}

TEST(TrialsExchange, RefusesALostBookOfImportedTrials) {
  const Workplace place;
  place.WriteSpec("exp.yaml", kExchangeCommand, 1, Ensemble("  trials: 2\n", "{int: [0, 9]}"));
  ASSERT_TRUE(place.Slipway({"run", "exp.yaml"}).status.Success());
  ASSERT_TRUE(place.Slipway({"trials", "export", "last", "--format", "optuna", "--out", "study.db"}).status.Success());
  const auto made = Json::parse(place.Slipway({"trials", "import", "exp.yaml", "study.db", "--json"}).output);
  const auto run = made["run"].get<std::string>();
  fs::remove(fs::path(made["folder"].get<std::string>()) / "trials.db");
  const auto refused = place.Slipway({"trials", "import", run, "study.db"});
  EXPECT_EQ(refused.status.code, 3) << refused.output;
  EXPECT_THAT(refused.errors, HasSubstr("is missing, but its study has begun"));
}

TEST(TrialsExchange, ServesWholeLinesAndSurvivesBadOnes) {
  const Workplace place;
  place.WriteSpec("exp.yaml", "['true']", 1, Ensemble("  trials: 2\n", "{int: [0, 9]}"));
  place.Write("requests", "{\"do\":\"ask\"}\nnonsense\n" + std::string(3 << 20, '[') +
                              "\n{\"do\":\"tell\",\"trial\":0,\"value\":4}");
  const auto served = place.SlipwayReading("requests", {"trials", "serve", "exp.yaml"});
  EXPECT_TRUE(served.status.Success()) << served.errors;
  const std::string& answers = served.output;
  EXPECT_EQ(std::count(answers.begin(), answers.end(), '\n'), 5);
  EXPECT_THAT(answers, StartsWith("{\"schema\":\"slipway.trials.serve/1\""));
  EXPECT_THAT(answers, HasSubstr("the line is no JSON object"));
  EXPECT_THAT(answers, HasSubstr("at most 1048576 are read"));
  EXPECT_THAT(answers, HasSubstr("\"state\":\"complete\""));
  EXPECT_EQ(place.Status()["phase"], "cancelled");
}

/// A pipe in the place, with both its ends in our hands.
UniqueFd OpenPipe(const Workplace& place) {
  if (::mkfifo((place / "requests").c_str(), 0600) != 0) ThrowErrno("cannot make a pipe");
  return UniqueFd(::open((place / "requests").c_str(), O_RDWR | O_CLOEXEC));
}

/// A run that is served until a signal ends it: its requests come through a pipe that stays open. A trial is out.
class ServedRun {
 public:
  ServedRun(const Workplace& place, const std::string& ensemble) : requests_(OpenPipe(place)) {
    place.WriteSpec("exp.yaml", "['true']", 1, ensemble);
    serving_.emplace(place.Start({"trials", "serve", "exp.yaml"}, requests_.get()));
    WriteAll(requests_.get(), "{\"do\":\"ask\"}\n", "requests");
    while (ReadFile(place / "output.log").find("\"attempt\":1") == std::string::npos) ::usleep(10'000);
  }
  ChildProcess& process() { return *serving_; }

 private:
  UniqueFd requests_;
  std::optional<ChildProcess> serving_;
};

TEST(TrialsExchange, AServedRunEndsInOrderWhenItIsAskedTo) {
  for (const std::string way : {"signal", "cancel"}) {
    const Workplace place;
    ServedRun served(place, Ensemble("  trials: 2\n", "{int: [0, 9]}"));
    EXPECT_EQ(place.Status()["phase"], "running");
    if (way == "signal") {
      served.process().Signal(SIGTERM);
    } else {
      EXPECT_EQ(place.Slipway({"cancel", "last"}).status.code, 0);
    }
    EXPECT_EQ(served.process().Wait().code, 130);
    const auto status = place.Status();
    EXPECT_EQ(status["phase"], "cancelled") << way;
    EXPECT_EQ(status["reason"], "served until it was asked to end; serve or resume it to go on");
    EXPECT_FALSE(std::filesystem::exists(place.RunFolder() / "trials.db-wal")) << "the book is one plain file";
    const auto again = place.Slipway({"trials", "ask", "last", "--json"});
    EXPECT_EQ(Json::parse(again.output)["trial"], 1) << "what was asked for may still be told";
  }
}

/// A killed process is gone a moment before its lock is free; what it was just starting holds it even longer.
TEST(TrialsExchange, AServedRunIsServedAgainOnceTheLockOfTheKilledServerIsFree) {
  const Workplace place;
  ServedRun served(place, Ensemble("  trials: 2\n", "{int: [0, 9]}"));
  served.process().Signal(SIGKILL);
  served.process().Wait();
  std::optional lock = FileLock::Acquire(place.RunFolder() / ".manager.lock", LockMode::kExclusive);
  EXPECT_EQ(place.Status()["phase"], "lost");
  auto again = place.Start({"trials", "serve", "last"});
  const auto about_again = fmt::format("\"pid\":{},", again.pid());
  const auto has_book = [&] {
    return ReadFile(place.RunFolder() / "trials.lock").find(about_again) != std::string::npos;
  };
  while (!has_book() && !again.WaitFor(std::chrono::milliseconds(10))) {
  }
  EXPECT_FALSE(again.WaitFor(std::chrono::milliseconds(500))) << "it waits for the lock";
  lock.reset();
  EXPECT_EQ(again.Wait().code, 0) << ReadFile(place / "output.log");
}

/// Nobody asks for a trial meanwhile: the process that serves takes the request up all the same.
TEST(TrialsExchange, AServedRunAnswersRequestsWhileNobodyAsks) {
  const Workplace place;
  ServedRun served(place, Ensemble("  trials: 3\n", "{int: [0, 9]}"));
  const auto enqueued = place.Slipway({"trials", "enqueue", "last", "-p", "x=7"});
  EXPECT_EQ(enqueued.output, "enqueued as trial 1\n");
  const auto told = place.Slipway({"trials", "tell", "last", "0", "--value", "1"});
  EXPECT_EQ(told.status.code, 4) << "the process that serves takes the results";
  EXPECT_THAT(told.errors, AllOf(HasSubstr("is managed by process "), HasSubstr("slipway trials enqueue")));
  served.process().Signal(SIGTERM);
  EXPECT_EQ(served.process().Wait().code, 130);
}

TEST(TrialsExchange, ATrialThatRanElsewhereSaysWhyItHasNoLog) {
  const Workplace place;
  place.WriteSpec("exp.yaml", "['true']", 1, Ensemble("  trials: 2\n", "{int: [0, 9]}"));
  place.Slipway({"trials", "new", "exp.yaml"});
  place.Slipway({"trials", "ask", "last"});
  const auto given_out = place.Slipway({"logs", "last", "--trial", "0"});
  EXPECT_EQ(given_out.status.code, 2);
  EXPECT_THAT(given_out.errors, HasSubstr("was given out by 'trials ask' or 'serve'"));
  EXPECT_THAT(given_out.errors, HasSubstr("slipway trials show"));
  EXPECT_THAT(place.Slipway({"logs", "last", "--trial", "1"}).errors, HasSubstr("has no trial 1"));
}

TEST(TrialsExchange, ALostTrialIsGivenOutAgain) {
  const Workplace place;
  place.WriteSpec("exp.yaml", "['true']", 1, Ensemble("  trials: 1\n", "{int: [0, 9]}"));
  place.Slipway({"trials", "new", "exp.yaml"});
  EXPECT_TRUE(place.Slipway({"trials", "ask", "last"}).status.Success());
  EXPECT_EQ(place.Slipway({"trials", "ask", "last", "--lost-after", "1h"}).status.code, 75);
  const auto again = place.Slipway({"trials", "ask", "last", "--lost-after", "0s", "--json"});
  EXPECT_EQ(Json::parse(again.output)["attempt"], 2) << again.output << again.errors;
  const auto wrong = place.Slipway({"trials", "ask", "last", "--lost-after", "soon"});
  EXPECT_EQ(wrong.status.code, 2);
  EXPECT_THAT(wrong.errors, HasSubstr("'soon' is not a duration"));
}

}  // namespace
}  // namespace slipway::test
