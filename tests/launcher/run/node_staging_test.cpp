#include "launcher/run/data/node_staging.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "core/clock.h"
#include "core/error.h"
#include "core/files.h"
#include "launcher/run_folder/prepare.h"
#include "launcher/spec/load.h"
#include "staging/dataset/share_list.h"
#include "tests/launcher/run/nodes_here.h"
#include "tests/staging/staging_support.h"
#include "tests/support/kept_output.h"
#include "tests/support/run_until.h"

namespace slipway::launcher {
namespace {

namespace fs = std::filesystem;
using testing::AnyOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

/// A run whose manager is this process.
class NodeStagingTest : public testing::Test {
 protected:
  /// Four files of half a MiB, and a spec whose dataset `train` has these further fields; `test`, of one of the files,
  /// has them, too, or others.
  void Prepare(const std::vector<int>& mebibytes, const std::string& fields, const std::string& test_fields = {}) {
    if (!here_.Start(mebibytes)) GTEST_SKIP() << "processes may have no mounts of their own here";
    for (int i = 0; i < 4; ++i) {
      staging::Put(Source(i), staging::TfrecordBytes(64, 8192));
      source_bytes_ += fs::file_size(Source(i));
    }
    staging::Put(
        here_.shared() / "exp.yaml",
        fmt::format("name: nodes\ndata:\n"
                    "  train: {{source: '{0}/source/*.tfrecord', {1}}}\n"
                    "  test: {{source: '{0}/source/0.tfrecord', {3}}}\n"
                    "launch: {{engine: slurm, nodes: {2}}}\ntrain: {{command: ['true']}}\n",
                    here_.shared().string(), fields, mebibytes.size(), test_fields.empty() ? fields : test_fields));
    plan_ = MakePlan(LoadSpec(here_.shared() / "exp.yaml"), here_.shared() / "runs");
    folder_ = PrepareRun(*plan_);
    Again();
  }

  /// A manager that begins anew.
  void Again() {
    staging_ = std::make_unique<NodeStaging>(*folder_, *plan_, here_.nodes(), loop_, interrupt_, output_,
                                             [this](const Error& error) { lost_hold_ = error.what(); });
  }

  fs::path Source(int i) const { return here_.shared() / "source" / fmt::format("{}.tfrecord", i); }

  /// What Begin throws, or "".
  std::string Refusal() {
    return staging::MessageOf([&] { staging_->Begin(); });
  }

  /// Once the member on the node is at work, or holds.
  void AtWork(int node, std::function<void()> action) {
    loop_.After(std::chrono::milliseconds(20), [this, node, action = std::move(action)] {
      if (here_.MemberOn(node) != 0 && !IsIdle(node)) return action();
      AtWork(node, action);
    });
  }

  /// Nothing is on its way into the node's tier.
  bool IsIdle(int node) const {
    return staging::NamesOf(here_.Seen(node, plan_->data.front().root) / ".staging").empty();
  }

  bool HoldsAll(int node) const {
    for (int i = 0; i < 4; ++i) {
      const auto copy = here_.Seen(node, plan_->data.front().directory) / Source(i).filename();
      if (ReadFileIfPresent(copy) != ReadFile(Source(i))) return false;
    }
    return fs::exists(here_.Seen(node, plan_->data.back().directory) / "manifest.json");
  }

  /// Neither published nor half done.
  bool HoldsNothing(int node) const {
    for (const auto& plan : plan_->data) {
      if (fs::exists(here_.Seen(node, plan.directory))) return false;
    }
    return IsIdle(node);
  }

  Json Staged(const std::string& dataset) const {
    std::ifstream events(folder_->path() / "events.jsonl");
    Json last;
    for (std::string line; std::getline(events, line);) {
      auto event = Json::parse(line);
      if (event["event"] == "staged" && event["dataset"] == dataset) last = std::move(event);
    }
    return last;
  }

  /// Whether another one comes. Looks once at a time: it may be gone at a second look.
  bool KillMember(int node) {
    const auto first = here_.MemberOn(node);
    EXPECT_NE(first, 0);
    ::kill(first, SIGKILL);
    return test::RunUntil(loop_, [&] {
      const auto now = here_.MemberOn(node);
      return now != 0 && now != first;
    });
  }

  NodesHere here_;
  EventLoop loop_;
  Interrupt interrupt_{loop_};
  test::KeptOutput output_;
  std::uint64_t source_bytes_ = 0;
  std::optional<Plan> plan_;
  std::optional<RunFolder> folder_;
  std::unique_ptr<NodeStaging> staging_;
  std::string lost_hold_;
};

/// Slow enough to be caught at work: some two seconds for a node's share.
constexpr char kSlowly[] = "tier: node, bandwidth: 300KB";

TEST_F(NodeStagingTest, GivesEveryNodeACopyAndReadsEachByteOnce) {
  Prepare({64, 64, 64}, "tier: node");
  if (IsSkipped()) return;
  staging_->Begin();
  for (int node = 0; node < 3; ++node) EXPECT_TRUE(HoldsAll(node)) << node;
  EXPECT_FALSE(fs::exists(plan_->data.front().directory)) << "the manager itself stages nothing";
  EXPECT_EQ(Staged("train")["bytes"], source_bytes_);
  EXPECT_EQ(Staged("train")["adopted"], 0);
  EXPECT_EQ(Staged("test")["nodes"], 3);
  staging_->Release();
  for (int node = 0; node < 3; ++node) {
    EXPECT_TRUE(HoldsNothing(node)) << node;
    EXPECT_EQ(here_.MemberOn(node), 0);
  }
  staging_.reset();
  EXPECT_THAT(staging::NamesOf(folder_->path()), Not(testing::Contains(HasSubstr("staging"))));
  EXPECT_EQ(output_.warnings, "");
}

TEST_F(NodeStagingTest, TakesOverWhatIsKeptForLaterRuns) {
  Prepare({64, 64}, "tier: node, keep: cache");
  if (IsSkipped()) return;
  staging_->Begin();
  staging_->Release();
  EXPECT_TRUE(HoldsAll(0) && HoldsAll(1));
  staging_.reset();
  Again();
  staging_->Begin();
  EXPECT_EQ(Staged("train")["adopted"], 2);
  EXPECT_EQ(Staged("train")["bytes"], 0);
}

TEST_F(NodeStagingTest, NodesThatSeeOneDirectoryStageItOnce) {
  Prepare({64, 64}, fmt::format("tier: 'dir:{}'", (here_.shared() / "tier").string()));
  if (IsSkipped()) return;
  staging_->Begin();
  EXPECT_EQ(Staged("train")["adopted"], 1);
  EXPECT_EQ(Staged("train")["bytes"], source_bytes_);
  EXPECT_EQ(staging::NamesOf(plan_->data.front().directory).size(), 6u) << "four files, their index and manifest";
  staging_->Release();
  EXPECT_FALSE(fs::exists(plan_->data.front().directory));
}

TEST_F(NodeStagingTest, NamesTheNodeWhoseTierIsTooSmall) {
  Prepare({64, 1, 64}, "tier: node");
  if (IsSkipped()) return;
  const auto refusal = Refusal();
  EXPECT_THAT(refusal, HasSubstr("'train'"));
  EXPECT_THAT(refusal, HasSubstr("on node n1"));
  EXPECT_THAT(refusal, HasSubstr("is free"));
  staging_->Release();
  for (int node = 0; node < 3; ++node) EXPECT_TRUE(HoldsNothing(node)) << node;
}

TEST_F(NodeStagingTest, ReadsInPlaceWhatOneNodeCannotHold) {
  Prepare({64, 1, 64}, "tier: [node, none]");
  if (IsSkipped()) return;
  staging_->Begin();
  EXPECT_EQ(staging_->plans().front().tier, "none");
  EXPECT_EQ(staging_->plans().front().directory, Source(0).parent_path());
  EXPECT_THAT(staging_->plans().front().rejected.front(), AllOf(HasSubstr("node: needs"), HasSubstr("(on node n1)")));
  EXPECT_THAT(ReadFile(folder_->path() / "events.jsonl"), HasSubstr("\"event\":\"tiers_skipped\""));
  EXPECT_TRUE(Staged("train").is_null());
  staging_->Release();
  for (int node = 0; node < 3; ++node) EXPECT_TRUE(HoldsNothing(node)) << node;
}

TEST_F(NodeStagingTest, TakesTheNextTierThatAllNodesCanHold) {
  const auto next = fmt::format("dir:{}", (here_.shared() / "tier").string());
  Prepare({64, 1}, fmt::format("tier: [node, '{}']", next));
  if (IsSkipped()) return;
  staging_->Begin();
  EXPECT_EQ(staging_->plans().front().tier, next);
  EXPECT_EQ(Staged("train")["tier"], next);
  EXPECT_EQ(Staged("train")["bytes"], source_bytes_);
  EXPECT_EQ(staging::NamesOf(staging_->plans().front().directory).size(), 6u) << "four files, their index and manifest";
  staging_->Release();
  EXPECT_FALSE(fs::exists(staging_->plans().front().directory));
}

TEST_F(NodeStagingTest, NamesTheNodeWhoseMemberIsKilledAndLeavesNothing) {
  Prepare({64, 64, 64}, kSlowly);
  if (IsSkipped()) return;
  AtWork(1, [this] { ::kill(here_.MemberOn(1), SIGKILL); });
  EXPECT_THAT(Refusal(), AllOf(HasSubstr("SIGKILL"), HasSubstr("on node n1")));
  staging_->Release();
  for (int node = 0; node < 3; ++node) EXPECT_TRUE(HoldsNothing(node)) << node;
}

TEST_F(NodeStagingTest, NamesANodeThatIsLost) {
  Prepare({64, 64, 64}, kSlowly);
  if (IsSkipped()) return;
  AtWork(2, [this] { here_.Kill(2); });
  EXPECT_THAT(Refusal(), HasSubstr("node n2 is lost"));
  staging_->Release();
  EXPECT_TRUE(HoldsNothing(0) && HoldsNothing(1));
}

TEST_F(NodeStagingTest, EndsWhenTheUserSaysSo) {
  Prepare({64, 64}, kSlowly);
  if (IsSkipped()) return;
  AtWork(0, [this] { interrupt_.Ask(); });
  try {
    staging_->Begin();
    FAIL() << "it went on";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInterrupted);
  }
  staging_->Release();
  EXPECT_TRUE(HoldsNothing(0) && HoldsNothing(1));
}

TEST_F(NodeStagingTest, LeavesNothingBehindAManagerThatIsGone) {
  Prepare({64, 64}, "tier: node");
  if (IsSkipped()) return;
  staging_->Begin();
  EXPECT_TRUE(HoldsAll(0) && HoldsAll(1));
  staging_.reset();
  here_.LeaveAlone();
  EXPECT_TRUE(test::RunUntil(loop_, [this] { return HoldsNothing(0) && HoldsNothing(1); }));
  EXPECT_TRUE(test::RunUntil(loop_, [this] { return here_.MemberOn(0) == 0 && here_.MemberOn(1) == 0; }));
}

TEST_F(NodeStagingTest, LeavesNothingBehindAManagerThatGoesWhileItStages) {
  Prepare({64, 64}, kSlowly);
  if (IsSkipped()) return;
  AtWork(0, [] { throw Error(ErrorKind::kInternal, "gone"); });
  EXPECT_EQ(Refusal(), "gone");
  staging_.reset();
  here_.LeaveAlone();
  EXPECT_TRUE(test::RunUntil(loop_, [this] { return HoldsNothing(0) && HoldsNothing(1); }));
  EXPECT_TRUE(test::RunUntil(loop_, [this] { return here_.MemberOn(0) == 0 && here_.MemberOn(1) == 0; }));
}

TEST_F(NodeStagingTest, AMemberThatIsKilledWhileTheRanksRunIsStartedAgain) {
  Prepare({64, 64}, "tier: node");
  if (IsSkipped()) return;
  staging_->Begin();
  ASSERT_TRUE(KillMember(1)) << output_.warnings << lost_hold_;
  EXPECT_THAT(output_.warnings, HasSubstr("on node n1; it is started again"));
  staging_->Release();
  EXPECT_EQ(lost_hold_, "");
  EXPECT_TRUE(HoldsNothing(0) && HoldsNothing(1));
}

TEST_F(NodeStagingTest, AMemberThatIsKilledAsTheRunEndsLeavesNothing) {
  Prepare({64, 64}, "tier: node");
  if (IsSkipped()) return;
  staging_->Begin();
  ::kill(here_.MemberOn(1), SIGKILL);
  staging_->Release();
  EXPECT_EQ(lost_hold_, "");
  EXPECT_TRUE(HoldsNothing(0) && HoldsNothing(1));
}

/// Runs whose `train` is shared out.
class NodeShareTest : public NodeStagingTest {
 protected:
  void PrepareShares(const std::vector<int>& mebibytes, const std::string& fields) {
    Prepare(mebibytes, "distribute: node-shard, " + fields, fields);
  }

  const StagedPlace& Shares() const { return staging_->SharesOf("train"); }

  /// The files of `train` that the node holds, as they are at the source.
  std::vector<std::string> HeldBy(int node) const {
    std::vector<std::string> held;
    const auto directory = here_.Seen(node, Shares().on_node.at(node));
    for (int i = 0; i < 4; ++i) {
      const auto name = Source(i).filename();
      if (ReadFileIfPresent(directory / name) == ReadFile(Source(i))) held.push_back(name);
    }
    return held;
  }

  /// No share, published or half done, in the tier of the plan.
  bool HoldsNoShare(int node) const {
    for (const auto& name : staging::NamesOf(here_.Seen(node, plan_->data.front().root))) {
      if (name.starts_with("train-")) return false;
    }
    return IsIdle(node);
  }
};

TEST_F(NodeShareTest, EveryNodeHasFilesOfItsOwnAndEachByteIsReadOnce) {
  PrepareShares({64, 64, 64}, "tier: node");
  if (IsSkipped()) return;
  staging_->Begin();
  std::vector<std::string> all;
  for (int node = 0; node < 3; ++node) {
    const auto held = HeldBy(node);
    EXPECT_EQ(held.size(), node == 0 ? 2u : 1u) << node;
    all.insert(all.end(), held.begin(), held.end());
  }
  EXPECT_THAT(all, testing::UnorderedElementsAre("0.tfrecord", "1.tfrecord", "2.tfrecord", "3.tfrecord"));
  EXPECT_EQ(Staged("train")["bytes"], source_bytes_);
  EXPECT_EQ(Staged("train")["records"], 256);
  const auto list = staging::ReadShareList(Shares().shares);
  ASSERT_EQ(list.size(), 3u);
  EXPECT_EQ(list[0].name, "n0");
  EXPECT_EQ(list[0].records, 128u);
  EXPECT_EQ(list[2].records, 64u);
  EXPECT_EQ(list[2].directory, Shares().on_node.at(2));
  staging_->Release();
  for (int node = 0; node < 3; ++node) EXPECT_TRUE(HoldsNoShare(node)) << node;
}

TEST_F(NodeShareTest, OfOneShapeAreTakenOverByALaterRunAndNotByOneOfAnotherShape) {
  PrepareShares({64, 64}, "tier: node, keep: cache");
  if (IsSkipped()) return;
  staging_->Begin();
  const auto first = Shares().on_node;  // a copy: the staging ends
  staging_->Release();
  staging_.reset();
  Again();
  staging_->Begin();
  EXPECT_EQ(Shares().on_node, first);
  EXPECT_EQ(Staged("train")["adopted"], 2);
  EXPECT_EQ(Staged("train")["bytes"], 0);
  const auto replica = MakePlan(LoadSpec(here_.shared() / "exp.yaml", {"data.train.distribute=shard"}), {});
  const auto other = MakePlan(LoadSpec(here_.shared() / "exp.yaml", {"launch.nodes=4"}), {});
  for (const auto* plan : {&replica, &other}) {
    for (const auto& [node, directory] : first) EXPECT_NE(plan->data.front().directory, directory);
  }
}

TEST_F(NodeShareTest, NeedRoomForTheLargestOnly) {
  PrepareShares({2, 2, 2, 2}, "tier: node");
  if (IsSkipped()) return;
  EXPECT_GT(source_bytes_, 2u << 20);
  staging_->Begin();
  for (int node = 0; node < 4; ++node) EXPECT_EQ(HeldBy(node).size(), 1u) << node;
}

TEST_F(NodeShareTest, LieSideBySideInADirectoryThatAllNodesSee) {
  PrepareShares({64, 64}, fmt::format("tier: 'dir:{}'", (here_.shared() / "tier").string()));
  if (IsSkipped()) return;
  staging_->Begin();
  EXPECT_EQ(Staged("train")["adopted"], 0);
  EXPECT_EQ(Staged("train")["bytes"], source_bytes_);
  EXPECT_EQ(HeldBy(0).size() + HeldBy(1).size(), 4u);
  EXPECT_NE(Shares().on_node.at(0), Shares().on_node.at(1));
  staging_->Release();
  EXPECT_FALSE(fs::exists(Shares().on_node.at(0)) || fs::exists(Shares().on_node.at(1)));
}

TEST_F(NodeShareTest, AreLinksWhereTheFilesAreReadInPlace) {
  PrepareShares({64, 64}, "tier: none");
  if (IsSkipped()) return;
  staging_->Begin();
  EXPECT_EQ(HeldBy(0).size() + HeldBy(1).size(), 4u);
  EXPECT_EQ(Shares().on_node.at(1).parent_path(), folder_->data());
  staging_->Release();
}

TEST_F(NodeShareTest, OfANodeWithoutRoomAreRefusedByName) {
  PrepareShares({64, 1}, "tier: node");
  if (IsSkipped()) return;
  EXPECT_THAT(Refusal(), AllOf(HasSubstr("on node n1"), HasSubstr("the largest of 2 shares needs")));
  staging_->Release();
  EXPECT_TRUE(HoldsNoShare(0) && HoldsNoShare(1));
}

TEST_F(NodeShareTest, OfANodeWhoseMemberIsKilledNameItAndLeaveNothing) {
  PrepareShares({64, 64}, kSlowly);
  if (IsSkipped()) return;
  AtWork(1, [this] { ::kill(here_.MemberOn(1), SIGKILL); });
  EXPECT_THAT(Refusal(), AllOf(HasSubstr("SIGKILL"), HasSubstr("on node n1")));
  staging_->Release();
  EXPECT_TRUE(HoldsNoShare(0) && HoldsNoShare(1));
}

TEST_F(NodeShareTest, AreTakenOverByAMemberThatIsStartedAgain) {
  PrepareShares({64, 64}, "tier: node");
  if (IsSkipped()) return;
  staging_->Begin();
  ASSERT_TRUE(KillMember(1)) << lost_hold_;
  EXPECT_EQ(HeldBy(1).size(), 2u);
  staging_->Release();
  EXPECT_EQ(lost_hold_, "");
  EXPECT_TRUE(HoldsNoShare(0) && HoldsNoShare(1));
}

TEST_F(NodeStagingTest, ALostNodeIsNotWaitedForAtTheEnd) {
  Prepare({64, 64}, "tier: node");
  if (IsSkipped()) return;
  staging_->Begin();
  here_.Kill(1);
  ASSERT_TRUE(test::RunUntil(loop_, [&] { return !here_.nodes().TroubleOf(1).empty(); }));
  const auto began = SystemClock().Steady();
  staging_->Release();
  EXPECT_LT(SystemClock().Steady() - began, std::chrono::seconds(30));
  EXPECT_EQ(lost_hold_, "");
  EXPECT_TRUE(HoldsNothing(0));
}

}  // namespace
}  // namespace slipway::launcher
