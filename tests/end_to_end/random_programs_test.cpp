// Random small programs as trials on a clean, a slow and a full disk: each ends in the book as a model says.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>

#include <cstdlib>
#include <iostream>
#include <random>
#include <sstream>
#include <thread>
#include <vector>

#include "core/files.h"
#include "tests/end_to_end/random_program.h"
#include "tests/end_to_end/workplace.h"
#include "tests/support/privileges.h"

namespace slipway::test {
namespace {
namespace fs = std::filesystem;

enum class Disk { kClean, kSlow, kFull };

const char* NameOf(Disk disk) {
  switch (disk) {
    case Disk::kClean: return "ThatIsClean";
    case Disk::kSlow: return "ThatIsSlow";
    case Disk::kFull: break;
  }
  return "ThatIsFull";
}

constexpr auto kSlowDisk = SLIPWAY_BUILD_DIR "/tests/libslow_disk.so";
constexpr int kFirstMegabytes = 1;
constexpr int kMoreMegabytes = 2;

/// SLIPWAY_ROUNDS in the full tier.
int Programs() {
  const char* given = std::getenv("SLIPWAY_ROUNDS");
  return given != nullptr ? std::atoi(given) : 40;
}

/// SLIPWAY_SEED repeats a test that has failed.
std::uint64_t Seed() {
  const char* given = std::getenv("SLIPWAY_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device()();
}

int Count(const std::string& text, const std::string& words) {
  int count = 0;
  for (auto at = text.find(words); at != std::string::npos; at = text.find(words, at + 1)) ++count;
  return count;
}

class RandomPrograms : public testing::TestWithParam<Disk> {
 protected:
  ~RandomPrograms() override { ::umount2((place_ / "disk").c_str(), MNT_DETACH); }

  void WritePrograms(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    for (int i = 0; i < Programs(); ++i) {
      programs_.push_back(MakeRandomProgram(random));
      place_.Write(fmt::format("programs/{}.sh", i), programs_.back().text);
    }
    place_.WriteSpec("exp.yaml", fmt::format("[sh, -c, '. {}/$1.sh', trial, '{{x}}']", (place_ / "programs").string()),
                     1,
                     fmt::format("  metrics: {{from: stdout, pattern: 'FoM: (?<objective>\\S+)'}}\n"
                                 "ensemble:\n"
                                 "  objective: {{metric: objective}}\n"
                                 "  parallel: 6\n"
                                 "  stop_on_same_failure: 0\n"
                                 "  sampler: grid\n"
                                 "  space: {{x: {{int: [0, {}]}}}}\n",
                                 Programs() - 1));
  }

  bool Resize(int megabytes) const {
    const auto size = fmt::format("size={}m", megabytes);
    return ::mount("slipway-test", (place_ / "disk").c_str(), "tmpfs", MS_REMOUNT, size.c_str()) == 0;
  }

  /// False where that is not allowed.
  bool Prepare() {
    if (GetParam() == Disk::kSlow) place_.SetVariable("LD_PRELOAD", kSlowDisk);
    if (GetParam() != Disk::kFull) return true;
    place_.SetVariable("SLIPWAY_RUNS", (place_ / "disk").string());
    return MountSmallDisk(place_ / "disk", fmt::format("size={}m", kFirstMegabytes).c_str());
  }

  std::string Said() const { return ReadFileIfPresent(place_ / "output.log").value_or(""); }

  /// Whenever the ensemble has paused, somebody makes room.
  void Run() {
    auto run = place_.Start({"run", "exp.yaml"});
    int megabytes = kFirstMegabytes;
    std::optional<ExitStatus> status;
    while (!(status = run.WaitFor(std::chrono::milliseconds(200)))) {
      const auto said = Said();
      const bool is_paused = Count(said, "warning: paused: ") > Count(said, "the ensemble goes on");
      if (is_paused) {
        ASSERT_TRUE(Resize(megabytes += kMoreMegabytes));
      }
    }
    EXPECT_EQ(status->code, 0) << Said();
    const bool has_paused = megabytes > kFirstMegabytes;
    EXPECT_EQ(has_paused, GetParam() == Disk::kFull) << "the disk was not full: the test shows nothing";
  }

  /// One document for each trial, with all its attempts.
  std::vector<Json> Exported() const {
    std::vector<Json> trials;
    std::istringstream lines(place_.Slipway({"trials", "export", "last", "--format", "jsonl"}).output);
    for (std::string line; std::getline(lines, line);) trials.push_back(Json::parse(line));
    return trials;
  }

  void ExpectTrue(const Json& trial) const {
    const auto& [text, end] = programs_[trial["parameters"]["x"].get<std::size_t>()];
    SCOPED_TRACE(fmt::format("trial {}\n{}", trial.dump(), text));
    const auto& last = trial["attempts"].back();
    EXPECT_EQ(trial["state"], end.state);
    EXPECT_EQ(last["outcome"], end.outcome);
    EXPECT_EQ(last["exit_code"], end.exit_code);
    EXPECT_EQ(last["signal"], end.signal);
    EXPECT_EQ(trial["objective"], end.objective ? Json(*end.objective) : Json(nullptr));
  }

  Workplace place_;
  std::vector<RandomProgram> programs_;
};

INSTANTIATE_TEST_SUITE_P(OnADisk, RandomPrograms, testing::Values(Disk::kClean, Disk::kSlow, Disk::kFull),
                         [](const auto& disk) { return std::string(NameOf(disk.param)); });

TEST_P(RandomPrograms, EndAsTheModelSays) {
  const auto seed = Seed();
  std::cout << "seed " << seed << " (SLIPWAY_SEED)" << std::endl;
  if (!Prepare()) GTEST_SKIP() << "mounts are not allowed here";
  WritePrograms(seed);
  Run();
  const auto trials = Exported();
  ASSERT_EQ(trials.size(), programs_.size()) << Said();
  for (const auto& trial : trials) ExpectTrue(trial);
}

}  // namespace
}  // namespace slipway::test
