// Which layout, in which tier, on how many nodes: by example, and by what must always hold.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "core/error.h"
#include "staging/plan/plan.h"
#include "staging/plan/shares.h"
#include "tests/staging/staging_support.h"

namespace slipway::staging {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::uint64_t kMega = 1'000'000;
constexpr std::uint64_t kManyInodes = 1u << 20;

SourceFile LaidOutFile(const std::string& name, std::uint64_t size) {
  return {"/data/" + name, name, Bytes{size}, 7, 8, {}};
}

/// Eight files of 10 MB.
std::vector<SourceFile> EightFiles() {
  std::vector<SourceFile> files;
  for (int i = 0; i < 8; ++i) files.push_back(LaidOutFile("f" + std::to_string(i), 10 * kMega));
  return files;
}

TierState LaidOutTier(const std::string& name, std::uint64_t available, TierScope scope = TierScope::kNode) {
  TierState tier{name, name == "none" ? "" : "/tiers/" + name, Bytes{available}, kManyInodes, true, {}, {}};
  tier.scope = scope;
  return tier;
}

DatasetRequest RequestFor(Distribution distribution, std::vector<std::string> tiers) {
  DatasetRequest request;
  request.name = "train";
  request.distribution = distribution;
  request.tiers = std::move(tiers);
  return request;
}

PlanRequest NodeOf(int node, int nodes) {
  PlanRequest for_whom;
  for_whom.node = node;
  for_whom.nodes = nodes;
  return for_whom;
}

TEST(Layout, IsAReplicaWhereOneFits) {
  const auto plan = PlanStaging(RequestFor(Distribution::kShard, {"ram"}), EightFiles(),
                                {LaidOutTier("ram", 100 * kMega)}, NodeOf(1, 4));
  EXPECT_EQ(plan.layout, Layout::kReplica);
  EXPECT_EQ(plan.files.size(), 8u);
  EXPECT_THAT(plan.shares, IsEmpty());
}

TEST(Layout, PrefersAReplicaInALaterTierToShardsInAnEarlierOne) {
  const auto plan = PlanStaging(RequestFor(Distribution::kShard, {"ram", "node"}), EightFiles(),
                                {LaidOutTier("ram", 40 * kMega), LaidOutTier("node", 100 * kMega)}, NodeOf(0, 4));
  EXPECT_EQ(plan.tier, "node");
  EXPECT_EQ(plan.layout, Layout::kReplica);
}

TEST(Layout, SharesTheFilesOutWhereNoReplicaFits) {
  const auto plan = PlanStaging(RequestFor(Distribution::kShard, {"ram", "none"}), EightFiles(),
                                {LaidOutTier("ram", 40 * kMega), LaidOutTier("none", 0)}, NodeOf(2, 4));
  EXPECT_EQ(plan.layout, Layout::kShard);
  EXPECT_EQ(plan.files.size(), 2u);
  EXPECT_EQ(plan.total, Bytes{20 * kMega});
  EXPECT_EQ(plan.shares.size(), 4u);
  EXPECT_THAT(plan.reason, HasSubstr("20.0 MB (2 files) on each of 4 nodes"));
  EXPECT_THAT(plan.rejected, ElementsAre(HasSubstr("ram: needs ")));
  EXPECT_EQ(ToJson(plan)["layout"], "shard");
  EXPECT_EQ(ToJson(plan)["shares"][3]["bytes"], 20 * kMega);
}

TEST(Layout, ReadsInPlaceWhereNoReplicaFitsAndTheCallerCannotShareOut) {
  auto for_whom = NodeOf(2, 4);
  for_whom.can_share = false;
  const auto plan = PlanStaging(RequestFor(Distribution::kShard, {"ram", "none"}), EightFiles(),
                                {LaidOutTier("ram", 40 * kMega), LaidOutTier("none", 0)}, for_whom);
  EXPECT_EQ(plan.tier, "none");
  EXPECT_EQ(plan.layout, Layout::kReplica);
}

TEST(Layout, KeepsAllFilesTogetherForRanksThatReadAll) {
  const auto text = MessageOf([] {
    PlanStaging(RequestFor(Distribution::kReplicate, {"ram"}), EightFiles(), {LaidOutTier("ram", 40 * kMega)},
                NodeOf(0, 4));
  });
  EXPECT_THAT(text, AllOf(HasSubstr("no tier can hold dataset 'train'"), HasSubstr("for 4 nodes")));
}

TEST(Layout, SharesOutWhenToldToAlthoughAReplicaFits) {
  const auto plan = PlanStaging(RequestFor(Distribution::kNodeShard, {"ram"}), EightFiles(),
                                {LaidOutTier("ram", 1000 * kMega)}, NodeOf(0, 8));
  EXPECT_EQ(plan.layout, Layout::kShard);
  EXPECT_EQ(plan.files.size(), 1u);
}

TEST(Layout, RefusesFewerFilesThanNodesWithTheNumbers) {
  const auto text = MessageOf([] {
    PlanStaging(RequestFor(Distribution::kNodeShard, {"ram"}), EightFiles(), {LaidOutTier("ram", 1000 * kMega)},
                NodeOf(0, 9));
  });
  EXPECT_THAT(text, HasSubstr("8 files cannot be shared by 9 nodes"));
}

TEST(Layout, CountsEveryShareInATierOfTheWholeJob) {
  const auto tiers = std::vector{LaidOutTier("burst", 40 * kMega, TierScope::kJob)};
  EXPECT_THAT(MessageOf([&] {
                PlanStaging(RequestFor(Distribution::kNodeShard, {"burst"}), EightFiles(), tiers, NodeOf(0, 4));
              }),
              HasSubstr("burst: needs 84."));
}

TEST(Layout, LetsOneNodeStageAReplicaForAll) {
  const auto tiers = std::vector{LaidOutTier("burst", 100 * kMega, TierScope::kJob)};
  const auto request = RequestFor(Distribution::kShard, {"burst"});
  const auto first = PlanStaging(request, EightFiles(), tiers, NodeOf(0, 4));
  const auto second = PlanStaging(request, EightFiles(), tiers, NodeOf(1, 4));
  EXPECT_TRUE(first.stages_here);
  EXPECT_FALSE(second.stages_here);
  EXPECT_EQ(first.directory, second.directory);
  EXPECT_EQ(ToJson(second)["scope"], "job");
}

TEST(Layout, GivesSharesOfTwoNodesTwoNames) {
  const auto tiers = std::vector{LaidOutTier("burst", 1000 * kMega, TierScope::kJob)};
  const auto request = RequestFor(Distribution::kNodeShard, {"burst"});
  const auto first = PlanStaging(request, EightFiles(), tiers, NodeOf(0, 2));
  const auto second = PlanStaging(request, EightFiles(), tiers, NodeOf(1, 2));
  EXPECT_TRUE(second.stages_here);
  EXPECT_NE(first.generation, second.generation);
}

TEST(Layout, SharesTheLinksOutToo) {
  const auto plan =
      PlanStaging(RequestFor(Distribution::kNodeShard, {"none"}), EightFiles(), {LaidOutTier("none", 0)}, NodeOf(0, 4));
  EXPECT_EQ(plan.files.size(), 2u);
  EXPECT_EQ(plan.tier, "none");
}

TEST(Layout, StreamsOnlyForACallerThatCan) {
  auto for_whom = NodeOf(0, 1);
  const auto tiers = std::vector{LaidOutTier("ram", 50 * kMega)};
  const auto request = RequestFor(Distribution::kReplicate, {"ram"});
  EXPECT_THROW(PlanStaging(request, EightFiles(), tiers, for_whom), Error);
  for_whom.can_stream = true;
  const auto plan = PlanStaging(request, EightFiles(), tiers, for_whom);
  EXPECT_EQ(plan.layout, Layout::kStream);
  EXPECT_GT(plan.window, Bytes{40 * kMega});
  EXPECT_LT(plan.window, Bytes{50 * kMega});
  EXPECT_THAT(plan.reason, HasSubstr("a window of 47."));
}

TEST(Layout, ReadsInPlaceRatherThanStream) {
  auto for_whom = NodeOf(0, 1);
  for_whom.can_stream = true;
  const auto plan = PlanStaging(RequestFor(Distribution::kReplicate, {"ram", "none"}), EightFiles(),
                                {LaidOutTier("ram", 50 * kMega), LaidOutTier("none", 0)}, for_whom);
  EXPECT_EQ(plan.tier, "none") << "any program can read that";
}

TEST(Layout, RefusesAWindowSmallerThanTheTwoLargestFiles) {
  auto for_whom = NodeOf(0, 1);
  for_whom.can_stream = true;
  EXPECT_THAT(MessageOf([&] {
                PlanStaging(RequestFor(Distribution::kReplicate, {"ram"}), EightFiles(),
                            {LaidOutTier("ram", 20 * kMega)}, for_whom);
              }),
              HasSubstr("ram: a window needs 21."));
}

TEST(Layout, LeavesRoomForWhatTheReadersHold) {
  auto for_whom = NodeOf(0, 1);
  const auto tiers = std::vector{LaidOutTier("ram", 100 * kMega)};
  const auto request = RequestFor(Distribution::kReplicate, {"ram"});
  EXPECT_NO_THROW(PlanStaging(request, EightFiles(), tiers, for_whom));
  for_whom.read_ahead = Bytes{20 * kMega};
  EXPECT_THROW(PlanStaging(request, EightFiles(), tiers, for_whom), Error);
}

TEST(Layout, SharesTheLargestFilesOutFirst) {
  const std::vector files = {LaidOutFile("a", 1), LaidOutFile("b", 1), LaidOutFile("c", 1), LaidOutFile("d", 3)};
  EXPECT_THAT(AssignFiles(files, 2), ElementsAre(1, 1, 1, 0));
}

TEST(Layout, SaysTheRecordsOfEachNodeWhereTheyAreKnown) {
  auto files = EightFiles();
  for (std::size_t i = 0; i < files.size(); ++i) files[i].records = 100 + i;
  const auto shares = SumShares(files, AssignFiles(files, 2), 2);
  EXPECT_EQ(DescribeShares(shares), "40.0 MB (4 files, 412 to 416 records) on each of 2 nodes");
  files[3].records.reset();
  EXPECT_EQ(DescribeShares(SumShares(files, AssignFiles(files, 2), 2)), "40.0 MB (4 files) on each of 2 nodes");
}

TEST(Layout, NamesAnUnusableTierOnce) {
  auto burst = LaidOutTier("burst", 0);
  burst.usable = false;
  burst.reason = "no burst buffer here";
  const auto plan = PlanStaging(RequestFor(Distribution::kShard, {"burst", "ram"}), EightFiles(),
                                {burst, LaidOutTier("ram", 40 * kMega)}, NodeOf(0, 4));
  EXPECT_THAT(plan.rejected, ElementsAre("burst: no burst buffer here", HasSubstr("ram: needs")));
}

TEST(Layout, TakesTheTighterBandwidth) {
  auto ram = LaidOutTier("ram", 100 * kMega);
  auto request = RequestFor(Distribution::kReplicate, {"ram"});
  EXPECT_EQ(PlanStaging(request, EightFiles(), {ram}).bandwidth, Bytes{0});
  ram.bandwidth = Bytes{200};
  EXPECT_EQ(PlanStaging(request, EightFiles(), {ram}).bandwidth, Bytes{200});
  request.bandwidth = Bytes{100};
  EXPECT_EQ(PlanStaging(request, EightFiles(), {ram}).bandwidth, Bytes{100});
}

// ---- what must always hold

/// Shares that differ by less than the margins need many tries; RC_PARAMS of the environment comes first.
[[maybe_unused]] const int kManyCases = ::setenv("RC_PARAMS", "max_success=2000", 0);

/// A random job: files, tiers, nodes.
struct Case {
  std::vector<SourceFile> files;
  std::vector<TierState> tiers;
  DatasetRequest request;
  PlanRequest for_whom;
};

/// A number from the whole range at once: rapidcheck would begin with the small ones.
std::uint64_t AnyNumber(std::uint64_t low, std::uint64_t high) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::uint64_t>(low, high));
}

/// Tiers from far too small to large enough for these bytes.
TierState AnyTier(int index, std::uint64_t total) {
  const auto room = total * AnyNumber(5, 300) / 100 + AnyNumber(0, 200'000);
  auto tier = LaidOutTier("dir:/" + std::to_string(index), room, *rc::gen::element(TierScope::kNode, TierScope::kJob));
  tier.usable = AnyNumber(0, 6) > 0;
  if (AnyNumber(0, 6) == 0) tier.free_inodes = AnyNumber(0, 40);
  return tier;
}

Case AnyCase() {
  Case any;
  std::uint64_t total = 0;
  for (auto files = AnyNumber(0, 16); files > 0; --files) {
    any.files.push_back(LaidOutFile(std::to_string(files), AnyNumber(0, 3'000'000)));
    total += any.files.back().size.count;
  }
  for (auto tiers = static_cast<int>(AnyNumber(0, 4)); tiers > 0; --tiers) {
    any.tiers.push_back(AnyTier(tiers, total));
    any.request.tiers.push_back(any.tiers.back().name);
  }
  any.request.name = "train";
  any.request.distribution =
      *rc::gen::element(Distribution::kShard, Distribution::kShard, Distribution::kReplicate, Distribution::kNodeShard);
  any.for_whom.nodes = static_cast<int>(AnyNumber(1, 6));
  any.for_whom.can_stream = AnyNumber(0, 2) > 0;
  any.for_whom.read_ahead = Bytes{AnyNumber(0, 1'000'000)};
  return any;
}

/// One plan for each node, or nothing when it is refused.
std::optional<std::vector<StagingPlan>> PlansOf(Case job) {
  std::vector<StagingPlan> plans;
  try {
    for (job.for_whom.node = 0; job.for_whom.node < job.for_whom.nodes; ++job.for_whom.node) {
      plans.push_back(PlanStaging(job.request, job.files, job.tiers, job.for_whom));
    }
  } catch (const Error& error) {
    RC_ASSERT(error.kind() == ErrorKind::kEnvironment);
    RC_ASSERT(plans.empty());  // no node may come to another end than the first
    return {};
  }
  return plans;
}

std::size_t IndexOfTier(const Case& job, const std::string& name) {
  return static_cast<std::size_t>(std::find(job.request.tiers.begin(), job.request.tiers.end(), name) -
                                  job.request.tiers.begin());
}

/// Less is better: the layout first, then the place in the list.
std::pair<int, std::size_t> RankOf(const Case& job, const std::optional<std::vector<StagingPlan>>& plans) {
  if (!plans) return {9, 9};
  return {static_cast<int>(plans->front().layout), IndexOfTier(job, plans->front().tier)};
}

TEST(LayoutProperty, EveryNodeComesToTheSameLayoutAndTier) {
  EXPECT_TRUE(rc::check([] {
    const auto plans = PlansOf(AnyCase());
    RC_TAG(plans ? std::string(WordOf(plans->front().layout)) : std::string("refused"));
    if (!plans) return;
    for (const auto& plan : *plans) {
      RC_ASSERT(plan.tier == plans->front().tier);
      RC_ASSERT(plan.layout == plans->front().layout);
    }
  }));
}

TEST(LayoutProperty, NoTierIsFilledBeyondItsRoom) {
  EXPECT_TRUE(rc::check([] {
    const auto job = AnyCase();
    const auto plans = PlansOf(job);
    if (!plans) return;
    const auto& tier = job.tiers.at(IndexOfTier(job, plans->front().tier));
    RC_ASSERT(tier.usable);
    SpaceNeed together;
    for (const auto& plan : *plans) {
      const auto need = NeedOf(plan.files);
      if (plan.layout == Layout::kStream) {
        RC_ASSERT(plan.window <= tier.available);
        continue;
      }
      RC_ASSERT(need.bytes <= tier.available);
      RC_ASSERT(need.inodes <= tier.free_inodes);
      if (plan.stages_here) together.bytes.count += plan.total.count;
    }
    if (tier.scope == TierScope::kJob) RC_ASSERT(together.bytes <= tier.available);
  }));
}

TEST(LayoutProperty, EveryFileIsOnANodeAndSharesAreDisjoint) {
  EXPECT_TRUE(rc::check([] {
    const auto job = AnyCase();
    const auto plans = PlansOf(job);
    if (!plans) return;
    std::map<std::string, int> holders;
    for (const auto& plan : *plans) {
      for (const auto& file : plan.files) ++holders[file.name.string()];
    }
    for (const auto& file : job.files) {
      const int expected = plans->front().layout == Layout::kShard ? 1 : job.for_whom.nodes;
      RC_ASSERT(holders[file.name.string()] == expected);
    }
    RC_ASSERT(holders.size() == job.files.size());
  }));
}

TEST(LayoutProperty, MoreRoomNeverGivesAPoorerPlan) {
  EXPECT_TRUE(rc::check([] {
    auto job = AnyCase();
    const auto before = RankOf(job, PlansOf(job));
    if (job.tiers.empty()) return;
    auto& tier = job.tiers[AnyNumber(0, job.tiers.size())];
    tier.available.count += AnyNumber(0, 30'000'000);
    tier.free_inodes += 5;
    RC_ASSERT(RankOf(job, PlansOf(job)) <= before);
  }));
}

TEST(LayoutProperty, APlanIsTheSameEveryTime) {
  EXPECT_TRUE(rc::check([] {
    const auto job = AnyCase();
    const auto first = PlansOf(job);
    const auto again = PlansOf(job);
    RC_ASSERT(first.has_value() == again.has_value());
    if (!first) return;
    for (std::size_t i = 0; i < first->size(); ++i) RC_ASSERT(ToJson((*first)[i]) == ToJson((*again)[i]));
  }));
}

TEST(LayoutProperty, SharesAreNearlyEqual) {
  EXPECT_TRUE(rc::check([](const std::vector<std::uint32_t>& sizes) {
    const int nodes = *rc::gen::inRange(1, 9);
    std::vector<SourceFile> files;
    std::uint64_t total = 0;
    std::uint64_t largest = 0;
    for (const auto size : sizes) {
      files.push_back(LaidOutFile(std::to_string(files.size()), size));
      total += size;
      largest = std::max<std::uint64_t>(largest, size);
    }
    const auto shares = SumShares(files, AssignFiles(files, nodes), nodes);
    for (const auto& share : shares) {
      RC_ASSERT(share.bytes.count <= total / static_cast<std::uint64_t>(nodes) + largest);
      RC_ASSERT(share.files > 0 || files.size() < static_cast<std::size_t>(nodes));
    }
  }));
}

}  // namespace
}  // namespace slipway::staging
