#include "staging/plan/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "staging/dataset/utf8_name.h"
#include "tests/staging/staging_support.h"

namespace slipway::staging {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::uint64_t kPlenty = 1u << 30;

SourceFile FileOf(const std::string& name, std::uint64_t size) {
  return {"/data/" + name, name, Bytes{size}, 7, 8, {}};
}

TierState TierOf(const std::string& name, std::uint64_t available) {
  return {name, "/tiers/" + name, Bytes{available}, kPlenty, true, {}, {}};
}

DatasetRequest RequestIn(std::vector<std::string> tiers) {
  DatasetRequest request;
  request.name = "train";
  request.tiers = std::move(tiers);
  return request;
}

std::string RefusalOf(const DatasetRequest& request, const std::vector<TierState>& tiers) {
  return MessageOf([&] { PlanStaging(request, {FileOf("a", 3'000'000)}, tiers); });
}

TEST(StagingPlan, TakesTheFirstTierThatFits) {
  const auto plan = PlanStaging(RequestIn({"ram", "node"}), {FileOf("a", 3'000'000)},
                                {TierOf("node", kPlenty), TierOf("ram", 1'000'000)});
  EXPECT_EQ(plan.tier, "node");
  EXPECT_EQ(plan.directory, plan.root / plan.generation);
  EXPECT_THAT(plan.rejected, ElementsAre("ram: needs 3.19 MB, 1.00 MB is free"));
}

TEST(StagingPlan, WaitsWhereAnotherRunIsStagingTheSameWhateverIsFree) {
  auto tier = TierOf("ram", 5'000'000);
  const auto generation = PlanStaging(RequestIn({"ram"}), {FileOf("a", 3'000'000)}, {tier}).generation;
  tier.available = Bytes{0};
  tier.being_staged = {generation};
  EXPECT_EQ(PlanStaging(RequestIn({"ram"}), {FileOf("a", 3'000'000)}, {tier}).reason,
            "another run is staging it there");
}

TEST(StagingPlan, RefusesWhenEveryTierIsTooSmall) {
  const auto text = RefusalOf(RequestIn({"ram", "burst"}), {TierOf("ram", 1'000'000)});
  EXPECT_THAT(text, HasSubstr("no tier can hold dataset 'train' (1 file, 3.19 MB)"));
  EXPECT_THAT(text, HasSubstr("ram: needs 3.19 MB, 1.00 MB is free; burst: not known here"));
  EXPECT_THAT(text, HasSubstr("data.train.tier"));
}

TEST(StagingPlan, SaysWhyATierIsUnusable) {
  auto burst = TierOf("burst", kPlenty);
  burst.usable = false;
  burst.reason = "no burst buffer here";
  EXPECT_THAT(RefusalOf(RequestIn({"burst"}), {burst}), HasSubstr("burst: no burst buffer here"));
}

TEST(StagingPlan, CountsInodesToo) {
  auto ram = TierOf("ram", kPlenty);
  ram.free_inodes = 3;
  EXPECT_THAT(RefusalOf(RequestIn({"ram"}), {ram}), HasSubstr("inodes, 3 are free"));
}

TEST(StagingPlan, NeedsNoRoomWhereTheGenerationLiesAlready) {
  const auto request = RequestIn({"ram"});
  const std::vector files = {FileOf("a", 3'000'000)};
  auto ram = TierOf("ram", kPlenty);
  ram.generations = {PlanStaging(request, files, {ram}).generation};
  ram.available = Bytes{0};
  EXPECT_EQ(PlanStaging(request, files, {ram}).reason, "already staged there");
}

TEST(StagingPlan, ReadsInPlaceWithTierNone) {
  const auto plan = PlanStaging(RequestIn({"none"}), {FileOf("a", 1)}, {{"none", {}, Bytes{0}, 0, true, {}, {}}});
  EXPECT_EQ(plan.directory, "/data");
}

TEST(StagingPlan, RefusesNamesThatLeaveTheRoot) {
  for (const std::string name : {"", "..", "../x", "a/b", "-rf", ".hidden"}) {
    auto request = RequestIn({"ram"});
    request.name = name;
    EXPECT_THAT(RefusalOf(request, {TierOf("ram", kPlenty)}), HasSubstr("cannot be the name of a dataset")) << name;
  }
}

TEST(StagingPlan, WritesJsonWhateverTheNames) {
  auto file = FileOf("x", 1);
  file.path = "/data/\xff\n";
  const auto json = ToJson(PlanStaging(RequestIn({"ram"}), {file}, {TierOf("ram", kPlenty)}));
  EXPECT_EQ(json["files"][0]["path"], "/data/%FF\n");
  EXPECT_THAT(json.dump(), StartsWith("{\"name\":\"train\""));
}

TEST(StagingPlan, GenerationChangesWithAnythingThatMatters) {
  const std::vector tiers = {TierOf("ram", kPlenty)};
  const auto generation = [&](const DatasetRequest& request, const SourceFile& file) {
    return PlanStaging(request, {file}, tiers).generation;
  };
  const auto request = RequestIn({"ram"});
  const auto file = FileOf("a", 10);
  const auto first = generation(request, file);
  EXPECT_EQ(first, generation(request, file));
  EXPECT_THAT(first, ::testing::MatchesRegex("train-[0-9a-f]{16}"));
  auto other = file;
  other.mtime_ns++;
  EXPECT_NE(first, generation(request, other));
  other = file;
  other.inode++;
  EXPECT_NE(first, generation(request, other));
  EXPECT_NE(first, generation(request, FileOf("a", 11)));
  EXPECT_NE(first, generation(request, FileOf("b", 10)));
  auto checked = request;
  checked.verify = VerifyMode::kFull;
  EXPECT_NE(first, generation(checked, file));
}

/// The tier that the rule names, found without the planner's own loop.
std::string ExpectedTier(const std::vector<TierState>& tiers, const SpaceNeed& need) {
  for (const auto& tier : tiers) {
    if (tier.usable && need.bytes <= tier.available && need.inodes <= tier.free_inodes) return tier.name;
  }
  return {};
}

TEST(StagingPlan, NeverExceedsCapacity) {
  const bool holds = rc::check([](const std::vector<std::uint32_t>& sizes, const std::vector<std::uint32_t>& rooms) {
    std::vector<SourceFile> files;
    for (const auto size : sizes) files.push_back(FileOf(std::to_string(files.size()), size % 100'000));
    std::vector<TierState> tiers;
    std::vector<std::string> names;
    for (const auto room : rooms) {
      names.push_back("dir:/" + std::to_string(names.size()));
      tiers.push_back(TierOf(names.back(), room % 1'000'000));
      tiers.back().usable = room % 3 != 0;
      tiers.back().free_inodes = room % 64;
    }
    const auto expected = ExpectedTier(tiers, PlannedNeedOf(files, {}));
    try {
      const auto plan = PlanStaging(RequestIn(names), files, tiers);
      RC_ASSERT(plan.tier == expected);
      RC_ASSERT(plan.total.count <= NeedOf(files).bytes.count);
    } catch (const Error& error) {
      RC_ASSERT(error.kind() == ErrorKind::kEnvironment);
      RC_ASSERT(expected.empty());
    }
  });
  EXPECT_TRUE(holds);
}

TEST(Utf8Name, EscapesOnlyWhatIsNotUtf8) {
  EXPECT_EQ(Utf8Name("plain %41 n\xc3\xa4me\n\xf0\x9f\x98\x80"), "plain %41 n\xc3\xa4me\n\xf0\x9f\x98\x80");
  EXPECT_EQ(Utf8Name("\xff-\xc3"), "%FF-%C3");
  EXPECT_EQ(Utf8Name("\xc0\xaf"), "%C0%AF");         // overlong '/'
  EXPECT_EQ(Utf8Name("\xed\xa0\x80"), "%ED%A0%80");  // surrogate
  EXPECT_EQ(Utf8Name("\xf5\x80\x80\x80"), "%F5%80%80%80");
}

TEST(VerifyMode, NamesAreReadBack) {
  for (const auto mode : {VerifyMode::kOff, VerifyMode::kFormat, VerifyMode::kFull}) {
    EXPECT_EQ(FromWord<VerifyMode>(WordOf(mode)), mode);
  }
  EXPECT_FALSE(FromWord<VerifyMode>("loud"));
  EXPECT_EQ(FromWord<Distribution>("replicate"), Distribution::kReplicate);
  EXPECT_EQ(FromWord<Distribution>("node-shard"), Distribution::kNodeShard);
  EXPECT_FALSE(FromWord<Distribution>("spread"));
}

}  // namespace
}  // namespace slipway::staging
