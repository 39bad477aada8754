// Which job of Slurm is the one that a run folder means.

#include "launcher/cluster/job_identity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launcher/cluster/slurm_trouble.h"

namespace slipway::launcher {
namespace {

using testing::HasSubstr;

const JobIdentity kMeant{12, "alpha", "slipway:a", "/runs/a", 1000};

SlurmJob Shown() {
  SlurmJob job;
  job.id = 12;
  job.cluster = "alpha";
  job.comment = "slipway:a";
  job.work_dir = "/runs/a";
  job.user = 1000;
  return job;
}

template <class Change>
SlurmJob With(Change change) {
  auto job = Shown();
  change(job);
  return job;
}

TEST(JobIdentity, IsThatOfOneJob) {
  EXPECT_TRUE(IsMeant(kMeant, Shown()));
  EXPECT_FALSE(IsMeant(kMeant, With([](auto& job) { job.id = 13; })));
  EXPECT_FALSE(IsMeant(kMeant, With([](auto& job) { job.cluster = "beta"; })));
  EXPECT_FALSE(IsMeant(kMeant, With([](auto& job) { job.user = 1001; })));
  EXPECT_FALSE(IsMeant(kMeant, With([](auto& job) { job.comment = job.work_dir = "another's"; })));
}

TEST(JobIdentity, IsKnownByTheCommentOrByTheFolder) {
  EXPECT_TRUE(IsMeant(kMeant, With([](auto& job) { job.comment = "the site has changed it"; })));
  EXPECT_TRUE(IsMeant(kMeant, With([](auto& job) { job.work_dir = "/runs-had-another-name/a"; })));
}

TEST(JobIdentity, OfAnOlderRunFolderIsANumber) {
  EXPECT_TRUE(IsMeant({12}, Shown()));
  EXPECT_FALSE(IsMeant({13}, Shown()));
}

TEST(JobIdentity, OfATaskIsThatOfItsArray) {
  const auto task = [](JobId id, const std::string& tasks) {
    return With([&](auto& job) {
      job.id = id;
      job.array_job = 12;
      job.array_tasks = tasks;
    });
  };
  auto meant = kMeant;
  EXPECT_TRUE(IsMeant(meant, task(15, "3"))) << "the whole array";
  meant.task = 3;
  EXPECT_TRUE(IsMeant(meant, task(15, "3")));
  EXPECT_TRUE(IsMeant(meant, task(12, "0,2-5%2"))) << "not split off yet";
  EXPECT_FALSE(IsMeant(meant, task(12, "4"))) << "the last task has the number of the array";
  EXPECT_FALSE(IsMeant(meant, Shown()));
  EXPECT_FALSE(IsSameJob(meant, kMeant));
  EXPECT_EQ(NumberOf(meant), "12_3");
  EXPECT_EQ(NumberOf(kMeant), "12");
}

TEST(JobIdentity, KnowsTheTasksOfARecord) {
  for (const auto* text : {"7", "1,7", "5-9", "1-9:2", "0-3,7%4", "7%2"}) EXPECT_TRUE(HasTask(text, 7)) << text;
  for (const auto* text : {"", "17", "70", "8-9", "0-9:2", "1-5%7", "x", "-7", "%7"})
    EXPECT_FALSE(HasTask(text, 7)) << text;
}

TEST(JobIdentity, TellsWhereAJobIsToBeAskedAbout) {
  EXPECT_EQ(WhyElsewhere(kMeant, "alpha"), "");
  EXPECT_EQ(WhyElsewhere({12}, "alpha"), "");
  EXPECT_EQ(WhyElsewhere(kMeant, ""), "") << "a library that does not show it";
  EXPECT_EQ(WhyElsewhere(kMeant, "beta"), "job 12 belongs to cluster 'alpha', and Slurm here is cluster 'beta'");
}

TEST(JobIdentity, NamesTheOtherJob) {
  RequireMeant(kMeant, Shown());
  try {
    RequireMeant(kMeant, With([](auto& job) {
                   job.comment = "";
                   job.name = "train";
                   job.work_dir = "/runs/b";
                 }));
    ADD_FAILURE();
  } catch (const SlurmError& error) {
    EXPECT_EQ(error.trouble(), SlurmTrouble::kOtherJob);
    EXPECT_THAT(error.message(), HasSubstr("job 12 is 'train' of user 1000, started in '/runs/b'"));
  }
}

}  // namespace
}  // namespace slipway::launcher
