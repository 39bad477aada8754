// What the table of fields tells editors of workflow files.

#include "launcher/workflow/workflow_schema.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "core/files.h"
#include "core/process.h"
#include "tests/support/temp_directory.h"

namespace slipway::launcher {
namespace {

using testing::HasSubstr;

TEST(WorkflowSchema, IsTheOneInTheDocuments) {
  EXPECT_EQ(ReadFile(SLIPWAY_SOURCE_DIR "/docs/reference/slipway-workflow.schema.json"),
            WorkflowSchema().dump(2) + "\n")
      << "regenerate it with: slipway schema --workflow";
}

/// What Python's jsonschema says to the YAML text: empty if it accepts it. The schema itself is checked, too.
std::string Complaint(const std::string& yaml) {
  const test::TempDirectory directory;
  WriteFile(directory / "schema.json", WorkflowSchema().dump());
  WriteFile(directory / "flow.yaml", yaml);
  SpawnOptions options;
  options.argv = {"/usr/bin/python3", "-c",
                  "import json, jsonschema, yaml\n"
                  "schema = json.load(open('schema.json'))\n"
                  "jsonschema.Draft7Validator.check_schema(schema)\n"
                  "for error in jsonschema.Draft7Validator(schema).iter_errors(yaml.safe_load(open('flow.yaml'))):\n"
                  "    print(list(error.path), error.message[:400])\n"};
  options.working_directory = directory.path();
  const auto captured = RunAndCapture(options);
  return captured.output + captured.errors;
}

class WorkflowSchemaInPython : public testing::Test {
 protected:
  void SetUp() override {
    SpawnOptions probe;
    probe.argv = {"/usr/bin/python3", "-c", "import jsonschema, yaml"};
    if (!RunAndCapture(probe).status.Success()) GTEST_SKIP() << "python3-jsonschema or python3-yaml is not installed";
  }
};

TEST_F(WorkflowSchemaInPython, AcceptsTheWorkflowOfTheConfigs) {
  EXPECT_EQ(Complaint(ReadFile(SLIPWAY_SOURCE_DIR "/configs/cosmoflow-workflow.yaml")), "");
}

TEST_F(WorkflowSchemaInPython, AcceptsReferencesWhereValuesStand) {
  EXPECT_EQ(Complaint("name: x\n"
                      "defaults: {retries: 1, code: git, experiment: {launch: {ranks_per_node: 2}}}\n"
                      "notify: [{'on': end, command: [mail]}]\n"
                      "steps:\n"
                      "  a: {command: [x, 3], outputs: {o: o}, resources: {cpus: 2, memory: 8GB}}\n"
                      "  b:\n"
                      "    foreach: [1, 2]\n"
                      "    experiment: {launch: {ranks_per_node: '${item}'}, train: {args: '${item.params}'}}\n"
                      "  d: {command: [x], time_limit: , resources: {memory: }, pack: 1}\n"
                      "  c: {experiment: c.yaml, set: {train.args.lr: '${steps.a.metrics.lr}'}}\n"),
            "");
}

TEST_F(WorkflowSchemaInPython, RefusesTypos) {
  EXPECT_THAT(Complaint("name: x\nsteps: {a: {comand: [x]}}\n"), HasSubstr("comand"));
  EXPECT_THAT(Complaint("name: x\nsteps: {a: {command: [x], retries: many}}\n"), HasSubstr("retries"));
  EXPECT_THAT(Complaint("name: x\ndefaults: {command: [x]}\nsteps: {}\n"), HasSubstr("command"));
  EXPECT_THAT(Complaint("name: x\nsteps: {a: {experiment: {train: {comand: [x]}}}}\n"), HasSubstr("comand"));
}

}  // namespace
}  // namespace slipway::launcher
