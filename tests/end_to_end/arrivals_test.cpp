// Training while staging, and streams, as a user has them: a spec, the real program, ranks that read.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <thread>

#include "core/files.h"
#include "staging/generation/generation.h"
#include "staging/reader/sharding.h"
#include "tests/end_to_end/workplace.h"
#include "tests/staging/reader/supply_support.h"

namespace slipway::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr auto kReader = SLIPWAY_BUILD_DIR "/tests/end_to_end_record_reader";
const std::vector<int> kFiles = {40, 30, 50, 20, 60, 10, 45, 35};  // 1 KB each
constexpr std::uint64_t kSeed = 5;

class Arrivals : public testing::Test {
 protected:
  void SetUp() override {
    staging::MakeNumberedFiles(place_ / "source", kFiles, 1000);
    staging::MakeManifest(place_ / "source", kFiles);
  }

  /// Data of 290 KB at `rate` bytes a second.
  void WriteSpec(const std::string& rate, const std::string& more, const std::string& command = "", int ranks = 1) {
    const auto reader = fmt::format(
        R"([{}, '{{"fields": [{{"name": "id"}}], "order": "windowed", "window": 20, "batch": 5, "epochs": 2}}'])",
        kReader);
    place_.WriteSpec(
        "exp.yaml", command.empty() ? reader : command, ranks,
        fmt::format("data:\n  train: {{source: 'source/*.tfrecord', format: tfrecord, tier: [ram], seed: {}, "
                    "bandwidth: {}, {}}}",
                    kSeed, rate, more));
  }

  std::string Ids(int rank = 0) const { return ReadFile(place_ / fmt::format("ids-{}.txt", rank)); }
  std::string Events() const { return ReadFile(place_.RunFolder() / "events.jsonl"); }
  /// The file that arrives last.
  fs::path LastFile() const {
    const auto last = staging::FileOrder(kFiles.size(), kSeed, 0).back();
    return place_ / fmt::format("source/part-{:03}.tfrecord", last);
  }

  Workplace place_;
};

TEST_F(Arrivals, TheRanksBeginBeforeTheStagingEndsAndSeeTheSameOrder) {
  WriteSpec("30KB", "overlap: true", "", 2);
  const auto early = place_.Slipway({"run", "exp.yaml"});
  ASSERT_EQ(early.status.code, 0) << early.output << early.errors;
  EXPECT_EQ(ReadFile(place_ / "began"), "early\n");
  const auto events = Events();
  EXPECT_LT(events.find("\"arriving\""), events.find("\"running\""));
  EXPECT_LT(events.find("\"running\""), events.find("\"staged\""));
  EXPECT_THAT(events, HasSubstr("\"overlapped\":true"));
  EXPECT_THAT(place_.StagedFiles(), IsEmpty());
  const auto first = Ids(0), second = Ids(1);
  EXPECT_EQ(std::ranges::count(first, '\n'), 2 * 145);

  WriteSpec("100MB", "overlap: false", "", 2);
  ASSERT_EQ(place_.Slipway({"run", "exp.yaml"}).status.code, 0);
  EXPECT_EQ(ReadFile(place_ / "began"), "whole\n");
  EXPECT_EQ(Ids(0), first);
  EXPECT_EQ(Ids(1), second);
}

TEST_F(Arrivals, AStagingThatFailsInTheMiddleEndsTheRunWithTheFilesName) {
  WriteSpec("40KB", "overlap: true");
  std::thread truncate([&] {
    place_.WaitForFile(place_ / "began");
    fs::resize_file(LastFile(), 1000);
  });
  const auto ran = place_.Slipway({"run", "exp.yaml"});
  truncate.join();
  EXPECT_EQ(ran.status.code, 3) << ran.output << ran.errors;
  EXPECT_THAT(ran.errors, HasSubstr(LastFile().filename().string()));
  const auto status = place_.Status();
  EXPECT_EQ(status["phase"], "failed");
  EXPECT_THAT(status["reason"].get<std::string>(), HasSubstr(LastFile().filename().string()));
  EXPECT_THAT(Events(), HasSubstr("\"staging_failed\""));
  EXPECT_THAT(place_.StagedFiles(), IsEmpty());
}

TEST_F(Arrivals, ARunThatEndsFirstCancelsTheStagingOfItsOwnData) {
  WriteSpec("20KB", "overlap: true", "['true']");
  const auto ran = place_.Slipway({"run", "exp.yaml"});
  EXPECT_EQ(ran.status.code, 0) << ran.output << ran.errors;
  EXPECT_THAT(Events(), HasSubstr("\"staging_cancelled\""));
  EXPECT_THAT(Events(), Not(HasSubstr("\"staged\"")));
  EXPECT_THAT(ran.errors, HasSubstr("the ranks ended before all of train had arrived"));
  EXPECT_THAT(place_.StagedFiles(), IsEmpty());
}

TEST_F(Arrivals, ButDataThatIsKeptIsFinished) {
  WriteSpec("200KB", "overlap: true, keep: cache", "['true']");
  const auto ran = place_.Slipway({"run", "exp.yaml"});
  EXPECT_EQ(ran.status.code, 0) << ran.output << ran.errors;
  EXPECT_THAT(Events(), HasSubstr("\"staged\""));
  EXPECT_THAT(place_.StagedFiles(), testing::Contains(HasSubstr("manifest.json")));
}

TEST_F(Arrivals, TheUserCanEndItWhileBothGoOn) {
  WriteSpec("20KB", "overlap: true, keep: cache",
            "[sleep, '60']\n  metrics: {from: stdout, pattern: '(?<objective>x)'}");
  auto run = place_.Start({"run", "exp.yaml"});
  for (int i = 0; i < 3000 && place_.Status()["phase"] != "running"; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  ::kill(run.pid(), SIGINT);
  EXPECT_EQ(run.Wait().code, 130);
  EXPECT_EQ(place_.Status()["phase"], "cancelled");
}

TEST_F(Arrivals, AKilledManagerLeavesNoRanksAndNothingThatCannotBeCollected) {
  WriteSpec("20KB", "overlap: true");
  auto run = place_.Start({"run", "exp.yaml"});
  place_.WaitForFile(place_ / "began");
  ::kill(run.pid(), SIGKILL);
  run.Wait();
  for (int i = 0; i < 3000 && !ProcessesOf(place_ / "").empty(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_EQ(staging::RemoveLeftovers(place_ / "ram").size(), 1U);
  EXPECT_THAT(staging::GenerationsIn(place_ / "ram"), IsEmpty());
}

TEST_F(Arrivals, AProgramOfAnyKindFindsTheDirectoryWhenAllIsThere) {
  WriteSpec("200KB", "overlap: true",
            "[sh, -c, 'while [ ! -d $SLIPWAY_DATA_TRAIN ]; do sleep 0.1; done; ls $SLIPWAY_DATA_TRAIN']");
  const auto ran = place_.Slipway({"run", "exp.yaml"});
  EXPECT_EQ(ran.status.code, 0) << ran.output << ran.errors;
  EXPECT_THAT(ran.output, HasSubstr("manifest.json"));
  EXPECT_THAT(ran.errors, Not(HasSubstr("the ranks ended before")));
}

TEST_F(Arrivals, AStreamGoesThroughATierThatIsTooSmall) {
  WriteSpec("100MB", "overlap: true");
  ASSERT_EQ(place_.Slipway({"run", "exp.yaml"}).status.code, 0);
  const auto whole = Ids();
  fs::create_directory(place_ / "small");
  const auto site =
      fmt::format("\nsite:\n  tiers:\n    small: {{path: {}, capacity: 600KB}}", (place_ / "small").string());
  WriteSpec("100MB", "overlap: true");
  auto spec = ReadFile(place_ / "exp.yaml");
  spec.replace(spec.find("[ram]"), 5, "[small]");
  place_.Write("exp.yaml", spec + site);
  const auto plan = place_.Slipway({"plan", "exp.yaml"});
  EXPECT_THAT(plan.output, HasSubstr("streams")) << plan.errors;
  const auto ran = place_.Slipway({"run", "exp.yaml"});
  ASSERT_EQ(ran.status.code, 0) << ran.output << ran.errors;
  EXPECT_EQ(Ids(), whole);
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(place_ / "small")) {
    if (entry.is_regular_file() && entry.path().parent_path().filename() != ".locks") files.push_back(entry.path());
  }
  EXPECT_THAT(files, IsEmpty());
}

}  // namespace
}  // namespace slipway::test
