// A manager in its own process, real trials, and kill -9 everywhere.
#include <gmock/gmock.h>
#include <signal.h>

#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <sstream>

#include "core/files.h"
#include "core/process.h"
#include "ensemble/store/trial_book.h"
#include "tests/support/temp_directory.h"

namespace slipway::ensemble {
namespace {

using test::TempDirectory;
using namespace std::chrono_literals;

ChildProcess StartManager(const TempDirectory& folder, int trials, int parallel, const std::string& sampler,
                          const std::string& crash_at = {}) {
  SpawnOptions options;
  options.argv = {MANAGER_PROCESS,          "manage", folder.path().string(), std::to_string(trials),
                  std::to_string(parallel), sampler};
  options.environment = Environment::Inherited();
  if (!crash_at.empty()) options.environment->Set("SLIPWAY_CRASH_AT", crash_at);
  return ChildProcess::Spawn(options);
}

/// Lines of `name` in the folder, each as words.
std::vector<std::vector<std::string>> LinesOf(const TempDirectory& folder, const char* name) {
  std::vector<std::vector<std::string>> lines;
  std::istringstream text(ReadFileIfPresent(folder / name).value_or(""));
  for (std::string line; std::getline(text, line);) {
    std::istringstream words(line);
    lines.emplace_back(std::istream_iterator<std::string>(words), std::istream_iterator<std::string>());
  }
  return lines;
}

/// How often each trial ran to its end, and with which value.
std::multimap<TrialNumber, double> Completions(const TempDirectory& folder) {
  std::multimap<TrialNumber, double> done;
  for (const auto& words : LinesOf(folder, "log")) {
    if (words.at(0) == "done") done.emplace(std::stoll(words.at(1)), std::stod(words.at(3)));
  }
  return done;
}

void ExpectExact(const TempDirectory& folder, int trials) {
  const auto rows = TrialBook::OpenForReading(folder.path()).Trials();
  const auto done = Completions(folder);
  ASSERT_EQ(rows.size(), static_cast<std::size_t>(trials));
  EXPECT_EQ(done.size(), rows.size()) << "each trial runs to its end exactly once";
  for (const auto& row : rows) {
    ASSERT_EQ(row.state, TrialState::kComplete) << "trial " << row.number;
    ASSERT_EQ(done.count(row.number), 1u) << "trial " << row.number;
    EXPECT_EQ(row.objective, done.find(row.number)->second);
    EXPECT_EQ(row.objective, std::get<double>(row.parameters.at(0).second));
  }
}

void ExpectAcknowledgedIsKept(const TempDirectory& folder) {
  const auto acknowledged = LinesOf(folder, "acknowledged");
  if (acknowledged.empty()) return;
  const auto rows = TrialBook::OpenForReading(folder.path()).Trials();
  for (const auto& words : acknowledged) {
    EXPECT_EQ(rows.at(std::stoul(words.at(0))).state, TrialState::kComplete) << "trial " << words.at(0);
  }
}

class KilledManager : public testing::TestWithParam<const char*> {};

TEST_P(KilledManager, LosesNothingAndRunsNothingTwice) {
  TempDirectory folder;
  constexpr int kTrials = 7;
  for (const char* time : {":1", ":2", ":3"}) {
    auto manager = StartManager(folder, kTrials, 2, "random", GetParam() + std::string(time));
    EXPECT_EQ(manager.WaitFor(20s), (ExitStatus{0, SIGKILL})) << "it must reach the place";
    ExpectAcknowledgedIsKept(folder);
  }
  EXPECT_EQ(StartManager(folder, kTrials, 2, "random").WaitFor(20s), (ExitStatus{0, 0}));
  ExpectExact(folder, kTrials);
}

INSTANTIATE_TEST_SUITE_P(Everywhere, KilledManager,
                         testing::Values("before_tell_commit", "after_tell_commit", "before_claim_commit",
                                         "after_claim_commit", "after_prepare", "after_running_commit",
                                         "after_release"),
                         [](const auto& point) { return std::string(point.param); });

TEST(KilledManagerAtAnyTime, LosesNothingAndRunsNothingTwice) {
  TempDirectory folder, undisturbed;
  constexpr int kTrials = 90;
  const unsigned seed = std::random_device{}();
  std::mt19937 random(seed);
  SCOPED_TRACE("seed " + std::to_string(seed));
  int killed = 0;
  for (int kill = 0; kill < 10; ++kill) {
    auto manager = StartManager(folder, kTrials, 3, "grid");
    const auto delay = std::chrono::milliseconds(std::uniform_int_distribution<>(5, 30)(random));
    if (!manager.WaitFor(delay)) manager.Signal(SIGKILL);
    killed += manager.Wait().signal == SIGKILL ? 1 : 0;
    ExpectAcknowledgedIsKept(folder);
  }
  EXPECT_GE(killed, 3) << "too fast to be killed: the test shows nothing";
  EXPECT_EQ(StartManager(folder, kTrials, 3, "grid").WaitFor(30s), (ExitStatus{0, 0}));
  ExpectExact(folder, kTrials);
  EXPECT_EQ(StartManager(undisturbed, kTrials, 3, "grid").WaitFor(30s), (ExitStatus{0, 0}));
  const auto rows = TrialBook::OpenForReading(folder.path()).Trials();
  const auto expected = TrialBook::OpenForReading(undisturbed.path()).Trials();
  for (std::size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(rows[i].parameters, expected.at(i).parameters);
}

}  // namespace
}  // namespace slipway::ensemble
