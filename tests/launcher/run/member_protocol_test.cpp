#include "launcher/run/data/member_protocol.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/json_fields.h"
#include "launcher/run/data/plan_agreement.h"

namespace slipway::launcher {
namespace {

using member::MemberHello;
using testing::ElementsAre;

MemberHello HelloWith(const std::string& root) {
  MemberHello hello;
  hello.pid = 4711;
  hello.address = {"10.77.0.1", 4712, {{"fe80::1", 4713}}, "n1"};
  hello.offers = {{"train", "ram", {}, {}, "ram: needs 3 GB, 1 GB is free", {}},
                  {"train", "node", "/tmp/slipway-0/train-0123", root, {}, "train-4567"}};
  return hello;
}

TEST(MemberProtocol, WhatMembersSayComesBack) {
  const auto hello = member::HelloFromJson(ToJson(HelloWith("boot:1:2")));
  EXPECT_EQ(hello.pid, 4711);
  EXPECT_EQ(hello.address.host, "10.77.0.1");
  EXPECT_EQ(hello.address.name, "n1");
  ASSERT_EQ(hello.address.more.size(), 1u);
  EXPECT_EQ(hello.address.more[0].host, "fe80::1");
  EXPECT_EQ(hello.address.more[0].port, 4713);
  ASSERT_EQ(hello.offers.size(), 2u);
  EXPECT_EQ(hello.offers[0].reason, "ram: needs 3 GB, 1 GB is free");
  EXPECT_EQ(hello.offers[1].directory, "/tmp/slipway-0/train-0123");
  EXPECT_EQ(hello.offers[1].root, "boot:1:2");
  EXPECT_EQ(hello.offers[1].shared_out, "train-4567");
  const auto ready =
      member::ReadyFromJson(ToJson(member::MemberReady{"train", true, Bytes{7}, "/tmp/train-0123", 412, {"x"}}));
  EXPECT_EQ(ready.directory, "/tmp/train-0123");
  EXPECT_EQ(ready.records, 412u);
  EXPECT_THAT(ready.unread, ElementsAre("x"));
  const auto order = member::OrderFromJson(ToJson(member::StageOrder{{"train", "ram"}, 1, {{"a", 1}, {"b", 2}}}));
  EXPECT_EQ(order.what.dataset, "train");
  EXPECT_EQ(order.what.tier, "ram");
  EXPECT_EQ(order.number, 1u);
  EXPECT_EQ(order.nodes.at(1).host, "b");
}

TEST(MemberProtocol, ErrorsKeepTheirContext) {
  Error error(ErrorKind::kBusy, "it is in use", "wait");
  error.AddContext("while staging");
  const auto again = ErrorFromJson(ErrorToJson(error));
  EXPECT_EQ(again.kind(), ErrorKind::kBusy);
  EXPECT_STREQ(again.what(), error.what());
}

TEST(PlanAgreement, OfTheNodesThatSeeOneDirectoryTheFirstStages) {
  EXPECT_THAT(StagersOf({"train", "node"}, {HelloWith("a"), HelloWith("b"), HelloWith("a"), HelloWith("c")}),
              ElementsAre(0, 1, 3));
  EXPECT_TRUE(StagersOf({"other", "node"}, {HelloWith("a")}).empty());
}

/// A manager whose own node would take the tier `ram`, and three nodes: what each can hold is the test's choice.
class TierOfThreeNodes : public testing::Test {
 protected:
  TierOfThreeNodes() {
    plan_.request.name = "train";
    plan_.request.tiers = {"burst", "ram", "node", "none"};
    plan_.tier = "ram";
    for (const char* name : {"n1", "n2", "n3"}) {
      MemberHello hello;
      hello.address.name = name;
      hello.offers = {{"train", "burst", {}, {}, "burst: there is none", {}},
                      {"train", "ram", "/dev/shm/slipway-0/train-0123", name, {}, {}},
                      {"train", "node", "/tmp/slipway-0/train-0123", name, {}, {}},
                      {"train", "none", "/data", {}, {}, {}}};
      hellos_.push_back(hello);
    }
  }

  void Lacks(int node, int offer, const std::string& reason) {
    hellos_[static_cast<std::size_t>(node)].offers[static_cast<std::size_t>(offer)].reason = reason;
  }

  staging::StagingPlan plan_;
  std::vector<MemberHello> hellos_;
};

TEST_F(TierOfThreeNodes, IsThatOfTheManagerWhenAllCanHoldIt) {
  const auto agreed = AgreeOnTier(plan_, hellos_);
  EXPECT_EQ(agreed.tier, "ram");
  EXPECT_TRUE(agreed.skipped.empty());
}

TEST_F(TierOfThreeNodes, IsTheNextOneWhenANodeLacksRoom) {
  Lacks(1, 1, "ram: needs 3 GB, 1 GB is free");
  const auto agreed = AgreeOnTier(plan_, hellos_);
  EXPECT_EQ(agreed.tier, "node");
  EXPECT_THAT(agreed.skipped, ElementsAre("ram: needs 3 GB, 1 GB is free (on node n2)"));
}

TEST_F(TierOfThreeNodes, IsNotOneThatLiesElsewhereOnANode) {
  Lacks(1, 1, "ram: needs 3 GB, 1 GB is free");
  hellos_[2].offers[2].directory = "/scratch/slipway-0/train-0123";
  const auto agreed = AgreeOnTier(plan_, hellos_);
  EXPECT_EQ(agreed.tier, "none");
  EXPECT_THAT(agreed.skipped, ElementsAre("ram: needs 3 GB, 1 GB is free (on node n2)",
                                          "node: it would be '/tmp/slipway-0/train-0123' on node n1, but "
                                          "'/scratch/slipway-0/train-0123' on node n3"));
}

TEST_F(TierOfThreeNodes, IsNotOneForSharesOfDifferentFiles) {
  for (auto& hello : hellos_) {
    for (auto& offer : hello.offers) offer.shared_out = "train-4567";
  }
  EXPECT_EQ(AgreeOnTier(plan_, hellos_).tier, "ram");
  hellos_[2].offers[1].shared_out = "train-89ab";
  const auto agreed = AgreeOnTier(plan_, hellos_);
  EXPECT_EQ(agreed.tier, "node");
  EXPECT_THAT(agreed.skipped, ElementsAre("ram: node n3 sees other files of it than node n1"));
}

TEST_F(TierOfThreeNodes, IsAnErrorThatNamesEachWhenNoneIsLeft) {
  plan_.request.tiers = {"ram", "node"};
  Lacks(0, 2, "node: needs 3 GB, 2 GB is free");
  Lacks(1, 1, "ram: needs 3 GB, 1 GB is free");
  try {
    AgreeOnTier(plan_, hellos_);
    FAIL() << "they agreed";
  } catch (const Error& error) {
    EXPECT_EQ(
        error.message(),
        "no tier can hold dataset 'train' on all 3 nodes: ram: needs 3 GB, 1 GB is free (on node n2); node: needs "
        "3 GB, 2 GB is free (on node n1)");
    EXPECT_THAT(error.next_step(), testing::HasSubstr("data.train.tier"));
  }
}

}  // namespace
}  // namespace slipway::launcher
