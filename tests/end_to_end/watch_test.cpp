// How a user hears why a job ended: from the runtime's watch, and of a rank that a signal has ended.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "core/files.h"
#include "core/process_identity.h"
#include "tests/end_to_end/workplace.h"

namespace slipway::test {
namespace {
namespace fs = std::filesystem;

using testing::HasSubstr;
using testing::Not;

constexpr auto kMessage = "waited 3.0 s for slipway_average: rank 1 on host n1 is stopped";
constexpr auto kReport =
    R"({"schema":"slipway.watch/1","time":1,"kind":"stalled","seen_by":0,"message":")"
    "waited 3.0 s for slipway_average: rank 1 on host n1 is stopped"
    R"(","ranks":[{"rank":1,"host":"n1","pid":9,"state":"stopped","last":"slipway_init","step":17}]})";

/// A program of two ranks that does as one whose rank 0 ends because of the watch: the report first, then a bad exit.
constexpr auto kStalls =
    "[sh, -c, 'if [ $RANK = 0 ]; then cp report.json $(dirname $SLIPWAY_METRICS)/watch.json; echo noise; exit 5; fi; "
    "sleep 60']";

/// The events of that name in a run's events.jsonl.
std::vector<Json> Events(const Workplace& place, const std::string& name) {
  std::vector<Json> events;
  std::ifstream file(place.RunFolder() / "events.jsonl");
  for (std::string line; std::getline(file, line);) {
    auto event = Json::parse(line);
    if (event["event"] == name) events.push_back(std::move(event));
  }
  return events;
}

TEST(Watch, GivesTheReasonOfTheFailureBeforeTheNoise) {
  Workplace place;
  place.Write("report.json", kReport);
  place.WriteSpec("exp.yaml", kStalls, 2);
  const auto ran = place.Slipway({"run", "exp.yaml"});
  EXPECT_EQ(ran.status.code, 1);
  EXPECT_THAT(ran.errors, HasSubstr(std::string("warning: ") + kMessage));
  EXPECT_THAT(ran.errors, Not(HasSubstr("ended with exit status")));
  EXPECT_LT(ran.output.find(kMessage), ran.output.find("ended with exit status 5"));

  const auto status = place.Status();
  EXPECT_EQ(status["reason"], kMessage);
  EXPECT_THAT(status["detail"].get<std::string>(), testing::StartsWith("rank 0 on "));
  EXPECT_THAT(place.Slipway({"status"}).output, HasSubstr(kMessage));

  const auto events = Events(place, "watch");
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0]["attempt"], 1);
  EXPECT_EQ(events[0]["kind"], "stalled");
  EXPECT_EQ(events[0]["message"], kMessage);
  EXPECT_EQ(events[0]["ranks"][0]["state"], "stopped");
  EXPECT_EQ(Events(place, "failed").at(0)["reason"], kMessage);
}

TEST(Watch, OfTheRuntimeNamesARankThatIsStopped) {
  Workplace place;
  place.WriteSpec("exp.yaml", "[" SLIPWAY_BUILD_DIR "/tests/end_to_end_stopper]", 2, "resilience: {stall_after: 5s}");
  const auto ran = place.Slipway({"run", "exp.yaml"});
  EXPECT_EQ(ran.status.code, 1);
  const auto reason = place.Status()["reason"].get<std::string>();
  EXPECT_THAT(reason, HasSubstr("rank 1 on host " + HostName()));
  EXPECT_THAT(reason, HasSubstr("is stopped"));
  EXPECT_THAT(ran.errors, HasSubstr("warning: " + reason));
  const auto events = Events(place, "watch");
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0]["ranks"][0]["rank"], 1);
  EXPECT_EQ(events[0]["ranks"][0]["state"], "stopped");
}

TEST(Watch, TellsItForARankAloneToo) {
  Workplace place;
  place.Write("report.json", kReport);
  place.WriteSpec("exp.yaml", kStalls, 1);
  const auto ran = place.Slipway({"run", "exp.yaml", "-q"});
  EXPECT_THAT(ran.errors, HasSubstr(kMessage));
  EXPECT_EQ(place.Status()["reason"], kMessage);
}

TEST(Watch, IsHeardInEveryAttempt) {
  Workplace place;
  place.Write("report.json", kReport);
  place.WriteSpec("exp.yaml", kStalls, 1, "resilience: {max_restarts: 1}");
  place.Slipway({"run", "exp.yaml"});
  const auto events = Events(place, "watch");
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[1]["attempt"], 2);
  EXPECT_THAT(Events(place, "restarting").at(0)["reason"].get<std::string>(), testing::StartsWith(kMessage));
}

TEST(Watch, GivesTheReasonOfATrial) {
  Workplace place;
  place.Write("report.json", kReport);
  place.WriteSpec("exp.yaml",
                  "[sh, -c, 'if [ {x} = 1 ]; then cp report.json $(dirname $SLIPWAY_METRICS)/watch.json; "
                  "exit 5; fi; echo FoM: 2']",
                  1,
                  "  metrics: {from: stdout, pattern: 'FoM: (?<objective>\\S+)'}\n"
                  "ensemble:\n"
                  "  objective: {metric: objective}\n"
                  "  sampler: grid\n"
                  "  space: {x: {int: [0, 1]}}\n");
  const auto ran = place.Slipway({"run", "exp.yaml"});
  EXPECT_EQ(ran.status.code, 0) << ran.errors;
  EXPECT_THAT(ran.errors, HasSubstr(kMessage));
  const auto trials = Json::parse(place.Slipway({"trials", "ls", "--state", "failed", "--json"}).output)["trials"];
  ASSERT_EQ(trials.size(), 1u);
  EXPECT_THAT(trials[0]["reason"].get<std::string>(), HasSubstr(kMessage));
  EXPECT_THAT(place.Slipway({"trials", "show", "1"}).output, HasSubstr(kMessage));
  const auto events = Events(place, "watch");
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0]["trial"], 1);
}

TEST(Metrics, OfAProgressBarAreReadWhileItsLineIsOpen) {
  Workplace place;
  place.Write("bar.sh",
              "printf '\\rFoM: 0.5 of 2\\rFoM: 0.'\n"
              "for try in $(seq 600); do grep -qs 0.5 \"$SLIPWAY_METRICS\" && break; sleep 0.1; done\n"
              "grep -qs 0.5 \"$SLIPWAY_METRICS\" && echo 25\n");
  place.WriteSpec("exp.yaml", "[sh, bar.sh]", 1, "  metrics: {from: stdout, pattern: 'FoM: (?<objective>[0-9.]+)'}");
  const auto ran = place.Slipway({"run", "exp.yaml", "--json"});
  ASSERT_EQ(ran.status.code, 0) << ran.output << ran.errors;
  EXPECT_EQ(Json::parse(ran.output)["metrics"]["objective"], 0.25);
}

TEST(Watch, OfATornOrHostileFileIsIgnoredWithANote) {
  for (const char* content : {R"({"schema":"slipway.watch/1","mess)", "\xff\xff", "[[[[[[", ""}) {
    Workplace place;
    place.Write("report.json", content);
    place.WriteSpec("exp.yaml", kStalls, 1);
    const auto ran = place.Slipway({"run", "exp.yaml"});
    EXPECT_EQ(ran.status.code, 1);
    EXPECT_THAT(ran.errors, HasSubstr("attempt-1/watch.json' is ignored"));
    EXPECT_THAT(place.Status()["reason"].get<std::string>(), HasSubstr("ended with exit status 5"));
  }
}

TEST(Watch, OfAFileWithoutEndIsNotReadForever) {
  Workplace place;
  place.WriteSpec("exp.yaml", "[sh, -c, 'mkfifo $(dirname $SLIPWAY_METRICS)/watch.json; exit 5']");
  const auto ran = place.Slipway({"run", "exp.yaml"});
  EXPECT_EQ(ran.status.code, 1);
  EXPECT_THAT(ran.errors, HasSubstr("watch.json' is ignored: it is not a file"));
}

TEST(Watch, ChangesNothingOfARunThatSucceeds) {
  Workplace place;
  place.Write("report.json", kReport);
  place.WriteSpec("exp.yaml", "[sh, -c, 'cp report.json $(dirname $SLIPWAY_METRICS)/watch.json']");
  const auto ran = place.Slipway({"run", "exp.yaml"});
  EXPECT_EQ(ran.status.code, 0) << ran.errors;
  EXPECT_EQ(place.Status()["reason"], "");
  EXPECT_EQ(Events(place, "watch").size(), 1u);
}

/// The other one does not heed SIGTERM, and ends when the name is there: later than its grace time it would be killed.
TEST(RankEndedByASignal, IsNamedWithHostAndSignalWhileTheOthersEnd) {
  Workplace place;
  place.Write("train.sh",
              "if [ $RANK = 1 ]; then until test -e up; do sleep 0.1; done; touch dies; kill -KILL $$; fi\n"
              "trap '' TERM; touch up; until test -e named; do sleep 0.1; done; touch ended\n");
  place.WriteSpec("exp.yaml", "[sh, train.sh]", 2);
  auto run = place.Start({"run", "exp.yaml"});
  place.WaitForFile(place / "dies");
  const auto named =
      fmt::format("rank 1 on {} ended with signal 9 (SIGKILL); the other ranks are being ended", HostName());
  const auto said = [&] { return ReadFile(place / "output.log").find(named) != std::string::npos; };
  while (!said()) {
    ASSERT_FALSE(run.WaitFor(std::chrono::milliseconds(10)).has_value()) << ReadFile(place / "output.log");
  }
  place.Write("named", "");
  const auto status = run.WaitFor(std::chrono::seconds(60));
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(status->code, 1);
  EXPECT_TRUE(fs::exists(place / "ended")) << ReadFile(place / "output.log");
  EXPECT_EQ(place.Status()["reason"], fmt::format("rank 1 on {} ended with signal 9 (SIGKILL)", HostName()));
}

}  // namespace
}  // namespace slipway::test
