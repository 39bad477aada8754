// Why a run ended: as it is stored, and in words.
#include "launcher/run_folder/end_cause.h"

#include <gmock/gmock.h>
#include <signal.h>

#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "core/error.h"
#include "launcher/run/trials/trial_order.h"
#include "launcher/run_folder/end_reason.h"
#include "tests/launcher/every_cause.h"

namespace slipway::launcher {
namespace {

using ensemble::OutsideCause;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::string ErrorOfReading(const Json& json) {
  try {
    EndCauseFromJson(json);
  } catch (const Error& error) {
    return error.message();
  }
  return "";
}

TEST(EndCause, IsReadAsItWasWritten) {
  for (const auto& ended : test::EveryCause()) {
    const auto json = Json::parse(ToJson(ended).dump());
    EXPECT_EQ(EndCauseFromJson(json), ended) << json;
  }
}

TEST(EndCause, OfEveryKindIsTested) {
  std::set<std::string_view> kinds;
  for (const auto& ended : test::EveryCause()) kinds.insert(KindOf(ended));
  EXPECT_EQ(kinds.size(), std::variant_size_v<EndCause>) << "and no two kinds share a word";
}

TEST(EndCause, OfAnUnknownKindIsRefused) {
  EXPECT_EQ(ErrorOfReading({{"kind", "struck_by_lightning"}}),
            "this version of Slipway knows no cause of an end 'struck_by_lightning'");
  EXPECT_THAT(ErrorOfReading({{"kind", "cancelled"}, {"during", "sleep"}}), HasSubstr("'sleep'"));
  EXPECT_THAT(ErrorOfReading({{"kind", "job_ended"}, {"job", 1}, {"state", "FROZEN"}, {"status", Json()}}),
              HasSubstr("'FROZEN'"));
}

TEST(EndCause, WithoutOneOfItsFieldsIsDamaged) {
  for (const auto& ended : test::EveryCause()) {
    const auto whole = ToJson(ended);
    for (const auto& [name, value] : whole.items()) {
      auto damaged = whole;
      damaged.erase(name);
      EXPECT_THAT(ErrorOfReading(damaged), HasSubstr("damaged")) << damaged;
    }
  }
  EXPECT_THAT(ErrorOfReading("cancelled"), HasSubstr("damaged"));
}

TEST(EndCause, HasAReasonOfOneLine) {
  for (const auto& ended : test::EveryCause()) {
    const auto reason = ReasonFor(ended, "small-1");
    EXPECT_EQ(reason.empty(), std::holds_alternative<cause::Completed>(ended)) << KindOf(ended);
    EXPECT_THAT(reason, Not(HasSubstr("\n"))) << KindOf(ended);
  }
}

TEST(EndCause, IsToldInWords) {
  const auto in_words = [](EndCause ended) { return ReasonFor(ended, "small-1"); };
  EXPECT_EQ(in_words(cause::RankFailed{1, "n2", {0, SIGKILL}}), "rank 1 on n2 ended with signal 9 (SIGKILL)");
  EXPECT_EQ(in_words(cause::RankNotStarted{0, "n1", "train", ENOENT, ""}),
            "rank 0 on n1 could not start 'train': No such file or directory");
  EXPECT_EQ(in_words(cause::RankNotStarted{0, "n1", "train", ENOENT, "/no/python"}),
            "rank 0 on n1 could not start 'train': its interpreter '/no/python' is missing");
  EXPECT_EQ(in_words(cause::RankLost{0, "n1"}), "rank 0 on n1 ended with its shim, which was killed");
  EXPECT_EQ(in_words(cause::NodeLost{"node n3 is lost", 5, false}), "node n3 is lost, and with it rank 5");
  EXPECT_EQ(in_words(cause::NodeLost{"node n3 is lost", {}, false, 5}),
            "node n3 is lost; the job is not queued again: it was, 5 times for lost nodes, and made no progress; "
            "continue with: slipway resume small-1");
  EXPECT_THAT(in_words(cause::NodesMissing{"node n3 is missing", false, 5}), HasSubstr("5 times for lost nodes"));
  EXPECT_THAT(in_words(cause::OutOfNodes{.requeues = 5}), HasSubstr("5 times for lost nodes"));
  EXPECT_EQ(in_words(cause::TimeLimit{1200}), "time limit of 20m00s reached");
  EXPECT_EQ(in_words(cause::JobEnded{12, JobState::kFailed, {3, 0}}),
            "job 12 has failed (exit status 3); continue with: slipway resume small-1");
  EXPECT_EQ(in_words(cause::JobTimeLimit{false, true}),
            "the time limit of its job was reached before it had written a checkpoint to go on from");
  EXPECT_EQ(in_words(cause::JobTimeLimit{true, false, true}),
            "the time limit of its job was reached before its ranks began; the job is queued again");
  EXPECT_EQ(in_words(cause::JobTimeLimit{false, true, true}),
            "the time limit of its job was reached before its ranks began");
  EXPECT_EQ(in_words(cause::OutOfTime{true, true}),
            "its time is used up; with more of it: slipway resume small-1 --set ensemble.budget.time=... --set "
            "ensemble.budget.node_hours=...");
  EXPECT_EQ(in_words(cause::OutOfTime{}), "its time is used up; continue with: slipway resume small-1");
}

TEST(EndCause, SaysWhatEndedATrialFromOutside) {
  EXPECT_EQ(OutsideCauseOf(cause::Cancelled{}), OutsideCause::kCancelled);
  EXPECT_EQ(OutsideCauseOf(cause::JobRemoved{1}), OutsideCause::kCancelled);
  EXPECT_EQ(OutsideCauseOf(cause::OutOfMemory{}), OutsideCause::kOutOfMemory);
  EXPECT_EQ(OutsideCauseOf(cause::NodeLost{}), OutsideCause::kNodeLost);
  EXPECT_EQ(OutsideCauseOf(cause::JobTimeLimit{}), OutsideCause::kTimedOut);
  EXPECT_EQ(OutsideCauseOf(cause::JobEnded{1, JobState::kOutOfMemory}), OutsideCause::kOutOfMemory);
  EXPECT_EQ(OutsideCauseOf(cause::JobEnded{1, JobState::kFailed}), OutsideCause::kNone);
  EXPECT_EQ(OutsideCauseOf(cause::RankFailed{}), OutsideCause::kNone);
}

}  // namespace
}  // namespace slipway::launcher
