#include "launcher/workflow/workflow_document.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "launcher/workflow/resolve.h"
#include "launcher/workflow/step_key.h"
#include "tests/launcher/workflow/workflow_of.h"

namespace slipway::launcher {
namespace {

using test::TempDirectory;
using test::WorkflowOf;

constexpr const char* kSteps =
    "  make: {command: [make, '${outputs.data}'], outputs: {data: d.txt}, env: {X: '1'}, retries: 2,\n"
    "         resources: {cpus: 3, memory: 1GB}, time_limit: 90s, slurm: {partition: debug}}\n"
    "  search:\n"
    "    after: [make]\n"
    "    experiment:\n"
    "      train: {command: ['true', '{x}', '00', '$${y}'], args: {n: 1, text: '1', on: yes}}\n"
    "      launch: {cpus_per_rank: 2}\n"
    "      ensemble: {objective: {metric: m, goal: minimize}, trials: 2, space: {x: {int: [1, 9]}}}\n"
    "  train:\n"
    "    foreach: ${steps.search.top[0..1]}\n"
    "    when: ${steps.search.best.value} > 0\n"
    "    experiment: {train: {command: ['true'], args: {x: '${item.params.x}'}}}\n"
    "  page: {report: [search, train]}\n"
    "  check: {data: [verify, '${steps.make.outputs.data}'], inputs: {d: '${steps.make.outputs.data}'}}\n";

Workflow WrittenAndRead(const Workflow& workflow) {
  return ReadWorkflowDocument(WriteWorkflowDocument(workflow).dump(), "'submitted.json'");
}

std::string KeyOfStep(const Workflow& workflow, StepIndex step) {
  static const CodeState kNoCode;
  const KeySources sources{[](StepIndex need) { return std::to_string(need); },
                           [](StepIndex) -> const CodeState& { return kNoCode; }};
  Fingerprints files;
  return KeyOf(KeyPartsOf(workflow, step, sources, files));
}

TEST(WorkflowDocument, KeepsTheKeysOfAllSteps) {
  const TempDirectory folder;
  const auto before = WorkflowOf(folder, kSteps);
  const auto after = WrittenAndRead(before);
  ASSERT_EQ(after.steps.size(), before.steps.size());
  for (StepIndex step = 0; step < before.steps.size(); ++step) {
    EXPECT_EQ(KeyOfStep(after, step), KeyOfStep(before, step)) << before.steps[step].name;
  }
}

TEST(WorkflowDocument, KeepsWhatDecidesOnTheCourseOfTheRun) {
  const TempDirectory folder;
  const auto before = WorkflowOf(folder, kSteps);
  const auto after = WrittenAndRead(before);
  EXPECT_EQ(after.needs, before.needs);
  EXPECT_EQ(after.dependants, before.dependants);
  EXPECT_EQ(after.order, before.order);
  EXPECT_EQ(after.by_name, before.by_name);
  EXPECT_EQ(after.groups, before.groups);
  EXPECT_EQ(after.directory, before.directory);
  const auto& step = after.steps[after.by_name.at("make")];
  EXPECT_EQ(step.retries, 2);
  EXPECT_EQ(step.time_limit, Seconds(90));
  EXPECT_EQ(step.resources.cpus, 3);
  EXPECT_EQ(step.resources.memory.count, 1'000'000'000u);
  EXPECT_TRUE(step.slurm);
  EXPECT_EQ(after.steps[after.by_name.at("train.1")].when, "${steps.search.best.value} > 0");
}

TEST(WorkflowDocument, KeepsItsNotifications) {
  const TempDirectory folder;
  const auto before = WorkflowOf(folder,
                                 "  make: {command: ['true']}\n"
                                 "notify:\n"
                                 "  - {on: [end, failure], webhook: 'https://chat.example/secret', template: '{}'}\n"
                                 "  - {on: end, webhook: $HOOK}\n"
                                 "  - {on: failure, command: [mail, me]}\n");
  const auto after = WrittenAndRead(before).notify;
  ASSERT_EQ(after.size(), 3u);
  EXPECT_EQ(after[0].on, (std::vector{NotifyOn::kEnd, NotifyOn::kFailure}));
  EXPECT_EQ(after[0].webhook.value().url, "https://chat.example/secret");
  EXPECT_EQ(after[0].body, "{}");
  EXPECT_EQ(after[1].webhook.value().variable, "HOOK");
  EXPECT_EQ(after[2].command, (std::vector<std::string>{"mail", "me"}));
  EXPECT_FALSE(after[2].webhook);
}

TEST(WorkflowDocument, KeepsTheTypesOfValuesInSpecs) {
  const TempDirectory folder;
  const auto after = WrittenAndRead(WorkflowOf(folder, kSteps));
  const auto& search = std::get<EnsembleStep>(after.steps[after.by_name.at("search")].work);
  const Scope scope{after, {}, {}, {}};
  const auto text = ResolveSpec(*search.spec, scope);
  EXPECT_THAT(text, testing::HasSubstr("\"n\": 1\n"));
  EXPECT_THAT(text, testing::HasSubstr("\"text\": \"1\"\n"));
  EXPECT_THAT(text, testing::HasSubstr("\"00\""));
  EXPECT_THAT(text, testing::HasSubstr("\"${y}\""));
}

TEST(WorkflowDocument, ADamagedOneIsNamed) {
  try {
    ReadWorkflowDocument("{\"schema\": \"slipway.workflow.submitted/1\", \"name\": 3}", "'run/submitted.json'");
    FAIL() << "it was read";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("'run/submitted.json'"));
    EXPECT_THAT(error.what(), testing::HasSubstr("slipway submit FILE"));
  }
}

}  // namespace
}  // namespace slipway::launcher
