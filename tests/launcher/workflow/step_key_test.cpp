#include "launcher/workflow/step_key.h"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <utility>

#include "core/error.h"
#include "tests/launcher/workflow/workflow_of.h"

namespace slipway::launcher {
namespace {

using test::GraphOf;
using test::TempDirectory;
using test::WorkflowOf;
using testing::ElementsAre;

/// The keys of all steps; the key of a step stands for its result.
std::vector<std::string> KeysOf(const Workflow& workflow) {
  Fingerprints files;
  std::vector<std::string> keys(workflow.steps.size());
  for (const auto step : workflow.order) {
    const KeySources sources{[&](StepIndex need) { return keys[need]; }, {}};
    keys[step] = KeyOf(KeyPartsOf(workflow, step, sources, files));
  }
  return keys;
}

std::vector<std::vector<StepIndex>> RandomNeeds() {
  std::vector<std::vector<StepIndex>> needs(*rc::gen::inRange<std::size_t>(1, 40));
  for (StepIndex step = 1; step < needs.size(); ++step) {
    for (StepIndex need = 0; need < step; ++need) {
      if (*rc::gen::inRange(0, 6) == 0) needs[step].push_back(need);
    }
  }
  return needs;
}

/// The steps that depend on `edited`, directly or not, and itself. Steps need only those before them.
std::vector<bool> AffectedBy(StepIndex edited, const std::vector<std::vector<StepIndex>>& dependants) {
  std::vector<bool> affected(dependants.size(), false);
  affected[edited] = true;
  for (StepIndex step = edited; step < dependants.size(); ++step) {
    if (!affected[step]) continue;
    for (const auto next : dependants[step]) affected[next] = true;
  }
  return affected;
}

RC_GTEST_PROP(StepKey, AnEditChangesTheStepAndItsDependantsAndNothingElse, ()) {
  auto workflow = GraphOf(RandomNeeds());
  const auto before = KeysOf(workflow);
  const auto edited = *rc::gen::inRange<StepIndex>(0, workflow.steps.size());
  std::get<CommandStep>(workflow.steps[edited].work).words[1] = "1";
  const auto after = KeysOf(workflow);
  const auto affected = AffectedBy(edited, workflow.dependants);
  for (StepIndex step = 0; step < workflow.steps.size(); ++step) {
    RC_ASSERT((before[step] != after[step]) == affected[step]);
  }
}

TEST(StepKey, NamesWhatHasChanged) {
  const TempDirectory folder;
  WriteFile(folder / "raw.txt", "one");
  WriteFile(folder / "step.py", "pass");
  const auto text = std::string("  a: {command: [python3, step.py], inputs: {raw: raw.txt}, env: {X: '1'}}\n");
  const auto parts = [&](const std::string& steps) {
    Fingerprints files;
    return KeyPartsOf(WorkflowOf(folder, steps), 0, {[](StepIndex) { return std::string(); }, {}}, files);
  };
  const auto before = parts(text);
  WriteFile(folder / "raw.txt", "two");
  WriteFile(folder / "step.py", "exit()");
  EXPECT_THAT(WhatChanged(before, parts("  a: {command: [python3, step.py], inputs: {raw: raw.txt}}\n")),
              ElementsAre("env X is gone", "file step.py has changed", "input raw has changed"));
}

TEST(StepKey, ResourcesLimitsAndTheConditionChangeNoResult) {
  const TempDirectory folder;
  const auto plain = KeysOf(WorkflowOf(folder, "  a: {command: [x]}\n"));
  EXPECT_EQ(KeysOf(WorkflowOf(folder,
                              "  a: {command: [x], resources: {cpus: 4}, retries: 2, time_limit: 1h,\n"
                              "      description: text, when: 1 > 0}\n")),
            plain);
}

TEST(StepKey, NamesTheFilesThatItIsMadeOf) {
  const TempDirectory folder;
  for (const auto* name : {"run.py", "a.cfg", "b.cfg", "in.txt", "gone.txt"}) WriteFile(folder / name, "1");
  const auto workflow = WorkflowOf(folder, R"(
  make: {command: [python, run.py, "${outputs.o}"], outputs: {o: o.txt}}
  use:
    command: [python, run.py]
    files: ["*.cfg"]
    inputs: {i: in.txt, other: "${steps.make.outputs.o}", gone: gone.txt}
)");
  std::filesystem::remove(folder / "gone.txt");
  std::vector<std::string> names;
  for (const auto& file : FilesInKey(workflow, workflow.steps[workflow.by_name.at("use")])) {
    names.push_back(file.filename().string());
  }
  EXPECT_THAT(names, testing::UnorderedElementsAre("run.py", "a.cfg", "b.cfg", "in.txt", "gone.txt"));
}

TEST(Fingerprints, LookAgainAtWhatHasChanged) {
  const TempDirectory folder;
  const auto file = folder / "in.txt";
  WriteFile(file, "1");
  Fingerprints files;
  files.StampOf(file);
  const auto before = files.Of(file);
  EXPECT_FALSE(files.Refresh(file));
  WriteFile(file, "22");
  EXPECT_EQ(files.Of(file), before);
  EXPECT_TRUE(files.Refresh(file));
  EXPECT_NE(files.Of(file), before);
}

TEST(Fingerprints, KnowWhenSomethingChangedLast) {
  const TempDirectory folder;
  EXPECT_FALSE(LookAtTree(folder / "in").changed);
  std::filesystem::create_directories(folder / "in/deep");
  const auto empty = LookAtTree(folder / "in");
  WriteFile(folder / "in/deep/x", "1");
  using std::chrono::hours;
  std::filesystem::last_write_time(folder / "in/deep/x", std::filesystem::file_time_type::clock::now() - hours(9));
  const auto look = LookAtTree(folder / "in");
  EXPECT_EQ(look.stamp, StampOfTree(folder / "in"));
  EXPECT_NE(look.stamp, empty.stamp);
  ASSERT_TRUE(empty.changed && look.changed);
  EXPECT_GE(*look.changed, *empty.changed) << "a program can set the other time";
  EXPECT_EQ(LookAtTree(folder / "in/deep/x").changed, look.changed) << "it was changed last";
}

TEST(Fingerprints, FollowLinksToFolders) {
  const TempDirectory folder;
  for (const auto* name : {"in", "lib", "lib/deep"}) MakeDirectories(folder / name);
  WriteFile(folder / "lib/deep/x", "1");
  std::filesystem::create_directory_symlink("../lib", folder / "in/pkg");
  const auto of = [&] { return std::pair(Fingerprints().Of(folder / "in"), StampOfTree(folder / "in")); };
  const auto before = of();
  EXPECT_EQ(of(), before);
  EXPECT_EQ(Fingerprints().BytesOf(folder / "in"), 1u);
  WriteFile(folder / "lib/deep/x", "22");
  EXPECT_NE(of().first, before.first);
  EXPECT_NE(of().second, before.second);
  EXPECT_EQ(Fingerprints().BytesOf(folder / "in"), 2u);
}

TEST(Fingerprints, EnterAFolderOnceHoweverLinksLeadToIt) {
  const TempDirectory folder;
  for (const auto* name : {"in", "in/a"}) MakeDirectories(folder / name);
  WriteFile(folder / "in/a/x", "1");
  std::filesystem::create_directory_symlink("..", folder / "in/a/up");
  std::filesystem::create_directory_symlink("a", folder / "in/b");
  const auto before = Fingerprints().Of(folder / "in");
  EXPECT_EQ(Fingerprints().BytesOf(folder / "in"), 1u);
  std::filesystem::remove(folder / "in/b");
  std::filesystem::create_directory_symlink(".", folder / "in/b");
  EXPECT_NE(Fingerprints().Of(folder / "in"), before);
}

TEST(Fingerprints, KnowTheTargetsOfDanglingLinks) {
  const TempDirectory folder;
  MakeDirectories(folder / "in");
  std::filesystem::create_symlink("one", folder / "in/link");
  const auto before = Fingerprints().Of(folder / "in");
  std::filesystem::remove(folder / "in/link");
  std::filesystem::create_symlink("two", folder / "in/link");
  EXPECT_NE(Fingerprints().Of(folder / "in"), before);
}

TEST(Fingerprints, RefusePipesWithoutWaiting) {
  const TempDirectory folder;
  const auto pipe = folder / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THROW(Fingerprints().Of(pipe), Error);
  EXPECT_THROW(StampOfTree(pipe), Error);
  EXPECT_EQ(OtherKindOf(pipe), "a named pipe");
  EXPECT_EQ(OtherKindOf(folder.path()), "");
}

TEST(StepKey, PartsCannotRunIntoEachOther) {
  EXPECT_NE(KeyOf({{"a", "bc"}}), KeyOf({{"ab", "c"}}));
  EXPECT_NE(KeyOf({{"a", "b"}, {"c", "d"}}), KeyOf({{"a", "bcd"}}));
}

}  // namespace
}  // namespace slipway::launcher
