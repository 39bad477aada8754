// Check sums of gradients, of a job of one rank: which steps, what is in a line, and what happens without a disk.

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "core/files.h"
#include "core/sums_line.h"
#include "runtime/slipway.h"
#include "tests/support/temp_directory.h"

namespace slipway {
namespace {

namespace fs = std::filesystem;

constexpr auto kFile = "sums-00000.jsonl";
constexpr std::uint64_t kSumOf123 = 0x9eceacd06f7afd81;  // of the floats 1, 2, 3
constexpr std::uint64_t kSumOf4 = 0xd1e43d4950fa47eb;

class Sums : public testing::Test {
 protected:
  Sums() {
    for (const char* name : {"SLIPWAY_CONFIG", "SLIPWAY_CHECKPOINT_DIR", "SLIPWAY_RESUME_FROM", "SLIPWAY_STOP_FILE"}) {
      ::unsetenv(name);
    }
    ::setenv("SLIPWAY_METRICS", (attempt_ / "metrics.jsonl").c_str(), 1);
  }
  ~Sums() override {
    slipway_finalize();
    ::unsetenv("SLIPWAY_METRICS");
    ::unsetenv("SLIPWAY_RESUME_FROM");
  }

  void Begin(const char* config) { ASSERT_EQ(slipway_init(config), SLIPWAY_OK) << slipway_error_message(); }

  void Register(const char* team, const char* settings = "{}") {
    const std::int64_t shapes[] = {3, 1};
    const slipway_tensor tensors[] = {{"weight", SLIPWAY_FLOAT32, 1, &shapes[0], weight_},
                                      {"bias", SLIPWAY_FLOAT32, 1, &shapes[1], &bias_}};
    ASSERT_EQ(slipway_register(team, tensors, 2, 0), SLIPWAY_OK) << slipway_error_message();
    ASSERT_EQ(slipway_configure_team(team, settings), SLIPWAY_OK) << slipway_error_message();
  }

  int Exchange(const char* team, float scale = 1) {
    for (int i = 0; i < 3; ++i) weight_[i] = static_cast<float>(i + 1) * scale;
    bias_ = 4 * scale;
    return slipway_gradients(team);
  }
  void ExchangeSteps(const char* team, int steps) {
    for (int step = 0; step < steps; ++step) ASSERT_EQ(Exchange(team), SLIPWAY_OK) << slipway_error_message();
  }

  SumsHeader Header(const char* file = kFile) {
    std::string line;
    std::istringstream text(ReadFile(attempt_ / file));
    std::getline(text, line);
    return ParseSumsHeader(line).value_or(SumsHeader());
  }
  std::vector<SumsLine> Lines(const char* file = kFile) {
    std::vector<SumsLine> lines;
    std::istringstream text(ReadFile(attempt_ / file));
    std::string line;
    std::getline(text, line);
    while (std::getline(text, line)) lines.push_back(ParseSumsLine(line).value());
    return lines;
  }
  std::vector<std::int64_t> Steps(const char* file = kFile) {
    std::vector<std::int64_t> steps;
    for (const auto& line : Lines(file)) steps.push_back(line.step);
    return steps;
  }

  test::TempDirectory attempt_;
  float weight_[3] = {};
  float bias_ = 0;
};

using Steps64 = std::vector<std::int64_t>;

TEST_F(Sums, AreWrittenOfEveryNthStepOnly) {
  Begin(R"({"trace": {"sums": 2}})");
  Register("net");
  ExchangeSteps("net", 5);
  EXPECT_EQ(Steps(), (Steps64{0, 2, 4}));
  const auto header = Header();
  EXPECT_EQ(header.team, "net");
  EXPECT_EQ(header.every, 2);
  EXPECT_EQ(header.ranks, 1);
  EXPECT_FALSE(header.resumed);
  const std::vector<SumsTensor> tensors = {{"weight", "float32", 12}, {"bias", "float32", 4}};
  EXPECT_EQ(header.tensors, tensors);
}

TEST_F(Sums, AreThoseOfTheGradientsAndOfTheResult) {
  Begin(R"({"trace": {"sums": 1}})");
  // Clipping comes after the check sum of the result: one gradient must not change the sums of the others.
  Register("net", R"({"clip_norm": 0.5})");
  ExchangeSteps("net", 1);
  const auto lines = Lines();
  ASSERT_EQ(lines.size(), 1u);
  const std::vector<std::uint64_t> sums = {kSumOf123, kSumOf4};
  EXPECT_EQ(lines[0].gradients, sums);
  EXPECT_EQ(lines[0].exchanged, sums);
  EXPECT_LT(bias_, 1);
}

TEST_F(Sums, AreOffByDefault) {
  Begin("{}");
  Register("net");
  ExchangeSteps("net", 3);
  EXPECT_FALSE(fs::exists(attempt_ / kFile));
}

TEST_F(Sums, HaveNoFileOutsideOfARun) {
  ::unsetenv("SLIPWAY_METRICS");
  Begin(R"({"trace": {"sums": 1}})");
  Register("net");
  ExchangeSteps("net", 3);
  EXPECT_FALSE(fs::exists(kFile));
}

TEST_F(Sums, OfDelayedGradientsStandWithTheResultOfTheSameStep) {
  Begin(R"({"trace": {"sums": 1}})");
  Register("net", R"({"mode": "delayed", "lag": 2})");
  for (int step = 0; step < 5; ++step) {
    ASSERT_EQ(Exchange("net", static_cast<float>(1 + step)), SLIPWAY_OK) << slipway_error_message();
  }
  EXPECT_EQ(Steps(), (Steps64{0, 1, 2}));
  for (const auto& line : Lines()) EXPECT_EQ(line.exchanged, line.gradients) << line.step;
}

TEST_F(Sums, OfStepsThatAreAddedUpHaveNoResult) {
  Begin(R"({"trace": {"sums": 1}})");
  const std::int64_t shape = 1;
  const slipway_tensor tensor{"bias", SLIPWAY_FLOAT32, 1, &shape, &bias_};
  ASSERT_EQ(slipway_register("net", &tensor, 1, 4), SLIPWAY_OK);
  ASSERT_EQ(slipway_configure_team("net", R"({"mode": "delayed", "lag": 1, "sync_last": 2})"), SLIPWAY_OK);
  ExchangeSteps("net", 4);
  const auto lines = Lines();
  ASSERT_EQ(Steps(), (Steps64{0, 1, 2, 3}));
  EXPECT_TRUE(lines[0].exchanged);
  EXPECT_FALSE(lines[1].exchanged);  // comes together with step 2
  EXPECT_FALSE(lines[2].exchanged);
  EXPECT_TRUE(lines[3].exchanged);
}

TEST_F(Sums, OfARefusedStepHaveNoResult) {
  Begin(R"({"trace": {"sums": 1}})");
  Register("net", R"({"check_finite": true})");
  EXPECT_EQ(Exchange("net", std::numeric_limits<float>::quiet_NaN()), SLIPWAY_ERROR_NOT_FINITE);
  ExchangeSteps("net", 1);
  const auto lines = Lines();
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_FALSE(lines[0].exchanged);
  EXPECT_TRUE(lines[1].exchanged);
}

TEST_F(Sums, OfPassesThatOnlyAccumulateAreNone) {
  Begin(R"({"trace": {"sums": 1}})");
  Register("net", R"({"accumulate": 3})");
  ExchangeSteps("net", 6);
  EXPECT_EQ(Steps(), (Steps64{0, 1}));
}

TEST_F(Sums, OfASecondTeamHaveTheirOwnFile) {
  Begin(R"({"trace": {"sums": 1}})");
  Register("generator");
  ExchangeSteps("generator", 2);
  ASSERT_EQ(slipway_unregister("generator"), SLIPWAY_OK);
  Register("discriminator");
  ExchangeSteps("discriminator", 1);
  EXPECT_EQ(Header().team, "generator");
  EXPECT_EQ(Header("sums-00000-team2.jsonl").team, "discriminator");
  EXPECT_EQ(Steps("sums-00000-team2.jsonl"), (Steps64{0}));
}

TEST_F(Sums, OfMoreTeamsThanMayHaveThemAreLeftOutAndThatIsSaidOnce) {
  Begin(R"({"trace": {"sums": 1}})");
  testing::internal::CaptureStderr();
  for (int team = 0; team < 67; ++team) {
    Register("again");
    ExchangeSteps("again", 1);
    ASSERT_EQ(slipway_unregister("again"), SLIPWAY_OK);
  }
  const auto said = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(fs::exists(attempt_ / "sums-00000-team64.jsonl"));
  EXPECT_FALSE(fs::exists(attempt_ / "sums-00000-team65.jsonl"));
  EXPECT_NE(said.find("the first 64 teams"), std::string::npos) << said;
  EXPECT_EQ(said.find("the first 64 teams"), said.rfind("the first 64 teams")) << said;
}

TEST_F(Sums, SayWhetherTheProgramBeganFromACheckpoint) {
  ::setenv("SLIPWAY_RESUME_FROM", (attempt_ / "step-000000000007").c_str(), 1);
  Begin(R"({"trace": {"sums": 1}})");
  Register("net");
  ExchangeSteps("net", 1);
  EXPECT_TRUE(Header().resumed);
}

/// What the program prints in three steps, the last of which gives its result.
class SumsWithoutADisk : public Sums {
 protected:
  std::string SaidInThreeSteps() {
    testing::internal::CaptureStderr();
    Begin(R"({"trace": {"sums": 1}})");
    Register("net");
    ExchangeSteps("net", 3);
    EXPECT_EQ(bias_, 4);
    return testing::internal::GetCapturedStderr();
  }
  static void ExpectOnce(const std::string& said, const std::string& text) {
    EXPECT_NE(said.find(text), std::string::npos) << said;
    EXPECT_EQ(said.find(text), said.rfind(text)) << said;
  }
};

TEST_F(SumsWithoutADisk, LetTheTrainingGoOnWhereTheFileCannotBeOpened) {
  fs::create_directory(attempt_ / kFile);
  const auto said = SaidInThreeSteps();
  ExpectOnce(said, "rank 0 writes no check sums of team 'net' from step 0 on");
  EXPECT_NE(said.find(kFile), std::string::npos) << said;
}

TEST_F(SumsWithoutADisk, LetTheTrainingGoOnWhenTheDiskIsFull) {
  fs::create_symlink("/dev/full", attempt_ / kFile);
  const auto said = SaidInThreeSteps();
  ExpectOnce(said, "rank 0 writes no check sums of team 'net' from step 0 on");
  EXPECT_NE(said.find("No space left on device"), std::string::npos) << said;
}

}  // namespace
}  // namespace slipway
