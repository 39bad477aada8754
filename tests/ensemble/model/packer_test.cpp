#include "ensemble/model/packer.h"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <set>

namespace slipway::ensemble {
namespace {

using testing::ElementsAre;

AllocatedNode Node(std::string name, int cores, int gpus = 0) {
  AllocatedNode node{std::move(name), {}, {}};
  for (int i = 0; i < cores; ++i) node.cores.push_back(i);
  for (int i = 0; i < gpus; ++i) node.gpus.push_back(std::to_string(i));
  return node;
}

TEST(Packer, PutsSeveralSmallTrialsOnOneNode) {
  Packer packer({Node("a", 5)}, {1, 2, 0});
  EXPECT_EQ(packer.Slots(), 2);
  EXPECT_THAT(packer.Take()->at(0).cores, ElementsAre(0, 1));
  const auto second = packer.Take();
  EXPECT_THAT(second->at(0).cores, ElementsAre(2, 3));
  EXPECT_FALSE(packer.Take());
  packer.GiveBack(*second);
  EXPECT_THAT(packer.Take()->at(0).cores, ElementsAre(2, 3));
}

TEST(Packer, FillsANodeBeforeItOpensTheNext) {
  Packer packer({Node("a", 4), Node("b", 4)}, {1, 1, 0});
  const auto first = packer.Take()->at(0).node;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(packer.Take()->at(0).node, first);
  EXPECT_NE(packer.Take()->at(0).node, first);
}

TEST(Packer, SpreadsALargeTrialOverNodes) {
  Packer packer({Node("a", 2), Node("b", 4), Node("c", 4)}, {2, 4, 0});
  EXPECT_EQ(packer.Slots(), 1);
  const auto place = packer.Take();
  ASSERT_TRUE(place);
  EXPECT_THAT(*place,
              ElementsAre(testing::Field(&AllocatedNode::node, "b"), testing::Field(&AllocatedNode::node, "c")));
  EXPECT_FALSE(packer.Take());
}

TEST(Packer, GivesEachTrialItsOwnDevices) {
  Packer packer({Node("a", 8, 2)}, {1, 2, 1});
  EXPECT_EQ(packer.Slots(), 2);
  EXPECT_THAT(packer.Take()->at(0).gpus, ElementsAre("0"));
  EXPECT_THAT(packer.Take()->at(0).gpus, ElementsAre("1"));
}

TEST(Packer, HasNoMoreRoomThanDevicesAndTheNextTrialGetsThoseOfTheOneThatEnded) {
  Packer packer({Node("a", 64, 11)}, {1, 2, 5});
  EXPECT_EQ(packer.Slots(), 2);
  const auto first = packer.Take();
  const auto second = packer.Take();
  EXPECT_FALSE(packer.Take());
  packer.GiveBack(*second);
  packer.GiveBack(*first);
  EXPECT_THAT(packer.Take()->at(0).gpus, ElementsAre("0", "1", "2", "3", "4"));
  EXPECT_THAT(packer.Take()->at(0).gpus, ElementsAre("5", "6", "7", "8", "9")) << "not 10, which is text before 2";
}

TEST(Packer, PlacesByDevicesAloneWhereTrialsShareTheCores) {
  Packer packer({Node("a", 1, 3), Node("b", 1, 0)}, {1, 0, 1});
  EXPECT_EQ(packer.Slots(), 3);
  for (const auto* gpu : {"0", "1", "2"}) EXPECT_THAT(packer.Take()->at(0).gpus, ElementsAre(gpu));
  EXPECT_FALSE(packer.Take());
}

TEST(Packer, HasNoRoomForWhatIsTooLarge) {
  EXPECT_EQ(Packer({Node("a", 2)}, {1, 3, 0}).Slots(), 0);
  EXPECT_EQ(Packer({Node("a", 8)}, {2, 1, 0}).Slots(), 0);
  EXPECT_FALSE(Packer({Node("a", 2)}, {1, 3, 0}).Take());
  EXPECT_EQ(Packer({}, {1, 1, 0}).Slots(), 0);
}

TEST(Packer, GivesALostNodeToNobodyAndTakesNothingOfItBack) {
  Packer packer({Node("a", 1), Node("b", 1)}, {1, 1, 0});
  const auto on_a = packer.Take();
  ASSERT_EQ(on_a->at(0).node, "a");
  packer.Lose("a");
  EXPECT_FALSE(packer.OutOfNodes());
  packer.GiveBack(*on_a);
  EXPECT_EQ(packer.Take()->at(0).node, "b");
  EXPECT_FALSE(packer.Take());
  packer.Lose("b");
  packer.Lose("nobody");
  EXPECT_TRUE(packer.OutOfNodes());
}

TEST(Packer, IsOutOfNodesWhenTooFewAreLeftForOneTrial) {
  Packer packer({Node("a", 4), Node("b", 4)}, {2, 1, 0});
  EXPECT_FALSE(packer.OutOfNodes());
  packer.Lose("b");
  EXPECT_TRUE(packer.OutOfNodes());
  EXPECT_FALSE(packer.Take());
}

TEST(Packer, IsOutOfNodesWhenThoseThatAreLeftAreTooSmall) {
  Packer packer({Node("large", 8, 2), Node("small", 2, 2), Node("slow", 8, 0)}, {1, 4, 1});
  EXPECT_FALSE(packer.OutOfNodes());
  const auto place = packer.Take();
  EXPECT_FALSE(packer.Take() && packer.Take()) << "large holds two";
  EXPECT_FALSE(packer.OutOfNodes()) << "what is in use comes back";
  packer.Lose("large");
  packer.GiveBack(*place);
  EXPECT_TRUE(packer.OutOfNodes());
  EXPECT_FALSE(packer.Take());
}

RC_GTEST_PROP(Packer, NeverGivesACoreOrADeviceTwiceAndFillsAllItsSlots, ()) {
  std::vector<AllocatedNode> nodes;
  const auto count = *rc::gen::inRange(1, 5);
  for (int i = 0; i < count; ++i)
    nodes.push_back(Node(std::string(1, static_cast<char>('a' + i)), *rc::gen::inRange(0, 9), *rc::gen::inRange(0, 9)));
  const Need need{*rc::gen::inRange(1, 4), *rc::gen::inRange(1, 4), *rc::gen::inRange(0, 4)};
  Packer packer(nodes, need);
  std::vector<std::vector<AllocatedNode>> held;
  const auto check = [&] {
    std::map<std::string, std::set<int>> used;
    std::map<std::string, std::set<std::string>> seen;
    for (const auto& place : held) {
      std::set<std::string> names;
      for (const auto& share : place) {
        RC_ASSERT(static_cast<int>(share.cores.size()) == need.cores);
        RC_ASSERT(names.insert(share.node).second);
        for (const int core : share.cores) RC_ASSERT(used[share.node].insert(core).second);
        RC_ASSERT(static_cast<int>(share.gpus.size()) == need.gpus);
        for (const auto& gpu : share.gpus) RC_ASSERT(seen[share.node].insert(gpu).second);
      }
    }
  };
  for (const bool take : *rc::gen::container<std::vector<bool>>(40, rc::gen::arbitrary<bool>())) {
    if (take) {
      if (auto place = packer.Take()) held.push_back(std::move(*place));
    } else if (!held.empty()) {
      packer.GiveBack(held.front());
      held.erase(held.begin());
    }
    check();
    RC_ASSERT(static_cast<int>(held.size()) <= packer.Slots());
  }
  for (const auto& place : held) packer.GiveBack(place);
  int again = 0;
  while (packer.Take()) ++again;
  RC_ASSERT(again == packer.Slots());
}

}  // namespace
}  // namespace slipway::ensemble
