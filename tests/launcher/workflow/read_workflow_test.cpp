#include "launcher/workflow/read_workflow.h"

#include <gmock/gmock.h>

#include <cstdlib>

#include "tests/launcher/workflow/workflow_of.h"

namespace slipway::launcher {
namespace {

using test::TempDirectory;
using test::WorkflowOf;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::string ErrorOf(const std::string& steps) {
  const TempDirectory folder;
  try {
    WorkflowOf(folder, steps);
  } catch (const SpecError& error) {
    return error.what();
  }
  return "no error";
}

TEST(ReadWorkflow, FindsEdgesInReferencesFilesAndAfter) {
  const TempDirectory folder;
  const auto workflow = WorkflowOf(folder,
                                   "  a: {command: [x], outputs: {o: data.txt}}\n"
                                   "  b: {command: [x, '${steps.a.outputs.o}']}\n"
                                   "  c: {command: [x], inputs: {i: data.txt}}\n"
                                   "  d: {command: [x], after: [b, c]}\n");
  EXPECT_THAT(workflow.needs, ElementsAre(ElementsAre(), ElementsAre(0), ElementsAre(0), ElementsAre(1, 2)));
  EXPECT_EQ(workflow.steps[2].inputs[0].second, "${steps.a.outputs.o}");
}

TEST(ReadWorkflow, SuggestsForAnInputWhatOtherStepsWrite) {
  const auto of = [](const std::string& own) {
    return ErrorOf("  a: {command: [x], inputs: {i: datb.txt}, outputs: {o: " + own +
                   "}}\n  b: {command: [x], outputs: {o: dats.txt, p: far/away.bin}}\n");
  };
  EXPECT_THAT(of("datb2.txt"), AllOf(HasSubstr("no step writes it"), HasSubstr("/dats.txt'?")));
  EXPECT_THAT(ErrorOf("  a: {command: [x], inputs: {i: datb.txt}, outputs: {o: data.txt}}\n"),
              AllOf(HasSubstr("no step writes it"), Not(HasSubstr("did you mean"))));
}

TEST(ReadWorkflow, RefusesAnOutputInsideAnother) {
  const auto of = [](const std::string& outputs) { return ErrorOf("  a: {command: [x], outputs: " + outputs + "}\n"); };
  EXPECT_THAT(of("{o: out, p: out/sub}"), HasSubstr("outputs 'o' and 'p' overlap"));
  EXPECT_THAT(of("{o: out/, p: out/sub}"), HasSubstr("outputs 'o' and 'p' overlap"));
  EXPECT_THAT(of("{o: x/../out/sub, p: out}"), HasSubstr("outputs 'o' and 'p' overlap"));
  EXPECT_EQ(of("{o: out/, p: out2}"), "no error");
}

TEST(ReadWorkflow, ExpandsForeachOverListsRangesAndOtherSteps) {
  const TempDirectory folder;
  const auto workflow = WorkflowOf(folder,
                                   "  a: {command: [x, '${item.name}', '${index}'], foreach: [{name: p}, {name: q}]}\n"
                                   "  b: {command: [y, '${item.folder}'], foreach: '${steps.a}'}\n");
  ASSERT_EQ(workflow.steps.size(), 4u);
  EXPECT_EQ(workflow.steps[1].name, "a.1");
  EXPECT_THAT(std::get<CommandStep>(workflow.steps[1].work).words, ElementsAre("x", "q", "1"));
  EXPECT_THAT(std::get<CommandStep>(workflow.steps[3].work).words, ElementsAre("y", "${steps.a[1].folder}"));
  EXPECT_THAT(workflow.needs[3], ElementsAre(1));
}

TEST(ReadWorkflow, LimitsTheStepsOfAForeachOnly) {
  const TempDirectory folder;
  EXPECT_EQ(WorkflowOf(folder, "  a: {command: [x], foreach: [1, 2], parallel: 1}\n").steps[1].parallel, 1);
  const auto with = [](const std::string& more) { return ErrorOf("  a: {command: [x], parallel: 2" + more + "}\n"); };
  EXPECT_THAT(with(""), HasSubstr("'parallel' limits the steps of a foreach: there is none"));
  EXPECT_THAT(with(", foreach: [1], pack: p"), HasSubstr("'pack: p' is one job"));
  EXPECT_THAT(with(", foreach: [1], jobs: packed"), HasSubstr("it has 'jobs: packed'"));
  EXPECT_THAT(ErrorOf("  a: {command: [x], foreach: [1], parallel: 0}\n"), HasSubstr("a whole number of at least 1"));
}

TEST(ReadWorkflow, PutsValuesOfAFileAboveThoseItIncludes) {
  const TempDirectory folder;
  WriteFile(folder / "base.yaml",
            "defaults: {retries: 3}\nsteps:\n  a: {command: [x], retries: 1}\n  b: {command: [y]}\n");
  WriteFile(folder / "flow.yaml", "name: flow\ninclude: base.yaml\nsteps:\n  a: {command: [z]}\n");
  const auto workflow = ReadWorkflow(folder / "flow.yaml", {"steps.b.time_limit=1m"});
  EXPECT_THAT(std::get<CommandStep>(workflow.steps[0].work).words, ElementsAre("z"));
  EXPECT_EQ(workflow.steps[0].retries, 1);
  EXPECT_EQ(workflow.steps[1].retries, 3);
  EXPECT_EQ(workflow.steps[1].time_limit, Seconds(60));
  EXPECT_THAT(workflow.steps[0].origins.at("retries"), HasSubstr("base.yaml:3"));
  EXPECT_THAT(workflow.steps[0].origins.at("command"), HasSubstr("flow.yaml:4"));
  EXPECT_EQ(workflow.steps[1].origins.at("time_limit"), "--set");
}

TEST(ReadWorkflow, TakesATildeForTheHomeDirectory) {
  const TempDirectory folder;
  const TempDirectory home;
  WriteFile(home / "data.txt", "1\n");
  WriteFile(home / "base.yaml", "steps: {a: {command: [x], inputs: {i: ~/data.txt}}}\n");
  WriteFile(home / "exp.yaml", "name: exp\ntrain: {command: [x]}\n");
  WriteFile(folder / "flow.yaml", "name: flow\ninclude: ~/base.yaml\nsteps: {b: {experiment: ~/exp.yaml}}\n");
  const auto kept = std::string(std::getenv("HOME") != nullptr ? std::getenv("HOME") : "");
  ::setenv("HOME", home.path().c_str(), 1);
  const auto workflow = ReadWorkflow(folder / "flow.yaml");
  ::setenv("HOME", kept.c_str(), 1);
  EXPECT_EQ(workflow.steps.at(workflow.by_name.at("a")).inputs.at(0).second, (home / "data.txt").string());
  const auto& work = workflow.steps.at(workflow.by_name.at("b")).work;
  EXPECT_EQ(std::get<ExperimentStep>(work).directory, home.path());
}

TEST(ReadWorkflow, RefusesFilesThatIncludeEachOther) {
  const TempDirectory folder;
  WriteFile(folder / "flow.yaml", "name: flow\ninclude: other.yaml\nsteps: {a: {command: [x]}}\n");
  WriteFile(folder / "other.yaml", "include: flow.yaml\n");
  EXPECT_THROW(ReadWorkflow(folder / "flow.yaml"), SpecError);
}

TEST(ReadWorkflow, KnowsTheParametersOfASearch) {
  const std::string search =
      "  search:\n"
      "    experiment:\n"
      "      train: {command: [x]}\n"
      "      ensemble: {objective: {metric: loss, goal: minimize}, trials: 4, space: {lr: {uniform: [0, 1]}}}\n";
  EXPECT_THAT(ErrorOf(search + "  a: {command: [x, '${steps.search.best.params.rl}']}\n"),
              HasSubstr("has no parameter 'rl'"));
  EXPECT_EQ(ErrorOf(search + "  a: {command: [x, '${steps.search.best.params.lr}']}\n"), "no error");
  EXPECT_THAT(ErrorOf(search + "  a: {command: [x, '${steps.search.top.trial}']}\n"), HasSubstr("needs an element"));
}

TEST(ReadWorkflow, ReportsAllErrorsAtOnce) {
  const auto text = ErrorOf("  a: {comand: [x]}\n  b: {command: [x], retries: many}\n  c: {command: []}\n");
  EXPECT_THAT(text, HasSubstr("unknown field 'comand'"));
  EXPECT_THAT(text, HasSubstr("flow.yaml:4:30: error: expected a whole number"));
  EXPECT_THAT(text, HasSubstr("'command' has no words"));
}

TEST(ReadWorkflow, RefusesVariablesThatNoStepCanSet) {
  EXPECT_THAT(ErrorOf("  a: {command: [x], env: {A=B: c}}\n"),
              HasSubstr("flow.yaml:3:27: error: 'A=B' cannot be the name of an environment variable"));
  EXPECT_THAT(ErrorOf("  a: {command: [x], env: {'': c}}\n"), HasSubstr("'' cannot be the name of an environment"));
  EXPECT_THAT(ErrorOf("  a: {command: [x], env: {SLIPWAY_STEP: c}}\n"), HasSubstr("are set by Slipway itself"));
  EXPECT_THAT(ErrorOf("  a: {command: [x]}\n  b: {command: [x]}\ndefaults: {env: {SLIPWAY_STEP: c}}\n"),
              AllOf(HasSubstr("flow.yaml:5:18: error: variables called"), Not(HasSubstr("errors"))));
  EXPECT_EQ(ErrorOf("  a: {command: [x], env: {OMP_NUM_THREADS: 4}}\n"), "no error");
}

TEST(ReadWorkflow, NamesItsOwnReferencesWhereOneIsUnknown) {
  EXPECT_THAT(ErrorOf("  a: {command: [x, '${foreach.x}'], foreach: [{x: 1}]}\n"),
              HasSubstr("'${foreach.x}' is no reference of a workflow: in a step with foreach"));
  EXPECT_THAT(ErrorOf("  a: {command: [x, '${steps}']}\n"), HasSubstr("did you mean ${steps.NAME.outputs.NAME}?"));
  EXPECT_THAT(ErrorOf("  a: {command: [x, '${HOME_X}']}\n"),
              HasSubstr("the environment variable 'HOME_X' is not set; give a default as ${HOME_X:-value}"));
}

TEST(ReadWorkflow, RefusesABadReferenceInAForeachAsElsewhere) {
  const std::string message = "flow.yaml:3:20: error: '${item[lr]}' is not a reference";
  EXPECT_THAT(ErrorOf("  a: {command: [x, '--lr=${item[lr]}'], foreach: [{lr: 1}]}\n"), HasSubstr(message));
  EXPECT_THAT(ErrorOf("  a: {command: [x, '${item[lr]}'], foreach: [{lr: 1}, {lr: 2}]}\n"), HasSubstr(message));
  EXPECT_THAT(ErrorOf("  a: {command: [x, '${index} ${steps.}'], foreach: [1]}\n"), HasSubstr("'${steps.}' is not"));
  EXPECT_THAT(ErrorOf("  a: {experiment: {train: {command: [x]}, launch: {ranks_per_node: '${index[x]}'}},\n"
                      "      foreach: [1]}\n"),
              Not(HasSubstr("expected")));
  EXPECT_THAT(ErrorOf("  a: {command: [x, '${index.x}'], foreach: [1]}\n"),
              HasSubstr("${index.x} does not fit value 0 of foreach"));
  EXPECT_EQ(ErrorOf("  a: {command: [x, '$${item[lr]} ${item.lr}'], foreach: [{lr: 1}]}\n"), "no error");
}

TEST(ReadWorkflow, LeavesEscapedReferencesAlone) {
  const TempDirectory folder;
  const auto workflow = WorkflowOf(folder, "  a: {command: [x, '$${steps.b}']}\n");
  EXPECT_THAT(workflow.needs, ElementsAre(ElementsAre()));
}

}  // namespace
}  // namespace slipway::launcher
