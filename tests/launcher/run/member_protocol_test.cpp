#include "launcher/run/member_protocol.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "launcher/run/plan_agreement.h"

namespace slipway::launcher {
namespace {

using member::MemberHello;
using member::PlannedPlace;

MemberHello HelloWith(const std::string& root) {
  MemberHello hello;
  hello.pid = 4711;
  hello.address = {"10.77.0.1", 4712, {{"fe80::1", 4713}}, "n1"};
  hello.places = {{"train", "node", "/tmp/slipway-0/train-0123", {"ram: needs 3 GB"}, root}};
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
  ASSERT_EQ(hello.places.size(), 1u);
  EXPECT_EQ(hello.places[0].directory, "/tmp/slipway-0/train-0123");
  EXPECT_EQ(hello.places[0].root, "boot:1:2");
  const auto order = member::OrderFromJson(ToJson(member::StageOrder{"train", 1, {{"a", 1}, {"b", 2}}}));
  EXPECT_EQ(order.number, 1u);
  EXPECT_EQ(order.nodes.at(1).host, "b");
}

TEST(MemberProtocol, ErrorsKeepTheirContext) {
  Error error(ErrorKind::kBusy, "it is in use", "wait");
  error.AddContext("while staging");
  const auto again = member::ErrorFromJson(member::ErrorToJson(error));
  EXPECT_EQ(again.kind(), ErrorKind::kBusy);
  EXPECT_STREQ(again.what(), error.what());
}

TEST(PlanAgreement, OfTheNodesThatSeeOneDirectoryTheFirstStages) {
  EXPECT_EQ(StagersOf("train", {HelloWith("a"), HelloWith("b"), HelloWith("a"), HelloWith("c")}),
            (std::vector<std::size_t>{0, 1, 3}));
  EXPECT_TRUE(StagersOf("other", {HelloWith("a")}).empty());
}

TEST(PlanAgreement, AnotherDirectoryInTheSameTierIsAnotherPlace) {
  staging::StagingPlan plan;
  plan.request.name = "train";
  plan.tier = "node";
  plan.directory = "/tmp/slipway-0/train-0123";
  auto place = HelloWith("a").places.front();
  EXPECT_FALSE(Disagreement(plan, place, "n1"));
  place.directory = "/scratch/slipway-0/train-0123";
  const auto difference = Disagreement(plan, place, "n1");
  ASSERT_TRUE(difference);
  EXPECT_EQ(difference->message(),
            "dataset 'train' is to lie in tier node ('/tmp/slipway-0/train-0123') on every node, but node n1 has it in "
            "tier node ('/scratch/slipway-0/train-0123'); there not ram: needs 3 GB");
}

}  // namespace
}  // namespace slipway::launcher
