#include "launcher/cli/commands/trials_export.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "core/error.h"
#include "core/files.h"
#include "tests/ensemble/exchange/optuna_program.h"
#include "tests/ensemble/exchange/sample_book.h"
#include "tests/support/kept_output.h"
#include "tests/support/temp_directory.h"

namespace slipway::launcher {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

class TrialsExportTest : public testing::Test {
 protected:
  TrialsExportTest() : book_(folder_.path()) { book_.book.Settle(); }

  TrialsExportOptions Options(const std::string& format) const {
    TrialsExportOptions options;
    options.run_folder = folder_.path();
    options.format = format;
    return options;
  }
  TrialsExportOptions ToFile(const std::string& format, const std::string& name) const {
    auto options = Options(format);
    options.out = place_ / name;
    return options;
  }
  void ExpectRefused(const TrialsExportOptions& options, const std::string& why) {
    try {
      TrialsExport(options, output_);
      FAIL() << why;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kUsage);
      EXPECT_THAT(error.what(), HasSubstr(why));
    }
  }

  test::TempDirectory folder_;
  test::TempDirectory place_;
  ensemble::SampleBook book_;
  test::KeptOutput output_;
};

TEST_F(TrialsExportTest, WritesOneRowATrialInTheOrderOfTheirNumbers) {
  EXPECT_EQ(TrialsExport(ToFile("csv", "trials.csv"), output_), 0);
  const auto lines = LinesOf(ReadFile(place_ / "trials.csv"));
  ASSERT_EQ(lines.size(), 9u);
  EXPECT_EQ(lines[0],
            "trial,rank,state,accuracy,seconds,attempts,reason,lr,dropout,x,layers,width,units,optimizer,size,epochs,"
            "momentum");
  EXPECT_EQ(lines[1], "0,2,complete,0.25,20.25,1,,0.01,0.3,-0.5,2,64,100,sgd,m,3,0.9");
  EXPECT_THAT(lines[3], StartsWith("2,,pruned,0.05,20.25,1,worse than the median,"));
  EXPECT_THAT(lines[4], StartsWith("3,,failed,,20.25,1,\"'=HYPERLINK(\"\"http://x\"\"),"));
  EXPECT_EQ(lines[8], "7,,queued,,,0,,0.01,0.3,-0.5,2,64,100,adam,m,3,");
  EXPECT_EQ(output_.document["schema"], "slipway.trials.export/1");
  EXPECT_EQ(output_.document["trials"], 8);
}

TEST_F(TrialsExportTest, WritesTheBestTrialsInTheOrderOfTheirRanks) {
  auto options = ToFile("csv", "best.csv");
  options.best = 2;
  TrialsExport(options, output_);
  const auto lines = LinesOf(ReadFile(place_ / "best.csv"));
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_THAT(lines[1], StartsWith("1,1,complete,0.75,"));
  EXPECT_THAT(lines[2], StartsWith("0,2,complete,0.25,"));
  options = Options("optuna");
  options.best = 2;
  ExpectRefused(options, "--best goes with --format csv and jsonl only");
}

TEST_F(TrialsExportTest, WritesOneDocumentALine) {
  EXPECT_EQ(TrialsExport(Options("jsonl"), output_), 0);
  const auto lines = LinesOf(output_.text);
  ASSERT_EQ(lines.size(), 8u);
  const Json second = Json::parse(lines[1]);
  EXPECT_EQ(second["trial"], 1);
  EXPECT_EQ(second["rank"], 1);
  EXPECT_EQ(second["objective"], 0.75);
  EXPECT_EQ(second["parameters"]["optimizer"], "adam");
  EXPECT_FALSE(second["parameters"].contains("momentum"));
  ASSERT_EQ(second["attempts"].size(), 2u);
  EXPECT_EQ(second["attempts"][0]["reason"], "exit status 3");
  EXPECT_FALSE(second.contains("metrics"));
}

TEST_F(TrialsExportTest, WritesMetricsOnRequest) {
  auto options = Options("jsonl");
  options.metrics = true;
  TrialsExport(options, output_);
  const Json third = Json::parse(LinesOf(output_.text)[2]);
  ASSERT_EQ(third["metrics"].size(), 4u);
  EXPECT_EQ(third["metrics"][0]["value"], "NaN");
}

TEST_F(TrialsExportTest, LeavesExistingFilesAlone) {
  WriteFile(place_ / "there.csv", "mine");
  auto options = ToFile("csv", "there.csv");
  ExpectRefused(options, "exists already");
  EXPECT_EQ(ReadFile(place_ / "there.csv"), "mine");
  options.force = true;
  TrialsExport(options, output_);
  EXPECT_THAT(ReadFile(place_ / "there.csv"), StartsWith("trial,"));
}

TEST_F(TrialsExportTest, NeverReplacesTheTrialBook) {
  auto options = Options("optuna");
  options.out = folder_ / "trials.db";
  options.force = true;
  ExpectRefused(options, "is the trial book itself");
}

TEST_F(TrialsExportTest, LeavesNothingBehindWhenItCannotWrite) {
  fs::create_directory(place_ / "folder");
  auto options = ToFile("csv", "folder");
  options.force = true;
  EXPECT_THROW(TrialsExport(options, output_), Error);
  EXPECT_EQ(std::distance(fs::directory_iterator(place_.path()), {}), 1);
}

TEST_F(TrialsExportTest, RefusesOptionsThatDoNotGoTogether) {
  ExpectRefused(Options("optuna"), "--out FILE");
  auto options = ToFile("csv", "trials.csv");
  options.metrics = true;
  ExpectRefused(options, "--metrics goes with --format jsonl only");
}

TEST_F(TrialsExportTest, FilesAreForOwnerAndGroup) {
  const auto before = ::umask(0);
  for (const std::string format : {"csv", "jsonl", "optuna"}) {
    TrialsExport(ToFile(format, format), output_);
    struct stat info {};
    ASSERT_EQ(::stat((place_ / format).c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0640u) << format;
  }
  ::umask(before);
}

/// What read_with_optuna.py tells of a file: its content, then how Optuna went on with it.
std::vector<Json> ToldByOptuna(const fs::path& file) {
  std::vector<Json> documents;
  for (const auto& line : LinesOf(ensemble::RunWithOptuna("read_with_optuna.py", file))) {
    documents.push_back(Json::parse(line));
  }
  return documents;
}

void ExpectTheSampleBook(const Json& study) {
  EXPECT_EQ(study["direction"], "MAXIMIZE");
  EXPECT_EQ(study["best"], Json::parse("[1, 0.75]"));
  EXPECT_EQ(study["user"]["slipway_sampler"], "random");
  std::vector<std::string> states;
  for (const auto& trial : study["trials"]) states.push_back(trial["state"]);
  EXPECT_THAT(states, ElementsAre("COMPLETE", "COMPLETE", "PRUNED", "FAIL", "FAIL", "WAITING", "RUNNING", "WAITING"));
  // Of steps that two attempts reported the later one counts.
  EXPECT_EQ(study["trials"][1]["reports"], Json::parse(R"({"1":"0.55","2":"0.75","3":"0.7"})"));
  EXPECT_TRUE(study["trials"][2]["params"]["optimizer"].is_null());
  EXPECT_EQ(study["trials"][2]["reports"], Json::parse(R"({"1":"nan","2":"0.05"})"));
  EXPECT_EQ(study["trials"][2]["values"], Json::parse("[0.05]"));
  EXPECT_EQ(study["trials"][3]["params"]["optimizer"], true);
  EXPECT_EQ(study["trials"][3]["reports"], Json::parse(R"({"1":"-inf"})"));
  EXPECT_EQ(study["trials"][4]["user"]["slipway_state"], "cancelled");
}

void ExpectTheFirstTrial(const Json& trial) {
  EXPECT_EQ(trial["params"], Json::parse(R"({"dropout":0.3,"epochs":3,"layers":2,"lr":0.01,"momentum":0.9,
                                             "optimizer":"sgd","size":"m","units":100,"width":64,"x":-0.5})"));
  const Json& distributions = trial["distributions"];
  EXPECT_EQ(distributions["lr"], "FloatDistribution(high=1.0, log=True, low=1e-05, step=None)");
  EXPECT_EQ(distributions["dropout"], "FloatDistribution(high=0.7, log=False, low=0.0, step=0.1)");
  EXPECT_EQ(distributions["width"], "IntDistribution(high=64, log=False, low=8, step=8)");
  EXPECT_EQ(distributions["units"], "IntDistribution(high=1024, log=True, low=8, step=1)");
  EXPECT_EQ(distributions["optimizer"], "CategoricalDistribution(choices=('sgd', 'adam', None, True, 3, 2.5))");
  EXPECT_EQ(distributions["epochs"], "CategoricalDistribution(choices=(3,))");
  EXPECT_EQ(trial["user"], Json::parse(R"({"slipway_attempt":1,"slipway_state":"complete","slipway_trial":0})"));
  EXPECT_EQ(trial["started"], 1000.0);
  EXPECT_EQ(trial["seconds"], 20.25);
}

/// The paused and the queued trial run from their beginning, with the parameters that they have.
void ExpectThatItWentOn(const Json& after) {
  EXPECT_EQ(after["taken"][0]["state"], "COMPLETE");
  EXPECT_EQ(after["taken"][0]["params"]["optimizer"], 2.5);
  EXPECT_EQ(after["taken"][0]["params"]["lr"], 0.01);
  EXPECT_EQ(after["taken"][0]["reports"], Json::parse(R"({"1":"0.5"})"));
  EXPECT_EQ(after["taken"][1]["params"]["optimizer"], "adam");
  EXPECT_EQ(after["new"], 3);
  EXPECT_EQ(after["best"], 0.95);
}

TEST_F(TrialsExportTest, OptunaLoadsTheStudyAndGoesOnWithIt) {
  if (!ensemble::HasOptuna()) GTEST_SKIP() << "python3-optuna is not installed";
  TrialsExport(ToFile("optuna", "study.db"), output_);
  const auto told = ToldByOptuna(place_ / "study.db");
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[0]["name"], folder_.path().filename().string());
  ExpectTheSampleBook(told[0]);
  ExpectTheFirstTrial(told[0]["trials"][0]);
  ExpectThatItWentOn(told[1]);
}

}  // namespace
}  // namespace slipway::launcher
