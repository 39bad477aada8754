// What the command line refuses, whatever the command is.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/files.h"
#include "tests/end_to_end/workplace.h"

namespace slipway::test {
namespace {

using testing::HasSubstr;

TEST(CommandLine, SaysWhatAnUnknownCommandMayHaveMeant) {
  Workplace place;
  const auto ran = place.Slipway({"rnu", "exp.yaml"});
  EXPECT_EQ(ran.status.code, 2);
  EXPECT_THAT(ran.errors, HasSubstr("error: unknown command 'rnu'; did you mean 'run'?\n  next: slipway --help"));
  EXPECT_THAT(place.Slipway({"trials", "bset"}).errors,
              HasSubstr("unknown command 'bset'; did you mean 'best'?\n  next: slipway trials --help"));
  EXPECT_THAT(place.Slipway({"stage", "everything"}).errors, HasSubstr("valid are 'in', 'key', 'out'"));
  EXPECT_THAT(place.Slipway({"--json"}).errors, HasSubstr("a command is missing"));
}

TEST(CommandLine, SaysWhatIsWrongWithAnOption) {
  Workplace place;
  const auto said = [&](const std::vector<std::string>& words) { return place.Slipway(words).errors; };
  EXPECT_EQ(said({"run", "a.yaml", "--set"}), "error: --set needs a value\n  next: slipway run --help\n");
  EXPECT_THAT(said({"ls", "--limit="}), HasSubstr("error: --limit needs a value\n"));
  EXPECT_THAT(said({"ls", "-n", "1", "-n", "2"}), HasSubstr("error: --limit takes 1 value, but 2 are given\n"));
  EXPECT_THAT(said({"stage", "out", "a", "b", "c"}),
              HasSubstr("error: argument 'what' takes 2 values at most, but 3 are given\n"));
  EXPECT_THAT(said({"--on"}), HasSubstr("error: --on needs a value\n  next: slipway --help\n"));
  EXPECT_THAT(said({"logs", "--rank", "1.5"}), HasSubstr("error: --rank: '1.5' is not a whole number, or too large\n"));
  EXPECT_THAT(said({"validate", "a.yaml", "--quiet=maybe"}), HasSubstr("error: --quiet takes no value\n"));
  EXPECT_THAT(said({"ls", "--jsno=x"}), HasSubstr("error: unknown option '--jsno'; did you mean '--json'?\n"));
  EXPECT_THAT(said({"--jsno"}), HasSubstr("error: unknown option '--jsno'; did you mean '--json'?\n  next: slipway -"));
  EXPECT_THAT(said({"run", "a.yaml", "b.yaml"}), HasSubstr("error: unexpected argument 'b.yaml'\n"));
  EXPECT_EQ(said({"run", "a.yaml", "--engine", "pbs"}),
            "error: --engine: unknown value 'pbs'; valid are 'auto', 'local', 'slurm'\n  next: slipway run --help\n");
  EXPECT_THAT(said({"completion", "bahs"}), HasSubstr("error: shell: unknown value 'bahs'; did you mean 'bash'?\n"));
}

TEST(CommandLine, SaysWhichNumbersAreWanted) {
  Workplace place;
  EXPECT_THAT(place.Slipway({"data", "make", "hepcnn", "--train", "0", "x"}).errors,
              HasSubstr("error: --train: 0: must be above 0\n  next: slipway data make --help"));
  EXPECT_THAT(place.Slipway({"data", "make", "hepcnn", "--seed", "-1", "x"}).errors,
              HasSubstr("error: --seed: -1: must be 0 or more\n"));
  EXPECT_THAT(place.Slipway({"logs", "x", "--rank", "none"}).errors, HasSubstr("--rank: none: must be 0 or more\n"));
}

/// As a shell writes a variable that is not set: `--value "$LOSS"`.
TEST(CommandLine, RefusesAnEmptyTextForANumber) {
  const Workplace place;
  const std::vector<std::pair<std::string, std::vector<std::string>>> commands = {
      {"--value", {"trials", "tell", "last", "0", "--value", ""}},
      {"--value", {"trials", "tell", "last", "0", "--value", "0.5", "--value", ""}},
      {"--attempt", {"trials", "tell", "last", "0", "--attempt", ""}},
      {"--limit", {"trials", "best", "-n", ""}},
      {"--candidates", {"trials", "select", "--candidates", ""}},
      {"--classes", {"data", "make", "imagenet-like", "--classes", "", "x"}},
      {"--box", {"data", "make", "cosmoflow", "--box", "", "x"}},
      {"--rank", {"logs", "--rank", ""}},
      {"--port", {"serve", "--port", ""}},
      {"--timeout", {"wait", "--timeout", ""}},
      {"--since", {"ls", "--since", ""}},
      {"--since", {"usage", "--since", ""}},
      {"--older-than", {"workflow", "gc", "--older-than", ""}},
      {"--older-than", {"stage", "evict", "--older-than", ""}},
      {"--to-free", {"stage", "gc", "--to-free", ""}},
      {"--bandwidth", {"stage", "in", "x.yaml", "--bandwidth", ""}},
      {"--bandwidth", {"stage", "out", "--bandwidth", ""}},
      {"--bandwidth", {"stage", "directives", "check", "job.sh", "--bandwidth", ""}},
      {"--capacity", {"stage", "directives", "check", "job.sh", "--capacity", ""}}};
  for (const auto& [option, words] : commands) {
    const auto refused = place.Slipway(words);
    EXPECT_EQ(refused.status.code, static_cast<int>(ErrorKind::kUsage)) << refused.output << refused.errors;
    EXPECT_THAT(refused.errors, testing::StartsWith("error: " + option + ": the value is empty"));
  }
}

TEST(CommandLine, RefusesARankThatTheRunDoesNotHave) {
  Workplace place;
  place.WriteSpec("exp.yaml", "[sh, -c, 'echo present']", 2);
  ASSERT_EQ(place.Slipway({"run", "exp.yaml"}).status.code, 0);
  EXPECT_THAT(place.Slipway({"logs", "--rank", "1"}).output, HasSubstr("[1] present"));
  const auto refused = place.Slipway({"logs", "--rank", "7"});
  EXPECT_EQ(refused.status.code, 2);
  EXPECT_THAT(refused.errors, HasSubstr("has no rank 7: it has ranks 0 to 1\n"));
  ASSERT_EQ(place.Slipway({"run", "exp.yaml", "--set", "launch.ranks_per_node=1"}).status.code, 0);
  EXPECT_THAT(place.Slipway({"logs", "--rank", "7"}).errors, HasSubstr("has no rank 7: its only rank is 0\n"));
}

TEST(CommandLine, RefusesALevelOfTheLogThatIsNone) {
  Workplace place;
  place.SetVariable("SLIPWAY_LOG", "verbose");
  const auto refused = place.Slipway({"ls"});
  EXPECT_EQ(refused.status.code, static_cast<int>(ErrorKind::kUsage)) << refused.output;
  EXPECT_THAT(refused.errors, HasSubstr("SLIPWAY_LOG is 'verbose', not debug, info, warn, error or off"));
  place.SetVariable("SLIPWAY_LOG", "debug");
  EXPECT_EQ(place.Slipway({"ls"}).status.code, 0);
}

TEST(CommandLine, FailsWhenItsAnswerIsLost) {
  const Workplace place;
  for (const std::string words : {"manual", "schema", "ls --json"}) {
    const auto lost = place.Shell("\"$0\" " + words + " > /dev/full");
    EXPECT_EQ(lost.status.code, static_cast<int>(ErrorKind::kEnvironment)) << words;
    EXPECT_THAT(lost.errors, HasSubstr("error: cannot write all of the output to stdout: No space left"));
  }
  EXPECT_EQ(place.Shell("\"$0\" manual | head -n 1").errors, "") << "a reader that has seen enough";
}

TEST(CommandLine, OfARunWarnsWhenItsOutputIsLost) {
  const Workplace place;
  place.WriteSpec("exp.yaml", "[sh, -c, 'echo present']");
  const auto ran = place.Shell("\"$0\" run exp.yaml > /dev/full");
  EXPECT_EQ(ran.status.code, 0) << ran.errors;
  EXPECT_THAT(ran.errors, HasSubstr("warning: cannot write all of the output to stdout: No space left"));
  EXPECT_EQ(place.Status()["phase"], "succeeded");
}

TEST(CommandLine, PrintsIntoNoFileOfItsOwn) {
  const Workplace place;
  place.WriteSpec("exp.yaml", "[sh, -c, 'echo present']");
  EXPECT_EQ(place.Shell("\"$0\" run exp.yaml <&- >&- 2>&-").status.code, 0);
  EXPECT_EQ(place.Status()["phase"], "succeeded");
  for (const auto& file : std::filesystem::directory_iterator(place.RunFolder())) {
    const auto name = file.path().filename();
    if (!file.is_regular_file() || name == "spec.yaml" || name == "plan.json" || name == "report.html") continue;
    EXPECT_THAT(ReadFile(file.path()), testing::Not(HasSubstr("present"))) << name;
  }
}

TEST(Tune, LeavesAFileWithoutATableAsItIs) {
  Workplace place;
  for (const std::string content : {"precious\n", R"({"mine": 1})", "[1]"}) {
    place.Write("notes.json", content);
    const auto refused = place.Slipway({"bench", "allreduce", "--ranks", "1", "--tune", "notes.json"});
    EXPECT_NE(refused.status.code, 0) << refused.output;
    EXPECT_THAT(refused.errors, HasSubstr("'notes.json' holds no table of slipway.algorithms/1"));
    EXPECT_EQ(ReadFile(place / "notes.json"), content);
  }
}

TEST(MetricsFile, NamesStayOnTheirLines) {
  Workplace place;
  place.Write("train.sh", "printf '%s\\n' '{\"step\": 1, \"metrics\": {\"val\\nloss\": 2}}' >> $SLIPWAY_METRICS\n");
  place.WriteSpec("exp.yaml", "[sh, train.sh]");
  const auto ran = place.Slipway({"run", "exp.yaml"});
  ASSERT_EQ(ran.status.code, 0) << ran.errors;
  EXPECT_NE(ran.output.find("val loss "), std::string::npos) << ran.output;
  const auto status = place.Slipway({"status"}).output;
  EXPECT_NE(status.find("\n  val loss "), std::string::npos) << status;
}

}  // namespace
}  // namespace slipway::test
