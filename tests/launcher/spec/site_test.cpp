// What the settings files say about storage.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "core/files.h"
#include "launcher/plan/data_plan.h"
#include "launcher/spec/load.h"
#include "tests/support/temp_directory.h"

namespace slipway::launcher {
namespace {
namespace fs = std::filesystem;

using testing::ElementsAre;
using testing::HasSubstr;

constexpr auto kSpec =
    "name: small\n"
    "data: {train: {source: a.tfrecord}, test: {source: a.tfrecord, tier: [fast, quick], bandwidth: 1MB}}\n"
    "train: {command: [/bin/true]}\n";
constexpr auto kSite =
    "tiers: {quick: fast, own: \"dir:/own\"}\n"
    "site:\n"
    "  tier_order: [burst, quick]\n"
    "  bandwidth: 2GB\n"
    "  tiers:\n"
    "    fast: {path: \"${SLIPWAY_TEST_IS_NOT_SET}/x\", kind: ram, scope: job, capacity: 10GB, bandwidth: 1GB}\n"
    "    node: {capacity: 1TB}\n";

class Site : public testing::Test {
 protected:
  void TearDown() override { ::unsetenv("SLIPWAY_SITE"); }
  fs::path Write(const std::string& name, const std::string& content) const {
    WriteFile(directory_ / name, content);
    return directory_ / name;
  }
  SpecDocument Load(const std::string& site) const {
    return LoadSpec(Write("exp.yaml", kSpec), {}, {Write("site.yaml", site)});
  }
  std::string Refusal(const std::string& site) const {
    try {
      LoadSite({Write("site.yaml", site)});
    } catch (const SpecError& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kUsage);
      return error.what();
    }
    return "no error";
  }

  test::TempDirectory directory_;
};

TEST_F(Site, GivesTiersWithTheirPlaceInTheFile) {
  const auto site = LoadSite({Write("site.yaml", kSite)});
  ASSERT_EQ(site.tiers.size(), 2u);
  const auto& fast = site.tiers[0];
  EXPECT_EQ(fast.name, "fast");
  EXPECT_EQ(fast.path, "${SLIPWAY_TEST_IS_NOT_SET}/x");  // of the job, not of this moment
  EXPECT_EQ(fast.kind, staging::TierKind::kRam);
  EXPECT_EQ(fast.scope, staging::TierScope::kJob);
  EXPECT_EQ(fast.capacity, Bytes{10'000'000'000});
  EXPECT_EQ(fast.bandwidth, Bytes{1'000'000'000});
  EXPECT_EQ(fast.origin, (directory_ / "site.yaml").string() + ":6");
  EXPECT_EQ(site.tiers[1].path, "");
  EXPECT_FALSE(site.tiers[1].scope);
  EXPECT_THAT(site.tier_order, ElementsAre("burst", "fast"));
  EXPECT_EQ(site.bandwidth, Bytes{2'000'000'000});
}

TEST_F(Site, ALaterFileChangesSingleFields) {
  const auto site =
      LoadSite({Write("site.yaml", kSite), Write("user.yaml", "site: {tiers: {fast: {capacity: 1GB}}}\n")});
  EXPECT_EQ(site.tiers[0].capacity, Bytes{1'000'000'000});
  EXPECT_EQ(site.tiers[0].kind, staging::TierKind::kRam);
}

TEST_F(Site, OrdersTheTiersOfADatasetThatNamesNone) {
  const auto document = Load(kSite);
  EXPECT_THAT(document.spec.data.at(0).tiers, ElementsAre("burst", "fast"));
  EXPECT_THAT(document.spec.data.at(1).tiers, ElementsAre("fast", "fast"));
  EXPECT_EQ(document.origins.at("data.train.tier"), (directory_ / "site.yaml").string() + ":3");
  EXPECT_EQ(SiteTiersOf(document).at(0).origin, (directory_ / "site.yaml").string() + ":6");
}

TEST_F(Site, LimitsADatasetThatHasNoLimitOfItsOwn) {
  const auto spec = Load(kSite).spec;
  EXPECT_EQ(RequestFor(spec.data.at(0), spec.site).bandwidth, Bytes{2'000'000'000});
  EXPECT_EQ(RequestFor(spec.data.at(1), spec.site).bandwidth, Bytes{1'000'000});
}

TEST_F(Site, IsNoPartOfTheExperiment) {
  EXPECT_EQ(Load(kSite).spec_hash, Load(std::string(kSite) + "    other: {path: /x}\n").spec_hash);
}

TEST_F(Site, SurvivesTheWayThroughTheRunFolder) {
  const auto again = BuildSpec(*Load(kSite).resolved);
  EXPECT_EQ(again.site.tiers.at(0).path, "${SLIPWAY_TEST_IS_NOT_SET}/x");
  EXPECT_EQ(again.site.tiers.at(0).capacity, Bytes{10'000'000'000});
  EXPECT_THAT(again.site.tier_order, ElementsAre("burst", "fast"));
}

TEST_F(Site, RefusesUnknownKeysWithTheirPlace) {
  const auto text = Refusal("site:\n  tiers:\n    fast: {path: /f, capazity: 1GB}\nsight: 1\n");
  EXPECT_THAT(text, HasSubstr("site.yaml:3:22: error: unknown field 'capazity' in 'site.tiers.fast'"));
  EXPECT_THAT(text, HasSubstr("did you mean 'capacity'?"));
  EXPECT_THAT(text, HasSubstr("site.yaml:4:1: error: unknown field 'sight'"));
}

TEST_F(Site, RefusesWhatCannotBeATier) {
  EXPECT_THAT(Refusal("site: {tiers: {fast: {kind: disk}}}\n"), HasSubstr("a tier of a new name needs 'path'"));
  EXPECT_THAT(Refusal("site: {tiers: {fast: {path: here}}}\n"), HasSubstr("expected an absolute path"));
  EXPECT_THAT(Refusal("site: {tiers: {none: {path: /x}}}\n"), HasSubstr("cannot be defined anew"));
  EXPECT_THAT(Refusal("site: {tiers: {Fast!: {path: /x}}}\n"), HasSubstr("the name of a tier is made of"));
  EXPECT_THAT(Refusal("site: {tier_order: [tape]}\n"), HasSubstr("unknown tier 'tape'"));
  EXPECT_THAT(Refusal("name: x\n"), HasSubstr("belongs in a spec"));
}

TEST_F(Site, OfManyNodesIsPatient) {
  const auto plain = LoadSpec(Write("plain.yaml", "name: a\ntrain: {command: [/bin/true]}\n"), {}, {});
  EXPECT_EQ(plain.spec.site.patience.join, Seconds(120));
  const auto document = Load(std::string(kSite) + "  patience: {join: 10m, start: 5m, silent_node: 4s}\n");
  const auto patience = BuildSpec(*document.resolved).site.patience;
  EXPECT_EQ(patience.join, Seconds(600));
  EXPECT_EQ(patience.start, Seconds(300));
  EXPECT_EQ(patience.silent_node, Seconds(4));
  EXPECT_EQ(document.origins.at("site.patience.join"), (directory_ / "site.yaml").string() + ":8");
  EXPECT_THAT(Refusal("site: {patience: {silent_node: 3s}}\n"), HasSubstr("must be at least 4s"));
  EXPECT_THAT(Refusal("site: {patience: {join: 0s}}\n"), HasSubstr("expected a duration"));
}

TEST_F(Site, OfNoFileIsEmpty) {
  EXPECT_TRUE(LoadSite({}).tiers.empty());
  EXPECT_TRUE(LoadSite({Write("site.yaml", "")}).tiers.empty());
}

TEST_F(Site, MayBeNamedByAVariableAndMustThenBeThere) {
  ::setenv("SLIPWAY_SITE", (directory_ / "other.yaml").c_str(), 1);
  try {
    LoadSite(SettingsFiles());
    ADD_FAILURE() << "a file that is not there";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("there is no settings file"));
  }
  Write("other.yaml", kSite);
  EXPECT_EQ(LoadSite(SettingsFiles()).bandwidth, Bytes{2'000'000'000});
}

}  // namespace
}  // namespace slipway::launcher
