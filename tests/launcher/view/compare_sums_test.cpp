// Where two runs part by their check sums: step, tensor, ranks; also from files that are damaged or not there.

#include "launcher/view/compare_sums.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <random>

#include "core/files.h"
#include "core/sums_line.h"
#include "launcher/view/compare.h"
#include "launcher/view/sums_stream.h"
#include "tests/support/temp_directory.h"

namespace slipway::launcher {
namespace {

namespace fs = std::filesystem;

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr int kRanks = 3;

SumsHeader HeaderOfRank(int rank) {
  return {"net", rank,  kRanks,
          10,    false, {{"conv1.weight", "float32", 3456}, {"conv1.bias", "float32", 128}, {"fc", "float32", 40}}};
}

/// Sums that depend on step, rank and tensor; the result depends on step and tensor.
SumsLine LineOf(int rank, std::int64_t step) {
  SumsLine line{step, {}, std::vector<std::uint64_t>()};
  for (int tensor = 0; tensor < 3; ++tensor) {
    const auto result = static_cast<std::uint64_t>(step * 10 + tensor);
    line.gradients.push_back(result * 100 + static_cast<std::uint64_t>(rank));
    line.exchanged->push_back(result);
  }
  return line;
}

using Change = std::function<void(int rank, SumsLine& line)>;

class CompareSumsTest : public testing::Test {
 protected:
  fs::path File(const std::string& run, int rank, int attempt = 1) const {
    return folder_ / run / ("attempt-" + std::to_string(attempt)) / SumsFileName({1, rank});
  }

  static std::string TextOf(const SumsHeader& header, std::vector<std::int64_t> steps, const Change& change) {
    auto text = FormatSumsHeader(header);
    for (const auto step : steps) {
      auto line = LineOf(header.rank, step);
      if (change) change(header.rank, line);
      text += FormatSumsLine(line);
    }
    return text;
  }

  void Write(const fs::path& file, const std::string& text) {
    MakeDirectories(file.parent_path());
    WriteFile(file, text);
  }

  /// All ranks, steps 0 to 40.
  void WriteRun(const std::string& run, const Change& change = {}) {
    for (int rank = 0; rank < kRanks; ++rank) {
      Write(File(run, rank), TextOf(HeaderOfRank(rank), {0, 10, 20, 30, 40}, change));
    }
  }

  void Append(const fs::path& file, const std::string& text) { WriteFile(file, ReadFile(file) + text); }

  std::optional<SumsOfPair> Compared(int attempts = 1) {
    RunWithSums a{"a", {}};
    RunWithSums b{"b", {}};
    for (int attempt = 1; attempt <= attempts; ++attempt) {
      a.attempts.push_back(File("a", 0, attempt).parent_path());
      b.attempts.push_back(File("b", 0, attempt).parent_path());
    }
    return CompareSums(a, b);
  }

  test::TempDirectory folder_;
};

TEST_F(CompareSumsTest, OfEqualRunsAreTheSame) {
  WriteRun("a");
  WriteRun("b");
  const auto sums = Compared();
  ASSERT_TRUE(sums);
  EXPECT_FALSE(sums->parting);
  EXPECT_EQ(sums->steps, 5u);
  EXPECT_EQ(sums->ranks, 3);
  EXPECT_THAT(sums->remarks, IsEmpty());
  EXPECT_EQ(Describe(*sums), "  the check sums of 5 steps are the same, ranks compared: 3\n");
}

TEST_F(CompareSumsTest, NameStepTensorAndRankOfTheFirstGradientThatDiffers) {
  WriteRun("a");
  WriteRun("b", [](int rank, SumsLine& line) {
    if (line.step < 20) return;
    if (rank == 1) line.gradients[1] ^= 1;
    if (rank == 2) line.gradients[2] ^= 1;  // a later tensor
    for (auto& sum : *line.exchanged) sum ^= 1;
  });
  const auto sums = Compared();
  ASSERT_TRUE(sums && sums->parting);
  EXPECT_EQ(sums->parting->step, 20);
  EXPECT_EQ(sums->parting->same_before, 10);
  EXPECT_EQ(sums->parting->of, PartingOf::kGradient);
  EXPECT_EQ(sums->parting->team, "net");
  EXPECT_EQ(sums->parting->tensor, 1);
  EXPECT_EQ(sums->parting->name, "conv1.bias");
  EXPECT_EQ(sums->parting->bytes, 128u);
  EXPECT_THAT(sums->parting->ranks, ElementsAre(1));
  EXPECT_EQ(Describe(*sums),
            "  they part at step 20: gradient of tensor 1 ('conv1.bias') on rank 1\n"
            "  the check sums up to step 10 are the same\n");
}

TEST_F(CompareSumsTest, NameAllRanksWhoseGradientDiffers) {
  WriteRun("a");
  WriteRun("b", [](int rank, SumsLine& line) {
    if (rank != 1) line.gradients[0] ^= 1;
  });
  const auto sums = Compared();
  ASSERT_TRUE(sums && sums->parting);
  EXPECT_EQ(sums->parting->step, 0);
  EXPECT_FALSE(sums->parting->same_before);
  EXPECT_THAT(sums->parting->ranks, ElementsAre(0, 2));
  EXPECT_THAT(Describe(*sums), HasSubstr("on ranks 0, 2\n  no earlier step has check sums of both\n"));
}

TEST_F(CompareSumsTest, TakeTheEarliestStepOfAnyRank) {
  WriteRun("a");
  WriteRun("b", [](int rank, SumsLine& line) {
    if (line.step >= 40 - 10 * rank) line.gradients[2] ^= 1;
  });
  const auto sums = Compared();
  ASSERT_TRUE(sums && sums->parting);
  EXPECT_EQ(sums->parting->step, 20);
  EXPECT_THAT(sums->parting->ranks, ElementsAre(2));
}

TEST_F(CompareSumsTest, NameTheExchangeWhenAllGradientsAreEqual) {
  WriteRun("a");
  WriteRun("b", [](int, SumsLine& line) {
    if (line.step >= 30) (*line.exchanged)[2] ^= 1;
  });
  const auto sums = Compared();
  ASSERT_TRUE(sums && sums->parting);
  EXPECT_EQ(sums->parting->step, 30);
  EXPECT_EQ(sums->parting->of, PartingOf::kExchange);
  EXPECT_EQ(sums->parting->tensor, 2);
  EXPECT_THAT(sums->parting->ranks, ElementsAre(0, 1, 2));
  EXPECT_EQ(sums->parting->ranks_compared, 3);
  EXPECT_THAT(Describe(*sums), HasSubstr("exchange of tensor 2 ('fc'), with equal gradients on every rank; its result "
                                         "differs on ranks 0, 1, 2"));
}

TEST_F(CompareSumsTest, DoNotSpeakOfEveryRankWhenOneHasNoSums) {
  const auto change = [](int, SumsLine& line) { (*line.exchanged)[0] ^= 1; };
  WriteRun("a");
  WriteRun("b", change);
  fs::remove(File("b", 2));
  const auto sums = Compared();
  ASSERT_TRUE(sums && sums->parting);
  EXPECT_EQ(sums->parting->ranks_compared, 2);
  EXPECT_THAT(Describe(*sums), HasSubstr("equal gradients on the 2 of 3 ranks that have check sums of it"));
  EXPECT_THAT(sums->remarks, ElementsAre("b has no sums-00002.jsonl"));
}

TEST_F(CompareSumsTest, AreNothingWithoutFilesAndARemarkWhenOneRunHasNone) {
  EXPECT_FALSE(Compared());
  WriteRun("a");
  const auto sums = Compared();
  ASSERT_TRUE(sums);
  EXPECT_FALSE(sums->parting);
  EXPECT_EQ(sums->steps, 0u);
  EXPECT_EQ(Describe(*sums), "  check sums: b has none: run it with trace.sums, too\n");
}

TEST_F(CompareSumsTest, CompareStepsThatBothHave) {
  WriteRun("a");
  for (int rank = 0; rank < kRanks; ++rank) {
    Write(File("b", rank), TextOf(HeaderOfRank(rank), {0, 4, 8, 12, 16, 20, 24}, [](int, SumsLine& line) {
            if (line.step >= 4) line.gradients[0] ^= 1;
          }));
  }
  const auto sums = Compared();
  ASSERT_TRUE(sums && sums->parting);
  EXPECT_EQ(sums->parting->step, 20);
  EXPECT_EQ(sums->parting->same_before, 0);
}

TEST_F(CompareSumsTest, LeaveOutATornLastLine) {
  WriteRun("a");
  WriteRun("b");
  const auto line = FormatSumsLine(LineOf(1, 50));
  for (std::size_t size = 1; size < line.size(); ++size) {
    WriteRun("b");
    Append(File("b", 1), line.substr(0, size));
    const auto sums = Compared();
    ASSERT_TRUE(sums);
    EXPECT_FALSE(sums->parting) << size;
    EXPECT_EQ(sums->steps, 5u) << size;
  }
}

TEST_F(CompareSumsTest, LeaveOutForeignLinesAndSayHowMany) {
  WriteRun("a");
  Append(File("a", 0), "not ours\n\n{\"step\":\"x\"}\n{\"step\":50,\"gradients\":[[[]]],\"exchanged\":null}\n");
  Append(File("a", 0), FormatSumsLine(LineOf(0, 60)));
  WriteRun("b");
  Append(File("b", 0), FormatSumsLine(LineOf(0, 50)) + FormatSumsLine(LineOf(0, 60)));
  const auto sums = Compared();
  ASSERT_TRUE(sums);
  EXPECT_FALSE(sums->parting);
  EXPECT_EQ(sums->steps, 6u);
  EXPECT_THAT(sums->remarks, ElementsAre("a: lines of sums-00000.jsonl that could not be read: 3",
                                         "steps with lines that could not be read: 1"));
}

TEST_F(CompareSumsTest, LeaveOutFilesThatAreNoCheckSums) {
  WriteRun("a");
  WriteRun("b");
  WriteFile(File("b", 0), std::string(100'000, '\0'));
  fs::remove(File("b", 1));
  fs::create_directory(File("b", 1));
  fs::remove(File("b", 2));
  ASSERT_EQ(::mkfifo(File("b", 2).c_str(), 0600), 0);
  const auto sums = Compared();
  ASSERT_TRUE(sums);
  EXPECT_FALSE(sums->parting);
  EXPECT_EQ(sums->steps, 0u);
  EXPECT_THAT(sums->remarks, testing::Contains(HasSubstr("attempt-1/sums-00000.jsonl is left out")));
}

TEST_F(CompareSumsTest, TakeALineThatIsTooLongForTheEndOfItsFile) {
  WriteRun("a");
  WriteRun("b");
  Append(File("b", 0), std::string(kLongestSumsLine + 100'000, 'x') + "\n" + FormatSumsLine(LineOf(0, 50)));
  const auto sums = Compared();
  ASSERT_TRUE(sums);
  EXPECT_FALSE(sums->parting);
  EXPECT_EQ(sums->steps, 5u);
}

TEST_F(CompareSumsTest, OfDamagedFilesPartAtMostWhereTheyAreDamaged) {
  constexpr unsigned kSeed = 20261125;
  std::mt19937 random(kSeed);
  WriteRun("a");
  WriteRun("b");
  const auto text = ReadFile(File("b", 1));
  const auto first_line = text.find('\n');
  for (int round = 0; round < 300; ++round) {
    auto damaged = text;
    const auto at = random() % damaged.size();
    if (round % 3 == 0) damaged.resize(at);
    if (round % 3 == 1) damaged[at] = static_cast<char>(random());
    if (round % 3 == 2) damaged.erase(at, random() % 100);
    WriteFile(File("b", 1), damaged);
    const auto sums = Compared();
    ASSERT_TRUE(sums) << "seed " << kSeed << ", round " << round;
    EXPECT_GE(sums->ranks, 2) << "seed " << kSeed << ", round " << round;
    if (!sums->parting) continue;
    EXPECT_THAT(sums->parting->ranks, ElementsAre(1)) << "seed " << kSeed << ", round " << round;
    EXPECT_GT(at, first_line - 100) << "seed " << kSeed << ", round " << round;
  }
}

TEST_F(CompareSumsTest, OfOtherTensorsAreNotCompared) {
  WriteRun("a");
  const auto refused = [&](const std::function<void(SumsHeader&)>& change) {
    for (int rank = 0; rank < kRanks; ++rank) {
      auto header = HeaderOfRank(rank);
      change(header);
      Write(File("b", rank), TextOf(header, {0, 10}, [](int, SumsLine& line) { line.gradients[0] ^= 1; }));
    }
    const auto sums = Compared();
    EXPECT_TRUE(sums && !sums->parting && sums->steps == 0);
    return sums && sums->remarks.size() == 1 ? sums->remarks.front() : "no remark, or several";
  };
  EXPECT_EQ(refused([](SumsHeader& header) { header.tensors.pop_back(); }),
            "a and b are not comparable: team 'net' has 3 tensors and 2 tensors");
  EXPECT_EQ(refused([](SumsHeader& header) { header.tensors[1].bytes = 64; }),
            "a and b are not comparable: tensor 1 is 'conv1.bias' of 128 bytes, float32, and 'conv1.bias' of 64 bytes, "
            "float32");
  EXPECT_EQ(refused([](SumsHeader& header) { header.ranks = 4; }), "a and b are not comparable: 3 ranks and 4 ranks");
  EXPECT_EQ(refused([](SumsHeader& header) { header.team = "other"; }),
            "a and b are not comparable: team 'net' and team 'other'");
}

TEST_F(CompareSumsTest, GoOnWithTheNextAttemptAndTakeARepeatedStepOnce) {
  WriteRun("a");
  for (int rank = 0; rank < kRanks; ++rank) {
    auto header = HeaderOfRank(rank);
    Write(File("b", rank), TextOf(header, {0, 10, 20}, {}));
    header.resumed = true;
    Write(File("b", rank, 2), TextOf(header, {20, 30, 40}, [](int, SumsLine& line) {
            if (line.step == 40) line.gradients[0] ^= 1;
          }));
  }
  const auto sums = Compared(2);
  ASSERT_TRUE(sums && sums->parting);
  EXPECT_EQ(sums->parting->step, 40);
  EXPECT_EQ(sums->parting->same_before, 30);
  EXPECT_THAT(sums->remarks, IsEmpty());
}

TEST_F(CompareSumsTest, LeaveOutAnAttemptThatCountsItsStepsAnew) {
  WriteRun("a");
  for (int rank = 0; rank < kRanks; ++rank) {
    auto header = HeaderOfRank(rank);
    Write(File("b", rank), TextOf(header, {0, 10}, {}));
    header.resumed = true;  // step 0 of this attempt is another one of the training
    Write(File("b", rank, 2), TextOf(header, {0, 10, 20}, [](int, SumsLine& line) { line.gradients[0] ^= 1; }));
  }
  const auto sums = Compared(2);
  ASSERT_TRUE(sums);
  EXPECT_FALSE(sums->parting);
  EXPECT_EQ(sums->steps, 2u);
  EXPECT_THAT(sums->remarks, testing::Contains("b: attempt-2/sums-00000.jsonl is left out: it counts steps from 0 "
                                               "again, though it began from a checkpoint"));
}

TEST_F(CompareSumsTest, DoNotCompareResultsThatAreNotThere) {
  WriteRun("a");
  WriteRun("b", [](int, SumsLine& line) { line.exchanged.reset(); });
  const auto sums = Compared();
  ASSERT_TRUE(sums);
  EXPECT_FALSE(sums->parting);
}

TEST_F(CompareSumsTest, NameTheTeamWhenThereAreSeveral) {
  for (const std::string run : {"a", "b"}) {
    WriteRun(run);
    auto header = HeaderOfRank(0);
    header.team = "discriminator\x1b[31m\n";
    const auto file = File(run, 0).parent_path() / SumsFileName({2, 0});
    Write(file, TextOf(header, {0, 10}, [&](int, SumsLine& line) { line.gradients[0] ^= run == "b" ? 1u : 0u; }));
  }
  const auto sums = Compared();
  ASSERT_TRUE(sums && sums->parting);
  EXPECT_EQ(sums->teams, 2);
  EXPECT_THAT(Describe(*sums),
              HasSubstr("step 0: gradient of tensor 0 ('conv1.weight') of team 'discriminator ' on rank 0\n"));
}

// ---- in the comparison of runs

ComparedRun RunWith(const std::string& id, std::optional<SumsOfPair> sums) {
  ComparedRun run;
  run.view.run = id;
  run.values = {{0, {{"loss", 2.5}}}, {45, {{"loss", id == "a" ? 1.5 : 2}}}};
  run.sums = std::move(sums);
  return run;
}

TEST(CompareRunsWithSums, SayWhereGradientsPartBeforeTheMetrics) {
  SumsOfPair sums{5, 2, 1, SumsParting(), {}};
  sums.parting->step = 40;
  sums.parting->same_before = 30;
  sums.parting->team = "net";
  sums.parting->tensor = 3;
  sums.parting->name = "conv1.weight";
  sums.parting->ranks = {1};
  const std::vector<ComparedRun> runs = {RunWith("a", {}), RunWith("b", sums)};
  const auto comparison = Compare(runs);
  EXPECT_TRUE(comparison.bits[0].parts());
  EXPECT_THAT(Describe(comparison),
              HasSubstr("  they part at step 40: gradient of tensor 3 ('conv1.weight') on rank 1\n"
                        "  the check sums up to step 30 are the same\n"
                        "  the metrics part at step 45: loss 1.5 and 2\n"));
  const auto document = ToJson(comparison)["bits"][0]["sums"];
  EXPECT_EQ(
      document.dump(),
      R"({"steps":5,"ranks":2,"teams":1,"parting":{"step":40,"same_before":30,"of":"gradient","team":"net",)"
      R"("tensor":3,"name":"conv1.weight","bytes":0,"ranks":[1],"ranks_compared":0,"ranks_of_job":0},"remarks":[]})");
}

TEST(CompareRunsWithSums, FallBackOnTheMetrics) {
  const std::vector<ComparedRun> runs = {RunWith("a", {}), RunWith("b", {})};
  const auto comparison = Compare(runs);
  EXPECT_THAT(Describe(comparison), HasSubstr("  they part at step 45: loss 1.5 and 2\n"));
  EXPECT_TRUE(ToJson(comparison)["bits"][0]["sums"].is_null());
}

}  // namespace
}  // namespace slipway::launcher
