#include "staging/plan/tiers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "core/error.h"
#include "staging/generation/discover_tiers.h"
#include "tests/staging/staging_support.h"

namespace slipway::staging {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TierState TierNamed(const std::string& name) { return DiscoverTiers({name}).at(0); }

class TiersTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name :
         {"SLIPWAY_TIER_RAM", "SLIPWAY_TIER_NODE", "SLIPWAY_TIER_BURST", "DW_JOB_STRIPED", "DW_JOB_PRIVATE",
          "BB_JOB_STRIPED", "DW_PERSISTENT_STRIPED_cosmo", "DW_JOB_a", "DW_JOB_b", "SCRATCH_OF_JOB"}) {
      ::unsetenv(name);
    }
  }
  TierState TierAt(const fs::path& path) const { return TierNamed("dir:" + path.string()); }
  fs::path Directory(const char* name, mode_t mode) const {
    fs::create_directory(files_ / name);
    EXPECT_EQ(::chmod((files_ / name).c_str(), mode), 0);
    return files_ / name;
  }
  static std::string OwnName() { return "slipway-" + std::to_string(::geteuid()); }

  TemporaryDirectory files_;
};

TEST_F(TiersTest, ADirectoryOfOurOwnIsTheRoot) {
  const auto tier = TierAt(Directory("mine", 0755));
  EXPECT_TRUE(tier.usable) << tier.reason;
  EXPECT_EQ(tier.root, files_ / "mine");
  EXPECT_GT(tier.available.count, 0u);
  EXPECT_GT(tier.free_inodes, 0u);
}

TEST_F(TiersTest, LookingCreatesNothing) {
  EXPECT_TRUE(TierAt(files_ / "new/deep").usable);
  EXPECT_FALSE(fs::exists(files_ / "new"));
}

TEST_F(TiersTest, ADirectoryThatUsersShareGetsOneOfOurOwnInside) {
  EXPECT_EQ(TierAt(Directory("shared", 01777)).root, files_ / "shared" / OwnName());
}

TEST_F(TiersTest, RefusesARootThatOthersCanWrite) {
  EXPECT_THAT(TierAt(Directory("group", 0775)).reason, HasSubstr("can be written by others"));
  EXPECT_FALSE(TierAt(Directory("group", 0775)).usable);
  EXPECT_THAT(TierAt(Directory("open", 0777) / "inside").reason, HasSubstr("world-writable and not sticky"));
}

TEST_F(TiersTest, RefusesAPlantedLink) {
  fs::create_symlink(Directory("mine", 0755), Directory("shared", 01777) / OwnName());
  EXPECT_THAT(TierAt(files_ / "shared").reason, HasSubstr("is not a directory"));
}

TEST_F(TiersTest, RefusesARootOfAnotherUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to give a directory away";
  ASSERT_EQ(::chown(Directory("theirs", 0755).c_str(), 65534, 65534), 0);
  EXPECT_THAT(TierAt(files_ / "theirs").reason, HasSubstr("belongs to another user"));
}

TEST_F(TiersTest, RefusesADirectoryThatCannotBeWritten) {
  const auto closed = Directory("closed", 0555);
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown(closed.c_str(), 65534, 65534), 0);
  }
  EXPECT_TRUE(AsOrdinaryUser([&] { return TierAt(closed).reason.find("cannot write to") == 0; }));
}

TEST_F(TiersTest, RefusesAFile) {
  Put(files_ / "file", "");
  EXPECT_THAT(TierAt(files_ / "file").reason, HasSubstr("is not a directory"));
  EXPECT_THAT(TierAt(files_ / "file/below").reason, HasSubstr("is not a directory"));
}

TEST_F(TiersTest, RamIsSharedMemoryUnlessTheSiteSaysOtherwise) {
  EXPECT_EQ(TierNamed("ram").root, fs::path("/dev/shm") / OwnName());
  ::setenv("SLIPWAY_TIER_RAM", (files_ / "ram").c_str(), 1);
  EXPECT_EQ(TierNamed("ram").root, files_ / "ram");
}

TEST_F(TiersTest, BurstNeedsABurstBuffer) {
  EXPECT_THAT(TierNamed("burst").reason, HasSubstr("no burst buffer here"));
  ::setenv("BB_JOB_STRIPED", files_.path().c_str(), 1);
  EXPECT_EQ(TierNamed("burst").root, files_ / OwnName());
}

TEST_F(TiersTest, APersistentBufferIsNamed) {
  ::setenv("DW_PERSISTENT_STRIPED_cosmo", files_.path().c_str(), 1);
  const auto tier = TierNamed("burst:cosmo");
  EXPECT_EQ(tier.root, files_ / OwnName());
  EXPECT_EQ(tier.scope, TierScope::kJob);
  EXPECT_EQ(tier.origin, "DW_PERSISTENT_STRIPED_cosmo");
  EXPECT_THAT(TierNamed("burst:other").reason, HasSubstr("there is burst:cosmo"));
}

TEST_F(TiersTest, APrivateBufferIsEachNodesOwn) {
  ::setenv("DW_JOB_PRIVATE", files_.path().c_str(), 1);
  EXPECT_EQ(TierNamed("burst").scope, TierScope::kNode);
  ::setenv("DW_JOB_STRIPED", files_.path().c_str(), 1);
  EXPECT_EQ(TierNamed("burst").scope, TierScope::kJob);
  EXPECT_EQ(TierNamed("burst:private").scope, TierScope::kNode);
}

TEST_F(TiersTest, SeveralNamedBuffersMustBeChosenFrom) {
  ::setenv("DW_JOB_a", files_.path().c_str(), 1);
  EXPECT_TRUE(TierNamed("burst").usable);
  ::setenv("DW_JOB_b", files_.path().c_str(), 1);
  EXPECT_THAT(TierNamed("burst").reason, HasSubstr("say burst:a, burst:b"));
  EXPECT_TRUE(TierNamed("burst:b").usable);
}

TierDefinition SiteTier(const std::string& name, const std::string& path) {
  TierDefinition tier;
  tier.name = name;
  tier.path = path;
  tier.origin = "site.yaml:3";
  return tier;
}

TEST_F(TiersTest, ASiteNamesPlacesOfItsOwn) {
  auto definition = SiteTier("fast", (files_ / "fast").string());
  definition.scope = TierScope::kJob;
  definition.bandwidth = Bytes{100};
  const auto tier = DiscoverTiers({"fast"}, {definition}).at(0);
  EXPECT_TRUE(tier.usable) << tier.reason;
  EXPECT_EQ(tier.root, files_ / "fast");
  EXPECT_EQ(tier.scope, TierScope::kJob);
  EXPECT_EQ(tier.bandwidth, Bytes{100});
  EXPECT_EQ(tier.origin, "site.yaml:3");
}

TEST_F(TiersTest, WhatASiteCallsRamCountsAsMemoryAlsoWhenItIsFilled) {
  auto definition = SiteTier("fast", (files_ / "fast").string());
  Put(files_ / "data/a", "x");
  auto request = RequestFor(files_ / "data", files_ / "fast", DataFormat::kRaw);
  request.tiers = {"fast"};
  const auto plan = [&] { return PlanStaging(request, ListSources(request), DiscoverTiers({"fast"}, {definition})); };
  EXPECT_FALSE(plan().counts_as_memory);
  definition.kind = TierKind::kRam;
  EXPECT_TRUE(plan().counts_as_memory);
}

TEST_F(TiersTest, AVariableInASitesPathIsLookedUpNow) {
  const auto look = [](const std::string& path) { return DiscoverTiers({"node"}, {SiteTier("node", path)}).at(0); };
  EXPECT_THAT(look("${SCRATCH_OF_JOB}/x").reason, HasSubstr("SCRATCH_OF_JOB is not set here (site.yaml:3)"));
  ::setenv("SCRATCH_OF_JOB", files_.path().c_str(), 1);
  EXPECT_EQ(look("${SCRATCH_OF_JOB}/x").root, files_ / "x");
  EXPECT_EQ(look("$SCRATCH_OF_JOB/y").root, files_ / "y");
  ::setenv("SCRATCH_OF_JOB", "relative; rm -rf /", 1);
  EXPECT_THAT(look("${SCRATCH_OF_JOB}").reason, HasSubstr("is not an absolute path"));
}

TEST_F(TiersTest, TheUsersVariableComesBeforeTheSite) {
  ::setenv("SLIPWAY_TIER_NODE", (files_ / "mine").c_str(), 1);
  const auto tier = DiscoverTiers({"node"}, {SiteTier("node", (files_ / "site").string())}).at(0);
  EXPECT_EQ(tier.root, files_ / "mine");
  EXPECT_EQ(tier.origin, "SLIPWAY_TIER_NODE");
}

TEST_F(TiersTest, ACapacityCountsWhatLiesThereAlready) {
  auto definition = SiteTier("fast", (files_ / "fast").string());
  definition.capacity = Bytes{1'000'000};
  const auto available = [&] { return DiscoverTiers({"fast"}, {definition}).at(0).available; };
  EXPECT_EQ(available(), Bytes{1'000'000});
  Put(files_ / "fast/train-1/a", std::string(400'000, 'x'));
  EXPECT_LT(available(), Bytes{600'001});
  EXPECT_GT(available(), Bytes{500'000});
  Put(files_ / "fast/train-1/b", std::string(800'000, 'x'));
  EXPECT_EQ(available(), Bytes{0});
}

TEST_F(TiersTest, KnownTiersAreTheSitesTheBuffersAndTheMachines) {
  EXPECT_THAT(KnownTiers({}), ElementsAre("node", "ram"));
  ::setenv("DW_JOB_STRIPED", files_.path().c_str(), 1);
  EXPECT_THAT(KnownTiers({SiteTier("fast", "/f"), SiteTier("ram", "/r")}),
              ElementsAre("fast", "ram", "burst:striped", "node"));
}

TEST_F(TiersTest, UnknownNamesAreErrors) {
  EXPECT_THROW(DiscoverTiers({"tape"}), Error);
  EXPECT_THROW(DiscoverTiers({"dir:relative"}), Error);
}

}  // namespace
}  // namespace slipway::staging
