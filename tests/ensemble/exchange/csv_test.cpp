#include "ensemble/exchange/csv.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace slipway::ensemble {
namespace {

TEST(CsvText, QuotesWhatRfc4180Wants) {
  EXPECT_EQ(CsvText("plain text"), "plain text");
  EXPECT_EQ(CsvText("a,b"), "\"a,b\"");
  EXPECT_EQ(CsvText("say \"no\""), "\"say \"\"no\"\"\"");
  EXPECT_EQ(CsvText("two\nlines"), "\"two\nlines\"");
  EXPECT_EQ(CsvText(""), "");
}

TEST(CsvText, KeepsSpreadsheetsFromRunningTexts) {
  EXPECT_EQ(CsvText("=1+1"), "'=1+1");
  EXPECT_EQ(CsvText("+1"), "'+1");
  EXPECT_EQ(CsvText("-cmd"), "'-cmd");
  EXPECT_EQ(CsvText("@SUM(A1)"), "'@SUM(A1)");
  EXPECT_EQ(CsvText("\t=1"), "'\t=1");
  EXPECT_EQ(CsvText("=HYPERLINK(\"x\")"), "\"'=HYPERLINK(\"\"x\"\")\"");
  EXPECT_EQ(CsvText("a=1"), "a=1");
}

TEST(CsvText, ReplacesBytesThatAreNotUtf8) {
  EXPECT_EQ(CsvText("caf\xc3\xa9"), "caf\xc3\xa9");
  EXPECT_EQ(CsvText("bad \xff"), "bad \xef\xbf\xbd");
}

StudyRecord Study() {
  StudyRecord study;
  study.objectives = {{"loss", Goal::kMinimize}};
  return study;
}

TEST(TrialsCsv, HasAColumnForEveryParameterAndTakesNoNameTwice) {
  const auto space = ParseSpace(Json::parse(R"({"lr":{"log":[1e-4,1]},"state":{"choice":["on","off"]},"loss":3})"));
  EXPECT_EQ(TrialsCsv(Study(), space).header(),
            "trial,rank,state,loss,seconds,attempts,reason,lr,parameter.state,parameter.loss");
}

TEST(TrialsCsv, HasAColumnForEveryObjective) {
  StudyRecord study;
  study.objectives = {{"accuracy"}, {"seconds", Goal::kMinimize}, {"accuracy", Goal::kMinimize}};
  const TrialsCsv table(study, {});
  EXPECT_EQ(table.header(), "trial,rank,state,accuracy,objective.seconds,objective.accuracy,seconds,attempts,reason");
  TrialRecord trial;
  EXPECT_EQ(table.Row(trial, {}), "0,,queued,,,,,0,");
  trial.state = TrialState::kComplete;
  trial.objective = 0.5;
  trial.further = {2, -1};
  EXPECT_EQ(table.Row(trial, 3), "0,3,complete,0.5,2.0,-1.0,,0,");
}

TEST(TrialsCsv, SaysWhenAnObjectiveIsATime) {
  auto study = Study();
  study.objectives.front().reach = 0.75;
  EXPECT_THAT(TrialsCsv(study, ParseSpace(Json::parse("{}"))).header(), testing::HasSubstr(",seconds to "));
}

TEST(TrialsCsv, LeavesInactiveParametersEmptyAndWritesNullAsAWord) {
  const auto space = ParseSpace(Json::parse(
      R"({"a":{"choice":[null,"","x"]},"b":{"choice":[true,"=1"]},"c":{"uniform":[-1,1]},"d":{"int":[1,2]}})"));
  const TrialsCsv table(Study(), space);
  TrialRecord trial;
  trial.number = 7;
  trial.attempts = 2;
  trial.parameters = {{"a", std::monostate{}}, {"c", -0.1}};
  EXPECT_EQ(table.Row(trial, {}), "7,,queued,,,2,,null,,-0.1,");
  trial.state = TrialState::kComplete;
  trial.objective = 1e-7;
  trial.started = 10;
  trial.ended = 12.5;
  trial.parameters = {{"a", std::string()}, {"b", std::string("=1")}, {"d", std::int64_t{2}}};
  EXPECT_EQ(table.Row(trial, {}), "7,,complete,1e-07,2.5,2,,\"\",'=1,,2");
  trial.parameters = {{"b", true}};
  EXPECT_EQ(table.Row(trial, {}), "7,,complete,1e-07,2.5,2,,,true,,");
}

}  // namespace
}  // namespace slipway::ensemble
