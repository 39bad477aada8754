// What a training program is told: SLIPWAY_CONFIG, word for word; what trials of an ensemble get.

#include "launcher/plan/training_command.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "core/files.h"
#include "core/install.h"
#include "launcher/plan/environment_table.h"
#include "launcher/plan/python_path.h"
#include "launcher/spec/load.h"
#include "tests/support/temp_directory.h"

namespace slipway::launcher {
namespace {

/// The variables of a spec with these further lines.
std::map<std::string, std::string> VariablesOf(const std::string& more, const TrialTerms& terms = {}) {
  const test::TempDirectory directory;
  WriteFile(directory / "exp.yaml", "name: test\ntrain: {command: [/bin/true]}\n" + more);
  const auto spec = LoadSpec(directory / "exp.yaml", {}, {}).spec;
  const auto variables = TrainingVariables(spec, "0123456789abcdef", {}, {}, Json::object(), terms);
  return {variables.begin(), variables.end()};
}

Json ConfigurationOf(const std::string& more) { return Json::parse(VariablesOf(more).at("SLIPWAY_CONFIG")); }

constexpr auto kEnsemble = "ensemble:\n  objective: {metric: loss}\n  trials: 4\n  space: {lr: {log: [0.001, 0.1]}}\n";

TEST(DataVariables, TellTheRanksOfANodeOfItsShare) {
  const test::TempDirectory directory;
  WriteFile(directory / "exp.yaml", "name: test\ntrain: {command: [/bin/true]}\n");
  const auto spec = LoadSpec(directory / "exp.yaml", {}, {}).spec;
  const StagedDirectories data = {
      {"my-train", {}, "/runs/a/data/my-train.shares.json", {{0, "/tier/a"}, {1, "/tier/b"}}}, {"test", "/tier/test"}};
  const auto listed = TrainingVariables(spec, "0123456789abcdef", data, {}, Json::object());
  const std::map<std::string, std::string> all(listed.begin(), listed.end());
  EXPECT_EQ(all.at("SLIPWAY_SHARES_MY_TRAIN"), "/runs/a/data/my-train.shares.json");
  EXPECT_EQ(all.count("SLIPWAY_DATA_MY_TRAIN"), 0u);
  EXPECT_EQ(all.at("SLIPWAY_DATA_TEST"), "/tier/test");
  EXPECT_EQ(VariablesOfNode(data, 1), (Variables{{"SLIPWAY_DATA_MY_TRAIN", "/tier/b"}}));
  EXPECT_TRUE(VariablesOfNode(data, 2).empty());
}

/// The words of a program behind its name, with these lines in 'train'.
std::vector<std::string> WordsBehind(const std::string& more, const Json& parameters = Json::object()) {
  const test::TempDirectory directory;
  WriteFile(directory / "exp.yaml", "name: test\ntrain:\n" + more);
  auto words = TrainingCommand(LoadSpec(directory / "exp.yaml", {}, {}).spec.train, parameters);
  words.erase(words.begin());
  return words;
}

using Words = std::vector<std::string>;

TEST(TrainingCommand, HasAWordForEachElementOfAList) {
  EXPECT_EQ(WordsBehind("  command: [train]\n  args: {betas: [0.9, 0.95], names: [a, '2'], none: [], lr: 1}\n"),
            (Words{"--betas", "0.9", "0.95", "--names", "a", "2", "--none", "--lr", "1"}));
  EXPECT_EQ(WordsBehind("  command: [train, '{betas}', '--lr={lr}']\n  args: {betas: [0.9, 0.95], lr: 1}\n"),
            (Words{"0.9", "0.95", "--lr=1"}));
}

TEST(TrainingCommand, HasFlagsWithoutAValue) {
  constexpr auto kAtTheEnd = "  command: [train]\n  args: {a: true, b: false, c: true}\n  flags: [a, b]\n";
  EXPECT_EQ(WordsBehind(kAtTheEnd), (Words{"--a", "--c", "true"}));
  EXPECT_EQ(WordsBehind(kAtTheEnd, {{"a", false}, {"b", true}}), (Words{"--b", "--c", "true"})) << "those of a trial";
  EXPECT_EQ(WordsBehind("  command: [train, '{a}', '{b}', x]\n  args: {a: true, b: false}\n  flags: [a, b]\n"),
            (Words{"--a", "x"}));
}

TEST(TrainingCommand, HasNothingForAFlagWithoutAValue) {
  constexpr auto kConditional =
      "  command: [train, '{a}', '{b}']\n  flags: [b]\n"
      "ensemble:\n  objective: {metric: loss}\n  trials: 2\n"
      "  space: {a: {choice: [x, y]}, b: {choice: [true, false], when: {a: x}}}\n";
  EXPECT_EQ(WordsBehind(kConditional, {{"a", "x"}, {"b", true}}), (Words{"x", "--b"}));
  EXPECT_EQ(WordsBehind(kConditional, {{"a", "y"}}), Words{"y"});
}

TEST(TrainingVariables, HaveListsAndFlagsAsJson) {
  const test::TempDirectory directory;
  WriteFile(directory / "exp.yaml",
            "name: test\ntrain: {command: [train], args: {a: true, b: [x, '{slipway.run_dir}']}, flags: [a]}\n");
  const auto spec = LoadSpec(directory / "exp.yaml", {}, {}).spec;
  const CommandPlace at{{{"slipway.run_dir", "/runs/a"}}, {}};
  const auto listed = TrainingVariables(spec, "0123456789abcdef", {}, {}, Json::object(), {}, at);
  const std::map<std::string, std::string> all(listed.begin(), listed.end());
  EXPECT_EQ(all.at("SLIPWAY_PARAMS"), R"({"a":true,"b":["x","/runs/a"]})");
}

TEST(PythonPath, HasRelativeEntriesInTheGivenFolder) {
  EXPECT_EQ(WithAbsoluteEntries("src", "/lab/me"), "/lab/me/src");
  EXPECT_EQ(WithAbsoluteEntries("./a:/opt/b:../c", "/lab/me"), "/lab/me/a:/opt/b:/lab/c");
  EXPECT_EQ(WithAbsoluteEntries(":a:", "/lab/me"), ":/lab/me/a:") << "empty entries stay";
  EXPECT_EQ(WithAbsoluteEntries("", "/lab/me"), "");
}

TEST(PythonPath, HasTheUsersEntriesFirstAndThenThePackage) {
  const auto package = (LibraryDirectory() / "slipway/python").string();
  EXPECT_EQ(PythonPath(""), package);
  EXPECT_EQ(PythonPath("/a:/b", "/spec"), "/a:/b:" + package + ":/spec");
}

TEST(PythonPath, OfTheSpecStartsAtItsFolder) {
  const test::TempDirectory directory;
  WriteFile(directory / "exp.yaml",
            "name: test\nlaunch: {env: {PYTHONPATH: 'src:/opt/b'}}\ntrain: {command: [/bin/true]}\n");
  const auto spec = LoadSpec(directory / "exp.yaml", {}, {}).spec;
  const CommandPlace at{{{"slipway.spec_dir", "/lab/me"}}, {}};
  const auto listed = TrainingVariables(spec, "0123456789abcdef", {}, {}, Json::object(), {}, at);
  const auto last =
      std::find_if(listed.rbegin(), listed.rend(), [](const auto& each) { return each.first == "PYTHONPATH"; });
  ASSERT_NE(last, listed.rend());
  EXPECT_EQ(last->second, PythonPath("/lab/me/src:/opt/b"));
}

TEST(OuterProgram, IsLeftWithAllThatItsRunHasSet) {
  auto environment = Environment()
                         .Set("SLIPWAY_RUN_DIR", "/runs/a")
                         .Set("SLIPWAY_TRIAL", "3")
                         .Set("SLIPWAY_RESOURCE", "epoch")
                         .Set("SLIPWAY_RESOURCE_LIMIT", "1")
                         .Set("SLIPWAY_MLLOG", "/runs/a/mllog.txt")
                         .Set("SLIPWAY_STEP_DIR", "/runs/a/steps/b")
                         .Set("SLIPWAY_DATA_TRAIN", "/tier/a")
                         .Set("SLIPWAY_SHARES_TRAIN", "/runs/a/train.json")
                         .Set("SLIPWAY_INPUT_MODEL", "/runs/a/model")
                         .Set("SLIPWAY_OUTPUT_MODEL", "/runs/a/out")
                         .Set("SLIPWAY_ALGORITHMS", "ring")
                         .Set("PATH", "/bin");
  LeaveOuterProgram(environment);
  EXPECT_EQ(environment.entries(), (std::vector<std::string>{"SLIPWAY_ALGORITHMS=ring", "PATH=/bin"}));
}

TEST(OuterProgram, ThatIsNoneHasSetNothing) {
  auto environment = Environment().Set("SLIPWAY_DATA_ROOT", "/data").Set("RANK", "0");
  LeaveOuterProgram(environment);
  EXPECT_EQ(environment.entries().size(), 2u);
}

TEST(TrialVariables, CountRepeats) {
  EXPECT_EQ(VariablesOf("").at("SLIPWAY_REPEAT"), "0");
  EXPECT_EQ(VariablesOf(std::string(kEnsemble) + "  repeats: 3\n", {8, 2}).at("SLIPWAY_REPEAT"), "2");
}

TEST(TrialVariables, TellTheTrialsNumberInEnsemblesOnly) {
  EXPECT_EQ(VariablesOf(kEnsemble, {8}).at("SLIPWAY_TRIAL"), "8");
  EXPECT_FALSE(VariablesOf("").contains("SLIPWAY_TRIAL"));
}

TEST(TrialVariables, TellHowFarTheSchedulerLetsATrialGo) {
  EXPECT_FALSE(VariablesOf(kEnsemble).contains("SLIPWAY_RESOURCE"));
  const auto spec = std::string(kEnsemble) + "  scheduler: {type: asha, resource: step, max: 900}\n";
  TrialTerms terms;
  terms.limit = 300;
  EXPECT_EQ(VariablesOf(spec, terms).at("SLIPWAY_RESOURCE"), "step");
  EXPECT_EQ(VariablesOf(spec, terms).at("SLIPWAY_RESOURCE_LIMIT"), "300");
  EXPECT_EQ(VariablesOf(spec).at("SLIPWAY_RESOURCE_LIMIT"), "") << "to its end";
}

TEST(RuntimeConfiguration, HasEveryDefault) {
  EXPECT_EQ(
      ConfigurationOf("").dump(),
      R"({"spec_hash":"0123456789abcdef",)"
      R"("gradients":{"mode":"sync","lag":1,"sync_first":0,"sync_last":0,"accumulate":1,"compress":"none",)"
      R"("clip_norm":null,"check_finite":false,"bucket_bytes":4194304,"deterministic":true,"network":"unknown"},)"
      R"("resilience":{"stall_after_s":60.0},"trace":{"every":100,"chrome":false,"sums":0},"checkpoint":{"keep":2}})");
}

TEST(RuntimeConfiguration, HasWhatTheSpecSays) {
  const auto config = ConfigurationOf(
      "gradients: {mode: delayed, lag: 3, sync_first: 7%, sync_last: 5, accumulate: 4, compress: fp16, clip_norm: "
      "0.5,\n"
      "  check_finite: true, deterministic: canonical, bucket: 64KiB, network: fat_tree, algorithms: 'ring:0-max',\n"
      "  gpu_exchange: staged}\n"
      "resilience: {stall_after: 3s}\n"
      "trace: {every: 0, chrome: true, sums: 50}\n");
  EXPECT_EQ(config["gradients"].dump(),
            R"({"mode":"delayed","lag":3,"sync_first":"7%","sync_last":5,"accumulate":4,"compress":"fp16",)"
            R"("clip_norm":0.5,"check_finite":true,"bucket_bytes":65536,"deterministic":"canonical",)"
            R"("network":"fat_tree","algorithms":"ring:0-max","gpu_exchange":"staged"})");
  EXPECT_EQ(config["resilience"].dump(), R"({"stall_after_s":3.0})");
  EXPECT_EQ(config["trace"].dump(), R"({"every":0,"chrome":true,"sums":50})");
}

TEST(RuntimeConfiguration, SaysWhichCheckpointsStay) {
  EXPECT_EQ(ConfigurationOf("checkpoint: {keep: 3, every: 2s, keep_best: {metric: mae}}\n")["checkpoint"].dump(),
            R"({"keep":3,"every_s":2.0,"keep_best":{"metric":"mae","goal":"minimize"}})");
}

TEST(RuntimeConfiguration, SaysHowEachDatasetIsRead) {
  const auto config = ConfigurationOf(
      "data:\n"
      "  train: {source: a.tfrecord, distribute: node-shard, remainder: pad, on_corrupt: skip, overlap: true}\n"
      "  test: {source: a.tfrecord}\n");
  EXPECT_EQ(config["data"].dump(),
            R"({"train":{"remainder":"pad","on_corrupt":"skip","overlap":true,"seed":0,"distribute":"node-shard"},)"
            R"("test":{"remainder":"drop","on_corrupt":"fail","overlap":false,"seed":0,"distribute":"replicate"}})");
}

TEST(RuntimeConfiguration, HasTheOtherFormsOfSettings) {
  const auto gradients = ConfigurationOf("gradients: {deterministic: false, compress: bf16}\n")["gradients"];
  EXPECT_EQ(gradients["deterministic"], false);
  EXPECT_EQ(gradients["compress"], "bf16");
}

TEST(RuntimeConfiguration, WritesPercentagesAsTheyWereGiven) {
  for (const char* share : {"0%", "10%", "14%", "33.3%", "57%", "100%"}) {
    const auto config = ConfigurationOf("gradients: {sync_first: " + std::string(share) + "}\n");
    EXPECT_EQ(config["gradients"]["sync_first"], share);
  }
}

}  // namespace
}  // namespace slipway::launcher
