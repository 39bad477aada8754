#include "launcher/run/node_staging.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "core/clock.h"
#include "core/error.h"
#include "core/files.h"
#include "launcher/run/prepare.h"
#include "launcher/spec/load.h"
#include "tests/launcher/run/nodes_here.h"
#include "tests/staging/staging_support.h"
#include "tests/support/kept_output.h"

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
  /// Four files of half a MiB, and a spec whose dataset `train` has these further fields.
  void Prepare(const std::vector<int>& mebibytes, const std::string& fields) {
    if (!here_.Start(mebibytes)) GTEST_SKIP() << "processes may have no mounts of their own here";
    for (int i = 0; i < 4; ++i) {
      staging::Put(Source(i), staging::TfrecordBytes(64, 8192));
      source_bytes_ += fs::file_size(Source(i));
    }
    staging::Put(here_.shared() / "exp.yaml",
                 fmt::format("name: nodes\ndata:\n"
                             "  train: {{source: '{0}/source/*.tfrecord', {1}}}\n"
                             "  test: {{source: '{0}/source/0.tfrecord', {1}}}\n"
                             "launch: {{engine: slurm, nodes: {2}}}\ntrain: {{command: ['true']}}\n",
                             here_.shared().string(), fields, mebibytes.size()));
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

  template <class Condition>
  bool RunUntil(Condition condition) {
    const auto deadline = SystemClock().Steady() + std::chrono::seconds(10);
    while (!condition() && SystemClock().Steady() < deadline) loop_.RunOnce(std::chrono::milliseconds(20));
    return condition();
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
  EXPECT_TRUE(RunUntil([this] { return HoldsNothing(0) && HoldsNothing(1); }));
  EXPECT_TRUE(RunUntil([this] { return here_.MemberOn(0) == 0 && here_.MemberOn(1) == 0; }));
}

TEST_F(NodeStagingTest, LeavesNothingBehindAManagerThatGoesWhileItStages) {
  Prepare({64, 64}, kSlowly);
  if (IsSkipped()) return;
  AtWork(0, [] { throw Error(ErrorKind::kInternal, "gone"); });
  EXPECT_EQ(Refusal(), "gone");
  staging_.reset();
  here_.LeaveAlone();
  EXPECT_TRUE(RunUntil([this] { return HoldsNothing(0) && HoldsNothing(1); }));
  EXPECT_TRUE(RunUntil([this] { return here_.MemberOn(0) == 0 && here_.MemberOn(1) == 0; }));
}

TEST_F(NodeStagingTest, AMemberThatIsKilledWhileTheRanksRunIsStartedAgain) {
  Prepare({64, 64}, "tier: node");
  if (IsSkipped()) return;
  staging_->Begin();
  const auto first = here_.MemberOn(1);
  ASSERT_NE(first, 0);
  ::kill(first, SIGKILL);
  const auto another = [&] {
    const auto now = here_.MemberOn(1);
    return now != 0 && now != first;
  };
  ASSERT_TRUE(RunUntil(another)) << output_.warnings << lost_hold_;
  EXPECT_THAT(output_.warnings, HasSubstr("on node n1; it is started again"));
  staging_->Release();
  EXPECT_EQ(lost_hold_, "");
  EXPECT_TRUE(HoldsNothing(0) && HoldsNothing(1));
}

TEST_F(NodeStagingTest, ALostNodeIsNotWaitedForAtTheEnd) {
  Prepare({64, 64}, "tier: node");
  if (IsSkipped()) return;
  staging_->Begin();
  here_.Kill(1);
  ASSERT_TRUE(RunUntil([&] { return !here_.nodes().TroubleOf(1).empty(); }));
  const auto began = SystemClock().Steady();
  staging_->Release();
  EXPECT_LT(SystemClock().Steady() - began, std::chrono::seconds(5));
  EXPECT_EQ(lost_hold_, "");
  EXPECT_TRUE(HoldsNothing(0));
}

}  // namespace
}  // namespace slipway::launcher
