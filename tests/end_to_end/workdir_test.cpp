// Where programs work: a folder of each run's and trial's own, and what they find there of what lies beside the spec.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/files.h"
#include "tests/end_to_end/workplace.h"

namespace slipway::test {
namespace {
namespace fs = std::filesystem;

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr auto kMetrics = "  metrics: {from: stdout, pattern: 'FoM: (?<objective>\\S+)'}\n";

/// As many programs do: what was trained before is not trained again.
constexpr auto kTrainsOnce = "test -e model.txt || echo \"$2\" > model.txt\necho FoM: $(cat model.txt)\n";

class WorkingDirectory : public testing::Test {
 protected:
  void WriteSpec(const std::string& command, const std::string& launch = "", const std::string& more = "") const {
    place_.Write("exp.yaml", "name: test\nlaunch: {engine: local" + launch + "}\ntrain:\n  command: " + command + "\n" +
                                 kMetrics + more);
  }

  void WriteEnsemble(const std::string& launch = "", const std::string& ensemble = "") const {
    place_.Write("train.sh", kTrainsOnce);
    WriteSpec("[sh, train.sh]", launch,
              "ensemble:\n  objective: {metric: objective}\n  trials: 4\n  sampler: grid\n"
              "  space: {lr: {choice: [1, 2, 3, 4]}}\n" +
                  ensemble);
  }

  std::string Output(const Captured& ran) const {
    EXPECT_EQ(ran.status.code, 0) << ran.output << ran.errors;
    return ran.output;
  }

  Workplace place_;
};

TEST_F(WorkingDirectory, IsNotSharedByTrials) {
  WriteEnsemble();
  place_.Slipway({"run", "exp.yaml"});
  const auto trials = Json::parse(place_.Slipway({"trials", "ls", "last", "--json"}).output)["trials"];
  ASSERT_EQ(trials.size(), 4u);
  for (const auto& trial : trials) EXPECT_EQ(trial["objective"], trial["parameters"]["lr"]) << trial.dump();
  EXPECT_FALSE(fs::exists(place_ / "model.txt"));
  EXPECT_TRUE(fs::exists(place_.RunFolder() / "trials/00003" / "work" / "model.txt"));
}

TEST_F(WorkingDirectory, IsNotSharedByRuns) {
  place_.Write("train.sh", kTrainsOnce);
  WriteSpec("[sh, train.sh]", "", "  args: {lr: 1}\n");
  EXPECT_THAT(Output(place_.Slipway({"run", "exp.yaml"})), HasSubstr("FoM: 1"));
  EXPECT_THAT(Output(place_.Slipway({"run", "exp.yaml", "--set", "train.args.lr=2"})), HasSubstr("FoM: 2"));
}

TEST_F(WorkingDirectory, IsFoundAgainByTheNextAttempt) {
  WriteSpec("[sh, -c, 'test -e snapshot || { touch snapshot; exit 1; }; echo went on']");
  EXPECT_EQ(place_.Slipway({"run", "exp.yaml"}).status.code, 1);
  EXPECT_THAT(place_.Slipway({"explain", "last"}).output, HasSubstr("the program finds its files in work/ again"));
  EXPECT_THAT(Output(place_.Slipway({"resume", "last"})),
              AllOf(HasSubstr("went on"), HasSubstr("\n  files   " + (place_.RunFolder() / "work").string())));
  EXPECT_TRUE(fs::exists(place_.RunFolder() / "work/snapshot"));
}

TEST_F(WorkingDirectory, LetsProgramsFindWhatTheirCommandNamesBesideTheSpec) {
  place_.Write("conf.txt", "the configuration");
  place_.Write("data/values.txt", "the values");
  place_.Write("show.sh", "cat \"$1\" \"${2#--config=}\" \"$3/values.txt\"\n");
  WriteSpec("[sh, ./show.sh, conf.txt, '--config=conf.txt', ./data]");
  const auto said = Output(place_.Slipway({"run", "exp.yaml"}));
  EXPECT_THAT(said, HasSubstr("the configurationthe configurationthe values"));
  EXPECT_THAT(Output(place_.Slipway({"plan", "exp.yaml"})), HasSubstr("uses  show.sh, conf.txt, conf.txt, data in "));
}

TEST_F(WorkingDirectory, StartsAProgramThatLiesBesideTheSpec) {
  place_.Write("train.sh", "#!/bin/sh\npwd\n");
  fs::permissions(place_ / "train.sh", fs::perms::owner_all);
  WriteSpec("[./train.sh]");
  const auto said = Output(place_.Slipway({"run", "exp.yaml", "--no-prefix"}));
  EXPECT_THAT(said, testing::StartsWith((place_.RunFolder() / "work\n").string()));
}

TEST_F(WorkingDirectory, LetsPythonFindModulesBesideTheSpec) {
  place_.Write("model.py", "value = 'of the module'\n");
  place_.Write("train.py", "import model\nprint(model.value)\n");
  for (const auto* command : {"[python3, train.py]", "[python3, -m, train]", "[python3, -c, 'import train']"}) {
    WriteSpec(command);
    EXPECT_THAT(Output(place_.Slipway({"run", "exp.yaml"})), HasSubstr("of the module")) << command;
  }
}

TEST_F(WorkingDirectory, LetsPythonFindModulesOfARelativePythonPath) {
  place_.Write("src/model.py", "value = 'of the module'\n");
  place_.Write("train.py", "import model, slipway\nprint(model.value)\n");
  place_.SetVariable("PYTHONPATH", "src");
  WriteSpec("[python3, train.py]");
  EXPECT_THAT(Output(place_.Slipway({"run", "exp.yaml"})), HasSubstr("of the module"));
  place_.SetVariable("PYTHONPATH", "");
  WriteSpec("[python3, train.py]", ", env: {PYTHONPATH: src}");
  EXPECT_THAT(Output(place_.Slipway({"run", "exp.yaml"})), HasSubstr("of the module"));
}

TEST_F(WorkingDirectory, HasLinksToTheFilesThatAreListed) {
  place_.Write("conf/a.txt", "listed");
  place_.Write("values.json", "and this");
  WriteSpec("[sh, -c, 'cat conf/a.txt values.json']", ", files: [conf, '*.json']");
  EXPECT_THAT(Output(place_.Slipway({"run", "exp.yaml"})), HasSubstr("listedand this"));
  EXPECT_THAT(Output(place_.Slipway({"plan", "exp.yaml"})), HasSubstr("links to  conf, values.json"));
  WriteSpec("[sh, -c, 'true']", ", files: [cnof]");
  const auto refused = place_.Slipway({"run", "exp.yaml"});
  EXPECT_EQ(refused.status.code, 3);
  EXPECT_THAT(refused.errors, AllOf(HasSubstr("no file matches"), HasSubstr("cnof")));
}

TEST_F(WorkingDirectory, IsExplainedWhereAFileBesideTheSpecIsNotFound) {
  place_.Write("data/values.txt", "1");
  WriteSpec("[sh, -c, 'LC_ALL=C cat data/values.txt']");
  EXPECT_EQ(place_.Slipway({"run", "exp.yaml"}).status.code, 1);
  EXPECT_THAT(place_.Slipway({"explain", "last"}).output, HasSubstr("launch.files: [data] or launch.workdir: spec"));
  WriteSpec("[sh, -c, 'cd /; LC_ALL=C cat data/values.txt']", ", workdir: spec");
  EXPECT_EQ(place_.Slipway({"run", "exp.yaml"}).status.code, 1);
  EXPECT_THAT(place_.Slipway({"explain", "last"}).output, Not(HasSubstr("lies beside the spec")));
}

TEST_F(WorkingDirectory, IsTheSameForSeveralRanks) {
  WriteSpec("[sh, -c, 'pwd']", ", ranks_per_node: 2");
  const auto said = Output(place_.Slipway({"run", "exp.yaml"}));
  const auto work = (place_.RunFolder() / "work").string();
  EXPECT_THAT(said, AllOf(HasSubstr("[0] " + work), HasSubstr("[1] " + work)));
}

TEST_F(WorkingDirectory, IsThatOfTheSpecOnRequestAndSharedFilesAreTold) {
  WriteEnsemble(", workdir: spec", "  parallel: 1\n");
  const auto read = place_.Slipway({"run", "exp.yaml"});
  EXPECT_EQ(read.status.code, 0) << read.errors;
  EXPECT_THAT(read.errors, HasSubstr("model.txt' was written while trial 0 ran, and 4 trials have 1 such file"));
  place_.Write("train.sh", "echo \"$2\" > model.txt\necho FoM: $2\n");
  EXPECT_THAT(place_.Slipway({"run", "exp.yaml"}).errors,
              HasSubstr("model.txt' was written while trial 0 ran, and again while trial 1 ran"));
}

TEST_F(WorkingDirectory, TellsThatTrialsWriteAFileWhichTheCommandNames) {
  place_.Write("log.txt", "");
  WriteSpec(
      "[sh, -c, 'echo $0 >> $1; echo FoM: 1', '{x}', log.txt]", "",
      "ensemble:\n  objective: {metric: objective}\n  trials: 3\n  parallel: 1\n  space: {x: {uniform: [0, 1]}}\n");
  const auto ran = place_.Slipway({"run", "exp.yaml"});
  EXPECT_THAT(ran.errors, HasSubstr("log.txt' was written while trial 0 ran, and again while trial 1 ran"));
}

TEST_F(WorkingDirectory, SaysNothingWhereEachTrialHasItsFile) {
  WriteSpec("[sh, -c, 'echo $0 > model-$SLIPWAY_TRIAL; echo FoM: 1', '{x}']", ", workdir: spec",
            "ensemble:\n  objective: {metric: objective}\n  trials: 4\n  space: {x: {uniform: [0, 1]}}\n");
  EXPECT_THAT(place_.Slipway({"run", "exp.yaml"}).errors, Not(HasSubstr("was written")));
}

TEST_F(WorkingDirectory, MayBeAPathWithTheTrialInIt) {
  WriteEnsemble(", workdir: '" + (place_ / "scratch/{slipway.trial}").string() + "'");
  EXPECT_EQ(place_.Slipway({"run", "exp.yaml"}).status.code, 0);
  for (const auto* trial : {"0", "1", "2", "3"}) EXPECT_TRUE(fs::exists(place_ / "scratch" / trial / "model.txt"));
}

TEST_F(WorkingDirectory, IsNamedInCommandsArgumentsAndVariables) {
  WriteSpec("[sh, -c, 'echo at $1; echo in $2; echo var $WHERE; echo params $SLIPWAY_PARAMS', sh, '{slipway.workdir}']",
            ", env: {WHERE: '{slipway.output_dir}/x', PLAIN: '{not.ours}'}",
            "  args: {out: '{slipway.checkpoint_dir}'}\n");
  const auto said = Output(place_.Slipway({"run", "exp.yaml"}));
  const auto run = place_.RunFolder().string();
  EXPECT_THAT(
      said, AllOf(HasSubstr("at " + run + "/work\n"), HasSubstr("in --out\n"), HasSubstr("var " + run + "/outputs/x\n"),
                  HasSubstr("params {\"out\":\"" + run + "/checkpoints\"}")));
}

TEST_F(WorkingDirectory, WarnsOfAScriptThatIsNotBesideTheSpec) {
  place_.Write("train.py", "");
  WriteSpec("[python3, trian.py]");
  for (const auto* command : {"validate", "plan", "run"}) {
    const auto said = place_.Slipway({command, "exp.yaml"}).errors;
    EXPECT_THAT(said, AllOf(HasSubstr("exp.yaml:4:22: warning: 'trian.py' is not beside the spec ("),
                            HasSubstr("did you mean 'train.py'?")))
        << command;
  }
  const auto explained = place_.Slipway({"explain", "last"}).output;
  EXPECT_THAT(explained, HasSubstr("start anew: slipway run " + (place_ / "exp.yaml").string()));
}

TEST_F(WorkingDirectory, WarnsOfNoWordThatMayBeMeant) {
  place_.Write("conf/a.yaml", "");
  WriteSpec("[sh, -c, 'true', out.txt, model.json, --lr=0.1, '{slipway.workdir}/x.py', conf/a.yaml, a.b]");
  EXPECT_THAT(place_.Slipway({"validate", "exp.yaml"}).errors, Not(HasSubstr("warning")));
}

TEST_F(WorkingDirectory, OfAnUnknownNameIsRefused) {
  WriteSpec("[sh, '{slipway.wordkir}']");
  const auto refused = place_.Slipway({"validate", "exp.yaml"});
  EXPECT_EQ(refused.status.code, 2);
  EXPECT_THAT(refused.errors, HasSubstr("did you mean 'slipway.workdir'?"));
  WriteSpec("[sh, -c, 'true']", ", env: {A: '{slipway.trial}'}");
  EXPECT_THAT(place_.Slipway({"validate", "exp.yaml"}).errors, HasSubstr("this spec has no ensemble"));
}

TEST(RunInATrial, DoesNotTakeTheTrialsVariablesForItsOwn) {
  Workplace place;
  place.SetVariable("SLIPWAY_RUN_DIR", "/runs/outer/trials/3");
  place.SetVariable("SLIPWAY_TRIAL", "3");
  place.SetVariable("SLIPWAY_RESOURCE_LIMIT", "1");
  place.SetVariable("SLIPWAY_DATA_OUTER", "/tier/outer");
  place.SetVariable("SLIPWAY_ALGORITHMS", "ring");
  place.WriteSpec("exp.yaml", "[sh, -c, 'env | grep ^SLIPWAY_']");
  const auto ran = place.Slipway({"run", "exp.yaml"});
  ASSERT_EQ(ran.status.code, 0) << ran.errors;
  EXPECT_THAT(ran.output, HasSubstr("SLIPWAY_RUN_DIR=" + place.RunFolder().string()));
  EXPECT_THAT(ran.output, HasSubstr("SLIPWAY_ALGORITHMS=ring"));
  EXPECT_THAT(ran.output, HasSubstr("SLIPWAY_REPEAT=0"));
  for (const char* outer : {"SLIPWAY_TRIAL", "SLIPWAY_RESOURCE_LIMIT", "SLIPWAY_DATA_OUTER"}) {
    EXPECT_THAT(ran.output, Not(HasSubstr(outer)));
  }
}

}  // namespace
}  // namespace slipway::test
