// Waiting for a site that takes no more jobs.

#include "launcher/run/workflow/job_room.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace slipway::launcher {
namespace {

using std::chrono::nanoseconds;

const SlurmError kFullSite({SlurmTrouble::kFull, 11, "Resource temporarily unavailable", ""});

bool Never() { return false; }
bool Always() { return true; }

struct Waits {
  std::vector<nanoseconds> pauses = {};
  std::vector<std::string> lines = {};

  Patience For(std::optional<Seconds> longest, bool goes_on = true) {
    return {longest,
            [this, goes_on](nanoseconds longest_pause) {
              pauses.push_back(longest_pause);
              return goes_on;
            },
            [this](const std::string& line) { lines.push_back(line); }};
  }
};

TEST(JobRoom, EndsWhenTheTimeIsUp) {
  Waits waits;
  JobRoom room(waits.For(Seconds(0)));
  EXPECT_FALSE(room.Await(kFullSite, "3 of 8 jobs are submitted", Never));
  EXPECT_FALSE(room.has_waited());
  EXPECT_TRUE(waits.pauses.empty());
}

TEST(JobRoom, WaitsNoLongerThanTheTimeAllows) {
  Waits waits;
  JobRoom room(waits.For(Seconds(0.02)));
  EXPECT_TRUE(room.Await(kFullSite, "3 of 8 jobs are submitted", Never));
  EXPECT_TRUE(room.has_waited());
  EXPECT_FALSE(room.Await(kFullSite, "3 of 8 jobs are submitted", Never));
}

TEST(JobRoom, SaysOnceWhatItWaitsForUntilAJobIsTaken) {
  Waits waits;
  JobRoom room(waits.For({}));
  EXPECT_TRUE(room.Await(kFullSite, "3 of 8 jobs are submitted", Always));
  EXPECT_TRUE(room.Await(kFullSite, "3 of 8 jobs are submitted", Always));
  ASSERT_EQ(waits.lines.size(), 1u);
  EXPECT_EQ(waits.lines[0],
            "3 of 8 jobs are submitted: Slurm takes no more jobs at the moment: Resource temporarily unavailable; "
            "trying again, Ctrl-C ends it");
  room.Taken();
  EXPECT_TRUE(room.Await(kFullSite, "4 of 8 jobs are submitted", Always));
  EXPECT_EQ(waits.lines.size(), 2u);
}

TEST(JobRoom, EndsWithAnErrorWhenTheUserDoesNotWait) {
  Waits waits;
  JobRoom room(waits.For(Seconds(600), false));
  try {
    room.Await(kFullSite, "3 of 8 jobs are submitted", Never);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInterrupted);
    EXPECT_EQ(error.message(), "you have ended the submission: 3 of 8 jobs are submitted");
  }
}

TEST(JobRoom, OnlyLimitsOfTheSiteAndClosedPartitionsAreWaitedFor) {
  EXPECT_TRUE(MayHaveRoomLater(SlurmTrouble::kFull));
  EXPECT_TRUE(MayHaveRoomLater(SlurmTrouble::kLimit));
  EXPECT_TRUE(MayHaveRoomLater(SlurmTrouble::kClosed));
  EXPECT_FALSE(MayHaveRoomLater(SlurmTrouble::kJobLimit));
  EXPECT_FALSE(MayHaveRoomLater(SlurmTrouble::kController));
  EXPECT_FALSE(MayHaveRoomLater(SlurmTrouble::kPartition));
}

}  // namespace
}  // namespace slipway::launcher
