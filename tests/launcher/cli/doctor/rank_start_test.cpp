// What came of starting two ranks.

#include "launcher/cli/doctor/rank_start.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace slipway::launcher {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

RankStart Started(const std::string& output) {
  RankStart start;
  start.way = "mpirun";
  start.version = "mpirun (Open MPI) 4.1.4";
  start.captured.output = output;
  start.took = Seconds(0.4);
  return start;
}

TEST(RankStart, OfTwoRanksWorksAmongBanners) {
  const auto findings = Judge(Started("* Welcome *\n[n1:0] doctor-ranks 2 1.5e-06 4.0e+09\nbye\n"));
  ASSERT_THAT(findings, SizeIs(2));
  EXPECT_EQ(findings[0], Ok("mpirun", "mpirun (Open MPI) 4.1.4: two ranks in 400 ms"));
  EXPECT_EQ(findings[1], Ok("exchange", "two ranks: 4 GB/s of gradients, small ones in 1.5 us"));
}

TEST(RankStart, WithASlowExchangeWarns) {
  EXPECT_EQ(Judge(Started("doctor-ranks 2 1e-3 1.9e8\n"))[1].grade, Grade::kWarn);
}

TEST(RankStart, OfLoneRanksHasFailedAlthoughItEndedWell) {
  const std::string alone = "doctor-ranks 1 1e-6 4e9\n";
  for (const auto& output : {alone, alone + alone}) {
    const auto findings = Judge(Started(output));
    ASSERT_THAT(findings, SizeIs(1));
    EXPECT_EQ(findings[0].grade, Grade::kFail);
    EXPECT_THAT(findings[0].text, HasSubstr("lone ranks"));
  }
}

TEST(RankStart, ThatHangsOrDiesOrIsSilentHasFailedWithItsLastWords) {
  auto hangs = Started("");
  hangs.captured.timed_out = true;
  EXPECT_THAT(Judge(hangs)[0].text, HasSubstr("did not come to their end in 20"));
  auto dies = Started("");
  dies.captured.status = {1, 0};
  dies.captured.errors = "no network\n-----\n\n";
  EXPECT_THAT(Judge(dies)[0].text, HasSubstr("exit status 1: no network"));
  dies.captured.errors = "slipway_init: another MPI\nsrun: error: n1: tasks 0-1: Exited with exit code 1\n";
  EXPECT_THAT(Judge(dies)[0].text, HasSubstr("exit status 1: slipway_init: another MPI"));
  for (const auto& start : {hangs, dies, Started(""), Started("doctor-ranks two\n")}) {
    EXPECT_EQ(WorstOf(Judge(start)), Grade::kFail);
  }
}

TEST(RankStart, ThatNobodyUsesUnaskedOnlyWarns) {
  auto start = Started("");
  start.is_default = false;
  EXPECT_EQ(WorstOf(Judge(start)), Grade::kWarn);
}

TEST(RankStart, OfAnotherMpiAddsNoSecondFigure) {
  auto other = Started("doctor-ranks 2 1e-6 4e9\n");
  other.is_default = false;
  EXPECT_THAT(JudgeMpirun({Started("doctor-ranks 2 1e-6 4e9\n"), other}), SizeIs(3));
  EXPECT_THAT(JudgeMpirun({}), SizeIs(1));
  EXPECT_EQ(WorstOf(JudgeMpirun({})), Grade::kWarn);
}

}  // namespace
}  // namespace slipway::launcher
