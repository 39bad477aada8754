// `slipway init`: projects that build and run at once.

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <regex>
#include <string>
#include <vector>

#include "core/files.h"
#include "core/json.h"
#include "tests/end_to_end/workplace.h"

namespace slipway::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr auto kPython = "/usr/bin/python3";
constexpr auto kMpirun = "mpirun --allow-run-as-root --oversubscribe";

/// `slipway init project --template ...`, then everything is called from within the project.
class Project {
 public:
  explicit Project(const std::string& chosen) {
    const auto made = place_.Slipway({"init", "project", "--template", chosen, "--json"});
    EXPECT_EQ(made.status.code, 0) << made.errors;
    answer_ = Json::parse(made.output);
  }

  const Json& answer() const { return answer_; }
  std::filesystem::path operator/(const std::filesystem::path& name) const { return place_ / "project" / name; }
  Workplace& place() { return place_; }

  /// Any command, in the project.
  Captured Call(std::vector<std::string> argv) const {
    SpawnOptions options;
    options.argv = std::move(argv);
    options.environment = Environment::Inherited();
    options.working_directory = place_ / "project";
    return RunAndCapture(std::move(options), std::chrono::minutes(2));
  }
  Json Run(std::vector<std::string> more = {}) const {
    std::vector<std::string> words = {"run", "project/experiment.yaml", "--json"};
    words.insert(words.end(), more.begin(), more.end());
    const auto ran = place_.Slipway(words);
    EXPECT_EQ(ran.status.code, 0) << ran.output << ran.errors;
    return Json::parse(ran.output);
  }
  /// What rank 0 wrote in an attempt.
  std::string Log(int attempt) const {
    return ReadFile(place_.RunFolder() / ("attempt-" + std::to_string(attempt)) / "rank-00000.log");
  }

 private:
  Workplace place_;
  Json answer_;
};

TEST(Init, OfACommandRunsAtOnce) {
  Project project("command");
  EXPECT_EQ(project.answer()["next"], (Json{"cd project", "slipway run experiment.yaml"}));
  const auto result = project.Run();
  EXPECT_LT(result["metrics"]["loss"], 0.01);
  EXPECT_TRUE(std::filesystem::exists(project.place().RunFolder() / "attempt-1/rank-00001.log")) << "two ranks";
  EXPECT_EQ(project.Call({"sh", "program.sh", "--no", "1"}).status.code, 2);
}

TEST(Init, OfAProgramInCppBuildsRunsAndContinues) {
  Project project("cpp");
  EXPECT_EQ(project.answer()["next"][1], "cmake -B build && cmake --build build");
  const auto built = project.Call({"sh", "-c", "cmake -B build && cmake --build build"});
  ASSERT_EQ(built.status.code, 0) << built.output << built.errors;
  const auto result = project.Run();
  EXPECT_LT(result["metrics"]["train_loss"], 0.6);
  EXPECT_GT(result["metrics"]["validation_accuracy"], 0.6);
  EXPECT_GT(result["metrics"]["test_accuracy"], 0.65);
  EXPECT_THAT(project.Log(1), HasSubstr("epoch 3  loss "));

  const auto resumed = project.place().Slipway({"resume", "last", "--set", "train.args.epochs=4"});
  ASSERT_EQ(resumed.status.code, 0) << resumed.errors;
  EXPECT_THAT(project.Log(2), HasSubstr("epoch 4  loss "));
  EXPECT_THAT(project.Log(2), Not(HasSubstr("epoch 3  loss ")));
}

TEST(Init, OfAProgramInPytorchRunsAndContinues) {
  Project project("pytorch");
  if (project.Call({kPython, "-c", "import torch"}).status.code != 0) {
    GTEST_SKIP() << "torch is not installed for " << kPython << " (Debian: python3-torch)";
  }
  project.place().SetVariable("PYTHON", kPython);
  const auto result = project.Run();
  EXPECT_LT(result["metrics"]["train_loss"], 0.6);
  EXPECT_GT(result["metrics"]["test_accuracy"], 0.65);

  const auto resumed = project.place().Slipway({"resume", "last", "--set", "train.args.epochs=4"});
  ASSERT_EQ(resumed.status.code, 0) << resumed.errors;
  EXPECT_THAT(project.Log(2), HasSubstr("epoch 4  loss "));
  EXPECT_THAT(project.Log(2), Not(HasSubstr("epoch 3  loss ")));
}

TEST(Init, OfAScriptOfDdpRunsOnItsRanksContinuesAndRunsUnderMpirun) {
  Project project("ddp");
  EXPECT_EQ(project.answer()["next"], (Json{"cd project", "slipway run experiment.yaml"}));
  if (project.Call({kPython, "-c", "import torch"}).status.code != 0) {
    GTEST_SKIP() << "torch is not installed for " << kPython << " (Debian: python3-torch)";
  }
  project.place().SetVariable("PYTHON", kPython);
  const auto result = project.Run();
  EXPECT_LT(result["metrics"]["train_loss"], 0.3);
  EXPECT_GT(result["metrics"]["accuracy"], 0.9);
  EXPECT_THAT(project.Log(1), HasSubstr("epoch 3  ranks 2  loss "));
  EXPECT_THAT(ReadFile(project.place().RunFolder() / "attempt-1/metrics.jsonl"), HasSubstr("\"epoch\":3"));

  const auto resumed = project.place().Slipway({"resume", "last", "--set", "train.args.epochs=4"});
  ASSERT_EQ(resumed.status.code, 0) << resumed.errors;
  EXPECT_THAT(project.Log(2), HasSubstr("epoch 4  ranks 2  loss "));
  EXPECT_THAT(project.Log(2), Not(HasSubstr("epoch 3  ranks 2  loss ")));

  const auto without_launcher = [&](const std::string& epochs) {
    return project.Call({"sh", "-c",
                         "PYTHONPATH=" SLIPWAY_BUILD_DIR "/lib/slipway/python " + std::string(kMpirun) + " -n 2 " +
                             kPython + " train.py --epochs " + epochs});
  };
  const auto alone = without_launcher("3");
  EXPECT_EQ(alone.status.code, 0) << alone.errors;
  const auto last_line = project.Log(1).substr(project.Log(1).find("epoch 3"));
  EXPECT_THAT(alone.output, HasSubstr(last_line)) << "the same losses as under the launcher";
  const auto continued = without_launcher("4");
  EXPECT_THAT(continued.output, HasSubstr("epoch 4  ranks 2  loss ")) << continued.errors;
  EXPECT_THAT(continued.output, Not(HasSubstr("epoch 3  ranks 2  loss ")));
}

TEST(Init, OfAProgramInPytorchSaysWhichPythonHasNoTorch) {
  Project project("pytorch");
  const auto made = project.Call({kPython, "-m", "venv", "--without-pip", "empty"});
  ASSERT_EQ(made.status.code, 0) << made.output << made.errors;
  const auto empty = project / "empty/bin/python3";
  project.place().SetVariable("PYTHON", empty.native());
  const auto ran = project.place().Slipway({"run", "project/experiment.yaml", "--json"});
  EXPECT_EQ(ran.status.code, 1);
  const auto result = Json::parse(ran.output);
  EXPECT_EQ(result["phase"], "failed");
  EXPECT_THAT(
      result["detail"].get<std::string>(),
      HasSubstr("train.py: " + empty.native() + " has no module torch: install it there, or name a Python that " +
                "has it: PYTHON=/usr/bin/python3 slipway run experiment.yaml"));
  EXPECT_THAT(project.Log(1), Not(HasSubstr("Traceback")));

  const auto by_hand = project.Call({kPython, "-I", "train.py"});
  EXPECT_EQ(by_hand.status.code, 1);
  EXPECT_THAT(by_hand.errors, HasSubstr("has no module slipway: start it by `slipway run experiment.yaml`"));
}

/// As a user would: "# ensemble:" and what follows without its number sign.
void Uncomment(const std::filesystem::path& file) {
  const auto text = ReadFile(file);
  const auto from = text.find("# ensemble:");
  ASSERT_NE(from, std::string::npos);
  WriteFile(file, text.substr(0, from) + std::regex_replace(text.substr(from), std::regex("(^|\n)# "), "$1"), 0644);
}

TEST(Init, TheTrialsInTheCommentAreRankedAndWithoutAWarning) {
  for (const std::string chosen : {"command", "cpp", "ddp", "pytorch"}) {
    Project project(chosen);
    Uncomment(project / "experiment.yaml");
    const auto checked =
        project.place().Slipway({"validate", "project/experiment.yaml", "--set", "train.command=[sh]"});
    EXPECT_EQ(checked.status.code, 0) << chosen << checked.errors;
    EXPECT_THAT(checked.errors, Not(HasSubstr("warning"))) << chosen;
    EXPECT_THAT(checked.output, HasSubstr("an ensemble")) << chosen;
  }
}

TEST(Init, OfAProgramInCppRanksItsTrialsByWhatWasSetAside) {
  Project project("cpp");
  Uncomment(project / "experiment.yaml");
  const auto built = project.Call({"sh", "-c", "cmake -B build && cmake --build build"});
  ASSERT_EQ(built.status.code, 0) << built.output << built.errors;
  const auto result = project.Run({"--set", "ensemble.trials=2"});
  EXPECT_EQ(result["phase"], "succeeded");
}

TEST(Init, HelpsTheEditorWithASchemaOfThisVersion) {
  for (const std::string chosen : {"command", "cpp", "ddp", "pytorch"}) {
    Project project(chosen);
    EXPECT_THAT(ReadFile(project / "experiment.yaml"),
                ::testing::StartsWith("# yaml-language-server: $schema=slipway.schema.json\nname: \"project\"\n"));
    EXPECT_EQ(Json::parse(ReadFile(project / "slipway.schema.json")),
              Json::parse(project.place().Slipway({"schema"}).output));
    for (const auto& file : project.answer()["files"]) {
      const auto path = project.place() / file.get<std::string>();
      ASSERT_TRUE(std::filesystem::is_regular_file(path)) << path;
      const auto text = path.extension() == ".tfrecord" ? "" : ReadFile(path);
      EXPECT_THAT(text, Not(HasSubstr("@NAME@"))) << path;
      EXPECT_THAT(text, Not(HasSubstr("@PREFIX@"))) << path;
    }
  }
}

TEST(Init, TouchesNothingThatIsThere) {
  const Workplace place;
  place.Write("project", "mine");
  std::filesystem::create_directory(place / "folder");
  for (const std::string name : {"project", "folder"}) {
    const auto refused = place.Slipway({"init", name, "--template", "command"});
    EXPECT_EQ(refused.status.code, 2);
    EXPECT_THAT(refused.errors, HasSubstr("'" + name + "' is there already"));
  }
  EXPECT_EQ(ReadFile(place / "project"), "mine");
  EXPECT_TRUE(std::filesystem::is_empty(place / "folder"));
}

TEST(Init, RefusesNamesThatAreNoFolderHere) {
  const Workplace place;
  const std::vector<std::string> names = {"../up", "a/b", "/tmp/x", ".hidden",
                                          "a b",   "",    "$(id)",  std::string(65, 'a')};
  for (const auto& name : names) {
    const auto refused = place.Slipway({"init", name, "--template", "command"});
    EXPECT_EQ(refused.status.code, 2) << name;
    EXPECT_THAT(refused.errors, HasSubstr("cannot be the name of a project")) << name;
  }
}

TEST(Init, SaysWhichTemplatesThereAre) {
  const Workplace place;
  EXPECT_EQ(place.Slipway({"init", "project"}).status.code, 2);
  const auto unknown = place.Slipway({"init", "project", "--template", "fortran"});
  EXPECT_EQ(unknown.status.code, 2);
  EXPECT_THAT(unknown.errors, HasSubstr("pytorch"));
  EXPECT_FALSE(std::filesystem::exists(place / "project"));
  EXPECT_THAT(place.Slipway({"init", "--help"}).output, HasSubstr("slipway init mine --template pytorch"));
  EXPECT_THAT(place.Slipway({"completion", "bash"}).output, HasSubstr("\"init\" | \"init \"*"));
}

TEST(Manual, IsTheOneInTheDocuments) {
  const Workplace place;
  EXPECT_EQ(place.Slipway({"manual"}).output, ReadFile(SLIPWAY_SOURCE_DIR "/docs/reference/cli.md"))
      << "regenerate it with: slipway manual";
  EXPECT_EQ(place.Slipway({"manual", "--environment"}).output,
            ReadFile(SLIPWAY_SOURCE_DIR "/docs/reference/environment.md"))
      << "regenerate it with: slipway manual --environment";
}

TEST(Manual, HasExamplesOfEachCommand) {
  const Workplace place;
  const auto manual = place.Slipway({"manual"}).output;
  const std::string heading = "\n## slipway ";
  for (auto at = manual.find(heading); at != std::string::npos;) {
    const auto next = manual.find(heading, at + 1);
    const auto section = manual.substr(at, next - at);
    EXPECT_THAT(section, HasSubstr("\nExamples:\n")) << section;
    at = next;
  }
  EXPECT_THAT(place.Slipway({"bench", "--help"}).output, HasSubstr("\nExamples:\n  slipway bench allreduce "));
}

TEST(Manual, WritesAManPageForEachCommand) {
  const Workplace place;
  const auto written = place.Slipway({"manual", "--man", "man1", "--json"});
  ASSERT_EQ(written.status.code, 0) << written.errors;
  EXPECT_GT(Json::parse(written.output)["pages"].size(), 40u);
  const auto page = ReadFile(place / "man1/slipway-trials-best.1");
  EXPECT_THAT(page, testing::StartsWith(".TH \"slipway\\-trials\\-best\" 1 "));
  for (const auto* section : {"NAME", "SYNOPSIS", "ARGUMENTS", "OPTIONS", "EXAMPLES", "SEE ALSO"}) {
    EXPECT_THAT(page, HasSubstr(std::string("\n.SH ") + section + "\n"));
  }
  EXPECT_THAT(ReadFile(place / "man1/slipway.1"), HasSubstr("\\fBslipway\\-run\\fR(1)"));
}

TEST(Init, NamesWhatAnInstallationLacks) {
  const Workplace place;
  std::filesystem::create_directories(place / "prefix/bin");
  std::filesystem::create_directories(place / "prefix/libexec/slipway");
  std::filesystem::copy(SLIPWAY_BUILD_DIR "/bin/slipway", place / "prefix/bin/slipway");
  SpawnOptions options;
  options.argv = {place / "prefix/bin/slipway", "init", "project", "--template", "cpp"};
  options.environment = Environment::Inherited();
  options.working_directory = place / ".";
  const auto refused = RunAndCapture(std::move(options), std::chrono::minutes(1));
  EXPECT_EQ(refused.status.code, 3);
  EXPECT_THAT(refused.errors, HasSubstr("prefix/share/slipway/templates/init/cpp"));
  EXPECT_FALSE(std::filesystem::exists(place / "project"));
}

}  // namespace
}  // namespace slipway::test
