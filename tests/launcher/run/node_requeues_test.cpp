#include "launcher/run/ending/node_requeues.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "launcher/run/context/run_context.h"
#include "launcher/run_folder/end_cause.h"
#include "tests/support/temp_directory.h"

namespace slipway::launcher {
namespace {

constexpr JobId kJob = 12;

/// A run whose managers have written these events.
class RequeueEvents {
 public:
  RequeueEvents() { folder_.AppendEvent(PhaseName(Phase::kQueued), Json{{"reason", ""}}); }  // of the submission

  RequeueEvents& Add(const EndCause& ended, bool progressed, JobId job = kJob) {
    Json members{{"attempt", 1}, {"reason", "in words"}};
    members.update(MembersOfRequeue(job, ended, progressed));
    folder_.AppendEvent(PhaseName(Phase::kQueued), members);
    return *this;
  }

  int Count() const { return NodeRequeuesIn(folder_, kJob); }
  bool MayStageAgain() const { return launcher::MayStageAgain(folder_, kJob); }

 private:
  test::TempDirectory directory_;
  RunFolder folder_ = RunFolder::Create(directory_.path(), "exp", false);
};

TEST(NodeRequeues, CountOnlyThoseForLostNodes) {
  RequeueEvents events;
  EXPECT_EQ(events.Count(), 0);
  events.Add(cause::JobTimeLimit{true}, false).Add(cause::JobPreempted{kJob, true}, false);
  events.Add(cause::JobRequeued{kJob}, false);
  EXPECT_EQ(events.Count(), 0);
  events.Add(cause::NodeLost{}, false).Add(cause::NodesMissing{}, false).Add(cause::OutOfNodes{}, false);
  EXPECT_EQ(events.Count(), 3);
  events.Add(cause::JobPreempted{kJob, true}, false);
  EXPECT_EQ(events.Count(), 3) << "a requeue for another reason takes none back";
}

TEST(NodeRequeues, CountAnewAfterProgress) {
  RequeueEvents events;
  for (int i = 0; i < kMostNodeRequeues; ++i) events.Add(cause::NodeLost{}, false);
  EXPECT_EQ(events.Count(), kMostNodeRequeues);
  events.Add(cause::NodeLost{}, true);
  EXPECT_EQ(events.Count(), 1);
  events.Add(cause::JobTimeLimit{true}, true);
  EXPECT_EQ(events.Count(), 0);
}

TEST(NodeRequeues, CountOnAfterAPreemptionBeforeTheRanksStart) {
  RequeueEvents events;
  for (int i = 0; i < kMostNodeRequeues; ++i) events.Add(cause::NodeLost{}, false);
  const RunResult while_staging;
  events.Add(cause::JobPreempted{kJob, true}, while_staging.progressed);
  EXPECT_EQ(events.Count(), kMostNodeRequeues);
}

TEST(NodeRequeues, EndWhereFiveMadeNoProgress) {
  const test::TempDirectory directory;
  const auto folder = RunFolder::Create(directory.path(), "exp", false);
  Plan plan;
  auto state = folder.ReadState();
  EXPECT_FALSE(MayGetOtherNodes(folder, plan, state, true).allowed) << "it has no job";
  state.batch_job = kJob;
  for (int i = 0; i < kMostNodeRequeues; ++i) {
    EXPECT_TRUE(MayGetOtherNodes(folder, plan, state, false).allowed) << i;
    folder.AppendEvent(PhaseName(Phase::kQueued), MembersOfRequeue(kJob, cause::NodeLost{}, false));
  }
  EXPECT_FALSE(MayGetOtherNodes(folder, plan, state, false).allowed);
  EXPECT_EQ(MayGetOtherNodes(folder, plan, state, false).spent, kMostNodeRequeues);
  EXPECT_TRUE(MayGetOtherNodes(folder, plan, state, true).allowed);
  plan.document.spec.launch.slurm.requeue = false;
  EXPECT_FALSE(MayGetOtherNodes(folder, plan, state, true).allowed);
  EXPECT_EQ(MayGetOtherNodes(folder, plan, state, false).spent, 0) << "they are not why";
}

TEST(NodeRequeues, EndWhereThoseBeforeAreNotKnown) {
  const test::TempDirectory directory;
  const auto folder = RunFolder::Create(directory.path(), "exp", false);
  std::filesystem::create_directory(folder.path() / "events.jsonl");
  auto state = folder.ReadState();
  state.batch_job = kJob;
  const auto again = MayGetOtherNodes(folder, Plan(), state, false);
  EXPECT_FALSE(again.allowed);
  EXPECT_EQ(again.spent, 0);
}

TEST(StagingRequeues, ComeOnceWithoutProgress) {
  RequeueEvents events;
  EXPECT_TRUE(events.MayStageAgain());
  events.Add(cause::NodeLost{}, false).Add(cause::JobTimeLimit{true}, false, kJob - 1);
  EXPECT_TRUE(events.MayStageAgain()) << "for another reason, and of another job";
  events.Add(cause::JobTimeLimit{true}, false);
  EXPECT_FALSE(events.MayStageAgain());
  events.Add(cause::JobPreempted{kJob, true}, true);
  EXPECT_TRUE(events.MayStageAgain());
  events.Add(cause::JobTimeLimit{true}, false).Add(cause::JobTimeLimit{true}, true);
  EXPECT_TRUE(events.MayStageAgain()) << "the last limit came after a checkpoint";
}

TEST(NodeRequeues, CountAnewForANewJob) {
  RequeueEvents events;
  for (int i = 0; i < kMostNodeRequeues; ++i) events.Add(cause::NodeLost{}, false, kJob - 1);
  EXPECT_EQ(events.Count(), 0);
}

}  // namespace
}  // namespace slipway::launcher
