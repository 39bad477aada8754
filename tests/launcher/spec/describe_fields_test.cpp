// What the table of fields tells editors, readers and shells.

#include "launcher/spec/describe_fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/files.h"
#include "core/process.h"
#include "launcher/cli/commands/spec.h"
#include "tests/support/temp_directory.h"

namespace slipway::launcher {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

constexpr auto kRegenerate = "regenerate it with: slipway schema";

TEST(ReferencePage, IsTheOneInTheDocuments) {
  EXPECT_EQ(ReadFile(SLIPWAY_SOURCE_DIR "/docs/reference/spec.md"), ReferencePage()) << kRegenerate << " --markdown";
}

TEST(JsonSchema, IsTheOneInTheDocuments) {
  EXPECT_EQ(ReadFile(SLIPWAY_SOURCE_DIR "/docs/reference/slipway.schema.json"), JsonSchema().dump(2) + "\n")
      << kRegenerate;
}

TEST(JsonSchema, GivesListsAsDefaultsOfLists) {
  const auto tier = JsonSchema()["properties"]["data"]["additionalProperties"]["properties"]["tier"];
  EXPECT_EQ(tier["default"], Json::array({"ram", "node", "none"}));
}

TEST(JsonSchema, SaysWhatTheWordsMean) {
  const auto schema = JsonSchema()["properties"]["data"]["additionalProperties"]["properties"]["remainder"]["anyOf"][0];
  EXPECT_EQ(schema["enum"], Json::array({"drop", "repeat", "pad"}));
  EXPECT_EQ(schema["enumDescriptions"].size(), 3u);
  EXPECT_THAT(ReferencePage(), HasSubstr("| `data.*.remainder` | `drop` | leave them out of this epoch |"));
}

/// Whether Python's jsonschema accepts the YAML text; the schema itself is checked, too.
testing::AssertionResult Accepts(const std::string& yaml) {
  const test::TempDirectory directory;
  WriteFile(directory / "schema.json", JsonSchema().dump());
  WriteFile(directory / "spec.yaml", yaml);
  SpawnOptions options;
  options.argv = {"/usr/bin/python3", "-c",
                  "import json, jsonschema, yaml\n"
                  "schema = json.load(open('schema.json'))\n"
                  "jsonschema.Draft7Validator.check_schema(schema)\n"
                  "jsonschema.Draft7Validator(schema).validate(yaml.safe_load(open('spec.yaml')))\n"};
  options.working_directory = directory.path();
  const auto captured = RunAndCapture(options);
  if (captured.status.Success()) return testing::AssertionSuccess();
  return testing::AssertionFailure() << captured.errors;
}

TEST(JsonSchema, AcceptsTheExperimentsAndRefusesTypos) {
  SpawnOptions probe;
  probe.argv = {"/usr/bin/python3", "-c", "import jsonschema, yaml"};
  if (!RunAndCapture(probe).status.Success()) GTEST_SKIP() << "python3-jsonschema or python3-yaml is not installed";
  EXPECT_TRUE(Accepts(ReadFile(SLIPWAY_SOURCE_DIR "/configs/fashion.yaml")));
  EXPECT_TRUE(Accepts(ReadFile(SLIPWAY_SOURCE_DIR "/configs/fashion-ensemble.yaml")));
  EXPECT_TRUE(Accepts("name: 1.5\nlaunch: {workdir: 1, time_limit: }\ntrain: {command: [a]}\n"));
  EXPECT_TRUE(Accepts("name: true\ncheckpoint: {every: }\ngradients: {clip_norm: }\ntrain: {command: [a]}\n"));
  EXPECT_FALSE(Accepts("name: x\ncheckpoint: {keep: }\ntrain: {command: [a]}\n")) << "it has a default";
  EXPECT_FALSE(Accepts("name:\ntrain: {command: [a]}\n")) << "it is required";
  EXPECT_FALSE(Accepts("name: x\ntrain: {command: [a], argz: {}}\n"));
  EXPECT_FALSE(Accepts("name: x\nlaunch: {nodes: many}\ntrain: {command: [a]}\n"));
  EXPECT_FALSE(Accepts("train: {command: [a]}\n"));
}

/// The words that bash offers after `line`.
std::string Complete(const std::vector<std::string>& line) {
  CompletionOptions options;
  options.shell = "bash";
  options.commands = {{"run", {"--set", "--engine"}}, {"resume", {}}, {"trials", {}}, {"trials best", {"--limit"}}};
  auto script = CompletionScript(options, CompletionWords());
  script += "COMP_WORDS=(" + QuoteForShell(line) + "); COMP_CWORD=" + std::to_string(line.size() - 1) +
            "\ncompopt() { :; }\n_slipway\necho \"${COMPREPLY[@]}\"\n";
  SpawnOptions bash;
  bash.argv = {"bash", "-c", script};
  const auto captured = RunAndCapture(bash);
  EXPECT_EQ(captured.errors, "");
  return captured.output;
}

TEST(Completion, OffersCommandsOptionsAndFields) {
  EXPECT_EQ(Complete({"slipway", "r"}), "run resume\n");
  EXPECT_EQ(Complete({"slipway", "--runs-dir", "elsewhere", "trials", "b"}), "best\n");
  EXPECT_EQ(Complete({"slipway", "trials", "b"}), "best\n");
  EXPECT_EQ(Complete({"slipway", "--on", "cluster", "trials", "b"}), "best\n");
  EXPECT_THAT(Complete({"slipway", "--on", "resum"}), Not(HasSubstr("resume"))) << "a host, no command";
  EXPECT_EQ(Complete({"slipway", "status", "--o"}), "--on\n");
  EXPECT_THAT(Complete({"slipway", "run", "x.yaml", "--s"}), HasSubstr("--set"));
  EXPECT_THAT(Complete({"slipway", "run", "x.yaml", "--set", "launch.ranks"}), HasSubstr("launch.ranks_per_node="));
}

TEST(Completion, OffersFilesWhereACommandTakesThem) {
  EXPECT_EQ(Complete({"slipway", "run", "/etc/host"}).find("--"), std::string::npos);
  EXPECT_THAT(Complete({"slipway", "run", "/etc/pass"}), HasSubstr("/etc/passwd"));
  EXPECT_THAT(Complete({"slipway", "run", "x.yaml", "--j"}), HasSubstr("--json"));
}

TEST(Completion, IsAcceptedByBash) {
  SpawnOptions bash;
  bash.argv = {"bash", "-c", "\"$0\" completion bash | bash -n", SLIPWAY_BUILD_DIR "/bin/slipway"};
  const auto captured = RunAndCapture(bash);
  EXPECT_TRUE(captured.status.Success()) << captured.errors;
  EXPECT_EQ(captured.errors, "");
}

TEST(CompletionWords, AreFieldsWithFixedNames) {
  EXPECT_THAT(CompletionWords(), Contains("ensemble.objective.metric"));
  for (const auto& word : CompletionWords()) EXPECT_EQ(word.find('*'), std::string::npos);
}

}  // namespace
}  // namespace slipway::launcher
