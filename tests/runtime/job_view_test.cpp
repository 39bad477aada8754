// Who is found to hold a job up, from what is seen of its ranks.

#include "runtime/watch/job_view.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace slipway::runtime {
namespace {

SeenCall Call(Activity activity, std::uint32_t team = 0) {
  return {static_cast<std::uint32_t>(activity) | team << 16, NameOf(activity)};
}

const SeenCall kReducing = Call(Activity::kAllreduce);

/// Ranks of two nodes, two on each, all waiting in an allreduce at step 5.
std::vector<RankStatus> Four() {
  std::vector<RankStatus> sights;
  for (int rank = 0; rank < 4; ++rank) {
    RankStatus sight{rank, {rank < 2 ? "n1" : "n2", 100 + rank}, RankState::kRunning};
    sight.current = kReducing;
    sight.last = Call(Activity::kBarrier);
    sight.step = 5;
    sights.push_back(sight);
  }
  return sights;
}

Waiting WaitsFor(std::vector<int> missing) { return {0, kReducing, 3.04, std::move(missing)}; }

using Ranks = std::vector<int>;

TEST(JobView, NamesAStoppedRankOfAnotherNodeWithAllThatIsKnownOfIt) {
  auto sights = Four();
  sights[3].state = RankState::kStopped;
  const JobView view(sights);
  const auto waiting = WaitsFor({3});
  const auto verdict = view.Judge(waiting, view.Culprits(waiting));
  EXPECT_EQ(verdict.kind, "stalled");
  EXPECT_EQ(verdict.culprits, Ranks{3});
  EXPECT_EQ(verdict.message,
            "waited 3.0 s for slipway_allreduce: rank 3 on host n2 (process 103) is stopped "
            "(SIGSTOP), last completed slipway_barrier at step 5");
}

TEST(JobView, NamesAllRanksThatAreStoppedWithTheOneThatSomebodyWaitsFor) {
  auto sights = Four();
  sights[2].state = sights[3].state = RankState::kStopped;
  EXPECT_EQ(JobView(sights).Culprits(WaitsFor({2})), (Ranks{2, 3}));
}

TEST(JobView, FollowsThoseWhoWaitToTheOneWhoDoesNot) {
  auto sights = Four();
  sights[1].missing = {2};
  sights[2].missing = {3};
  sights[3].current = {};
  EXPECT_EQ(JobView(sights).Culprits(WaitsFor({1})), Ranks{3});
}

/// It is in the same call as the others, which wait for it alone.
TEST(JobView, FollowsThoseWhoWaitToTheOneWhoseGpuIsLate) {
  auto sights = Four();
  sights[2].state = RankState::kUnknown;
  sights[3].awaits_gpu = true;
  const JobView view(sights);
  const auto waiting = WaitsFor({1, 2, 3});
  const auto culprits = view.Culprits(waiting);
  EXPECT_EQ(culprits, Ranks{3});
  EXPECT_FALSE(view.MayBeElsewhere(culprits));
  EXPECT_EQ(view.Describe(3),
            "rank 3 on host n2 (process 103) is in slipway_allreduce and waits for its GPU, last completed "
            "slipway_barrier at step 5");
}

/// It belongs to no group that somebody waits for.
TEST(JobView, LeavesARankAloneThatNobodyWaitsFor) {
  auto sights = Four();
  sights[1].current = {};
  sights[3].state = RankState::kStopped;
  EXPECT_EQ(JobView(sights).Culprits(WaitsFor({2, 3})), Ranks{3});
}

TEST(JobView, LooksAtAllWhenNobodyKnowsForWhomTheOthersWait) {
  auto sights = Four();
  sights[3].current = {};
  EXPECT_EQ(JobView(sights).Culprits(WaitsFor({1, 2})), Ranks{3});
}

TEST(JobView, HoldsADeadRankResponsibleBeforeOthers) {
  auto sights = Four();
  sights[1].current = {};
  sights[2].state = RankState::kDead;
  const JobView view(sights);
  const auto waiting = WaitsFor({1, 2});
  EXPECT_EQ(view.Culprits(waiting), Ranks{2});
  EXPECT_EQ(view.Judge(waiting, {2}).kind, "dead");
}

TEST(JobView, NamesThoseInAnotherCallWhenAllWait) {
  auto sights = Four();
  sights[2].current = Call(Activity::kBarrier);
  EXPECT_EQ(JobView(sights).Culprits(WaitsFor({1, 2, 3})), Ranks{2});
}

TEST(JobView, NamesTheMissingOnesWhenNothingElseIsKnown) {
  EXPECT_EQ(JobView(Four()).Culprits(WaitsFor({2, 3})), (Ranks{2, 3}));
}

TEST(JobView, NamesARankThatHasNotBegun) {
  auto sights = Four();
  sights[2] = {2, {"n2", 0}, RankState::kAbsent};
  const JobView view(sights);
  EXPECT_EQ(view.Culprits(WaitsFor({1})), Ranks{2});
  EXPECT_EQ(view.Describe(2), "rank 2 on host n2 has not called slipway_init");
  EXPECT_TRUE(ReportOf(view.Of(2))["step"].is_null());
}

/// Rank 0 is in slipway_finalize.
Waiting Leaves() { return {0, Call(Activity::kFinalize), 60.0, {1, 2, 3}}; }

TEST(JobView, LetsARankInFinalizeWaitForThoseThatCompute) {
  auto sights = Four();
  sights[0].current = sights[1].current = Call(Activity::kFinalize);
  sights[2].current = sights[3].current = {};
  const JobView view(sights);
  EXPECT_EQ(view.Culprits(Leaves()), (Ranks{2, 3}));
  EXPECT_TRUE(view.WaitsForWork(Leaves(), {2, 3}));
  EXPECT_FALSE(view.WaitsForWork(WaitsFor({2, 3}), {2, 3})) << "an exchange has its limit";
  EXPECT_FALSE(view.WaitsForWork(Leaves(), {}));
}

TEST(JobView, DoesNotTakeTheStoppedTheDeadAndThoseInAnotherCallForRanksThatCompute) {
  for (const auto state : {RankState::kStopped, RankState::kDead, RankState::kUnknown, RankState::kAbsent}) {
    auto sights = Four();
    sights[3].current = {};
    sights[3].state = state;
    EXPECT_FALSE(JobView(sights).WaitsForWork(Leaves(), {3})) << static_cast<int>(state);
  }
  auto sights = Four();
  EXPECT_FALSE(JobView(sights).WaitsForWork(Leaves(), {3})) << "it is in an allreduce";
  sights[2].current = {};
  EXPECT_FALSE(JobView(sights).WaitsForWork(Leaves(), {2, 3}));
  sights[2].gave_up = kReducing;
  EXPECT_FALSE(JobView(sights).WaitsForWork(Leaves(), {2}));
}

TEST(JobView, SaysThatARankHasLeftWhereOthersStillExchange) {
  auto sights = Four();
  sights[3].current = Call(Activity::kFinalize);
  const JobView view(sights);
  const auto waiting = WaitsFor({3});
  const auto verdict = view.Judge(waiting, view.Culprits(waiting));
  EXPECT_EQ(verdict.kind, "left");
  EXPECT_EQ(verdict.message,
            "waited 3.0 s for slipway_allreduce: rank 3 on host n2 (process 103) has ended its program and waits in "
            "slipway_finalize, last completed slipway_barrier at step 5");
  EXPECT_EQ(view.Judge(waiting, {2, 3}).kind, "stalled") << "rank 2 is in an exchange";
  sights[3].state = RankState::kStopped;
  EXPECT_EQ(JobView(sights).Judge(waiting, {3}).kind, "stalled");
}

TEST(JobView, KnowsTheLowestRankInFinalize) {
  auto sights = Four();
  EXPECT_FALSE(JobView(sights).IsFirstInFinalize(0));
  sights[1].current = sights[2].current = Call(Activity::kFinalize);
  EXPECT_TRUE(JobView(sights).IsFirstInFinalize(1));
  EXPECT_FALSE(JobView(sights).IsFirstInFinalize(2));
}

TEST(JobView, DescribesAFewOfMany) {
  std::vector<RankStatus> sights(200);
  Ranks all;
  for (int rank = 0; rank < 200; ++rank) {
    sights[static_cast<std::size_t>(rank)] = {rank, {"n1", 1}, RankState::kStopped};
    all.push_back(rank);
  }
  const auto message = JobView(sights).Judge(WaitsFor(all), all).message;
  EXPECT_LT(message.size(), 1500u);
  EXPECT_NE(message.find("; 192 more"), std::string::npos);
  EXPECT_NE(message.find("; 192 more"), std::string::npos) << message;
}

TEST(RankStatus, TravelsAsJson) {
  auto sight = Four()[3];
  sight.asks = Call(Activity::kGradients, 2);
  sight.waited_s = 61.5;
  sight.missing = {0, 7};
  sight.state = RankState::kStopped;
  sight.awaits_gpu = true;
  const auto back = RankStatusesFromJson(ToJson(std::vector{sight})).at(0);
  EXPECT_EQ(ToJson({back}), ToJson({sight}));
  EXPECT_EQ(back.state, RankState::kStopped);
  EXPECT_EQ(back.missing, sight.missing);
  EXPECT_TRUE(back.awaits_gpu);
}

}  // namespace
}  // namespace slipway::runtime
