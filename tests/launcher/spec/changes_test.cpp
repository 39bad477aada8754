// What a run that goes on may change in its spec, and how a change is read.

#include "launcher/spec/changes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files.h"
#include "launcher/spec/fields.h"
#include "launcher/spec/load.h"
#include "tests/support/temp_directory.h"

namespace slipway::launcher {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr auto kEnsemble =
    "name: small\n"
    "launch: {time_limit: 20m, env: {A: '1'}}\n"
    "train: {command: [/bin/true], args: {epochs: 3, optimizer.name: sgd}}\n"
    "gradients: {sync_first: 7%}\n"
    "ensemble:\n"
    "  objective: {metric: accuracy, goal: maximize}\n"
    "  trials: 8\n"
    "  parallel: 2\n"
    "  space: {lr: {log: [1.0e-4, 1.0e-1]}, n: {choice: [1, two, true]}}\n";
constexpr auto kSingle = "name: small\ntrain: {command: [/bin/true], args: {epochs: 3}}\n";

/// An ensemble has results already.
SpecDocument Change(const SpecDocument& begun, const std::vector<std::string>& overrides) {
  return ChangeSpec(begun, overrides, begun.spec.ensemble ? RunKind::kEnsemble : RunKind::kSingle);
}

class Changes : public testing::Test {
 protected:
  SpecDocument Begun(const std::string& spec) const {
    WriteFile(directory_ / "spec.yaml", spec);
    return LoadSpec(directory_ / "spec.yaml", {}, {});
  }

  std::vector<std::string> Described(const std::string& spec, const std::vector<std::string>& overrides) const {
    std::vector<std::string> lines;
    for (const auto& change : Change(Begun(spec), overrides).changes) lines.push_back(Describe(change));
    return lines;
  }

  std::string ErrorOf(const std::string& spec, const std::vector<std::string>& overrides) const {
    try {
      Change(Begun(spec), overrides);
    } catch (const SpecError& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kUsage);
      return error.what();
    }
    return "no error";
  }

  test::TempDirectory directory_;
};

TEST_F(Changes, AnEmptyMapEmptiesTheMap) {
  EXPECT_THAT(Described(kSingle, {"train.args={}"}), ElementsAre(HasSubstr("train.args")));
}

TEST_F(Changes, WithoutAnyTheSpecIsTheSameToTheBit) {
  for (const auto* text : {kEnsemble, kSingle}) {
    const auto begun = Begun(text);
    const auto again = Change(begun, {});
    EXPECT_EQ(*again.resolved, *begun.resolved);
    EXPECT_EQ(again.spec_hash, begun.spec_hash);
    EXPECT_EQ(again.origins, begun.origins);
    EXPECT_EQ(again.directory, begun.directory);
    EXPECT_THAT(again.changes, IsEmpty());
  }
}

TEST_F(Changes, AreReadAsInASpecAndKeepTheRest) {
  const auto begun = Begun(kEnsemble);
  const auto changed =
      Change(begun, {"ensemble.trials=16", "launch.time_limit=1h", "ensemble.budget={time: 2h}", "trace.every=5"});
  EXPECT_EQ(changed.spec.ensemble->trials, 16);
  EXPECT_EQ(changed.spec.ensemble->parallel, 2);
  EXPECT_EQ(changed.spec.launch.time_limit, Seconds(3600));
  EXPECT_EQ(changed.spec.ensemble->budget->time, Seconds(7200));
  EXPECT_EQ(changed.spec.gradients.sync_first.fraction, 0.07);
  EXPECT_NE(changed.spec_hash, begun.spec_hash);
  EXPECT_EQ(changed.origins.at("ensemble.trials"), "--set");
  EXPECT_THAT(changed.origins.at("ensemble.space"), HasSubstr("spec.yaml:9"));
}

TEST_F(Changes, AreToldWithTheOldAndTheNewValue) {
  EXPECT_THAT(
      Described(kEnsemble, {"ensemble.trials=16", "launch.time_limit=1h30m", "ensemble.max_failures=2"}),
      ElementsAre("launch.time_limit 20m00s -> 1h30m", "ensemble.trials 8 -> 16", "ensemble.max_failures none -> 2"));
  EXPECT_THAT(Described(kEnsemble, {"ensemble.budget.time=2h"}),
              ElementsAre("ensemble.budget none -> {\"time\":7200.0,\"node_hours\":null}"));
  EXPECT_THAT(Described(kEnsemble, {"launch.time_limit=null"}), ElementsAre("launch.time_limit 20m00s -> none"));
}

TEST_F(Changes, ToTheSameValueAreNone) {
  EXPECT_THAT(Described(kEnsemble, {"ensemble.trials=8", "launch.time_limit=1200s", "train.args.epochs=3"}), IsEmpty());
}

TEST_F(Changes, OfMapsLeaveTheirOtherMembers) {
  const auto changed = Change(Begun(kSingle), {"train.args.lr=0.5", "launch.env={A: '1'}"});
  EXPECT_EQ((*changed.resolved)["train"]["args"], Json::parse(R"({"epochs": 3, "lr": 0.5})"));
  EXPECT_EQ(changed.spec.launch.env.size(), 1U);
}

TEST_F(Changes, ThatWouldMixTwoExperimentsAreRefusedAllAtOnce) {
  const auto error = ErrorOf(kEnsemble, {"ensemble.space.lr={uniform: [0, 1]}", "ensemble.trials=9",
                                         "train.args.epochs=4", "ensemble.seed=5"});
  EXPECT_THAT(error, HasSubstr("the spec has 3 errors"));
  EXPECT_THAT(error, AllOf(HasSubstr("'ensemble.space.lr'"), HasSubstr("were drawn from the other space"),
                           HasSubstr("slipway trials import")));
  EXPECT_THAT(error, AllOf(HasSubstr("'train.args.epochs'"), HasSubstr("finished trials ran with the other value"),
                           HasSubstr("slipway trials enqueue")));
  EXPECT_THAT(error, AllOf(HasSubstr("--set"), HasSubstr("ensemble.seed=5"), Not(HasSubstr("ensemble.trials=9"))));
}

TEST_F(Changes, OfASingleRunMayTouchItsArgumentsButNotItsData) {
  EXPECT_THAT(
      Described(kSingle, {"train.args.epochs=9", "launch.ranks_per_node=2", "gradients.bucket=1MiB"}),
      ElementsAre("launch.ranks_per_node 1 -> 2", "train.args.epochs 3 -> 9", "gradients.bucket 4.19 MB -> 1.05 MB"));
  EXPECT_THAT(ErrorOf(kSingle, {"train.command=[/bin/false]"}), HasSubstr("learned by the other program"));
  EXPECT_THAT(ErrorOf(kSingle, {"data.train={source: 'x.tfrecord'}"}), HasSubstr("'data.train' cannot change"));
}

TEST_F(Changes, CannotMakeAnEnsembleOfARun) {
  EXPECT_THAT(ErrorOf(kSingle, {"ensemble={objective: {metric: a}, trials: 2, space: {x: {int: [0, 1]}}}"}),
              HasSubstr("an ensemble from its beginning or never"));
}

TEST_F(Changes, AreCheckedAsTheSpecIs) {
  EXPECT_THAT(ErrorOf(kEnsemble, {"ensemble.trials=1"}),
              HasSubstr("'parallel' is larger than the number of trials: 'ensemble.trials' is 1"));
  EXPECT_THAT(ErrorOf(kEnsemble, {"ensemble.trial=1"}), HasSubstr("did you mean 'trials'?"));
  EXPECT_THAT(ErrorOf(kEnsemble, {"launch.time_limit=20q"}), HasSubstr("expected a duration"));
  EXPECT_THAT(ErrorOf(kEnsemble, {"trials"}), HasSubstr("KEY=VALUE"));
}

/// A path of the table as a user writes it.
std::string KeyOf(std::string path) {
  for (std::size_t at; (at = path.find('*')) != std::string::npos;) path.replace(at, 1, "any");
  for (std::size_t at; (at = path.find("[]")) != std::string::npos;) path.replace(at, 2, "[0]");
  return path;
}

TEST(WhyFixed, HasAnAnswerForEveryField) {
  for (const auto& field : Fields()) {
    for (const auto kind : {RunKind::kSingle, RunKind::kEnsemble, RunKind::kEnsembleWithoutResults}) {
      const auto why = WhyFixed(KeyOf(field.path), kind).value_or("'x' cannot: y; start a new run with it");
      EXPECT_THAT(why, AllOf(HasSubstr(": "), HasSubstr("; start a new run with it"))) << field.path;
    }
  }
}

/// What an ensemble may change a single run may change as well, but for its own section.
TEST(WhyFixed, IsStricterForEnsembles) {
  for (const auto& field : Fields()) {
    if (WhyFixed(KeyOf(field.path), RunKind::kSingle)) {
      EXPECT_TRUE(WhyFixed(KeyOf(field.path), RunKind::kEnsemble)) << field.path;
    }
  }
}

TEST(WhyFixed, LetsAnEnsembleWithoutResultsChangeWhatNoResultDependsOn) {
  for (const auto* key : {"train.metrics.pattern", "train.args.epochs", "launch.nodes", "gradients.mode"}) {
    EXPECT_TRUE(WhyFixed(key, RunKind::kEnsemble)) << key;
    EXPECT_FALSE(WhyFixed(key, RunKind::kEnsembleWithoutResults)) << key;
  }
  for (const auto* key : {"train.command", "ensemble.space", "ensemble.objective.metric", "data.train.source"}) {
    EXPECT_TRUE(WhyFixed(key, RunKind::kEnsembleWithoutResults)) << key;
  }
}

TEST(WhyFixed, TakesTheNearestRule) {
  EXPECT_FALSE(WhyFixed("data.train.tier", RunKind::kEnsemble));
  EXPECT_FALSE(WhyFixed("data.train.tier[0]", RunKind::kEnsemble));
  EXPECT_TRUE(WhyFixed("data.train", RunKind::kEnsemble));
  EXPECT_TRUE(WhyFixed("data.train.source", RunKind::kEnsemble));
  EXPECT_THAT(*WhyFixed("ensemble.objectives", RunKind::kEnsemble), HasSubstr("by the others"));
  EXPECT_FALSE(WhyFixed("ensemble.budget.time", RunKind::kEnsemble));
  EXPECT_FALSE(WhyFixed("launch.slurm.partition", RunKind::kEnsemble));
}

}  // namespace
}  // namespace slipway::launcher
