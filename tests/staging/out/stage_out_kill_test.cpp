// The mover's process is killed at random moments; the next one finishes its work.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <random>
#include <thread>

#include "core/checkpoint.h"
#include "core/error.h"
#include "core/files.h"
#include "staging/out/out_place.h"
#include "tests/staging/staging_support.h"

#ifndef SLIPWAY_ROUNDS
#define SLIPWAY_ROUNDS 10
#endif

namespace slipway::staging {
namespace {

namespace fs = std::filesystem;

void Write(const OutPlace& place, std::uint64_t step) {
  const auto prepared = BeginCheckpoint(place.checkpoints(), step);
  Put(prepared / "weights.bin", std::string(500'000, static_cast<char>('a' + step % 26)));
  Put(place.outputs() / ("epoch-" + std::to_string(step)), std::string(50'000, 'o'));
  CommitCheckpoint(prepared, {{}, step, 0, 1, ""});
}

/// Writes checkpoints and moves them out until it is killed.
bool TrainAndMove(const OutPlace& place, std::uint64_t from) {
  OutPlaceMover mover(place, 2, {});
  for (std::uint64_t step = from;; ++step) {
    Write(place, step);
    if ((step % 3 == 0 ? mover.Settle() : mover.Round()).failure) return false;
  }
}

std::uint64_t NewestStep(const fs::path& checkpoints) {
  const auto newest = NewestCheckpoint(checkpoints);
  return newest ? newest->step : 0;
}

TEST(StageOutKill, NothingIsLostAtAnyMoment) {
  const auto seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  const TemporaryDirectory files;
  const OutPlace place{files / "tier/run", files / "runs/run"};
  const auto shared = place.folder / "checkpoints";
  std::uint64_t last = 0;
  unsigned longest_us = 60'000;
  for (int round = 0; round < SLIPWAY_ROUNDS; ++round) {
    const auto child = InChild([&] { return TrainAndMove(place, last + 1); });
    std::this_thread::sleep_for(std::chrono::microseconds(random() % longest_us));
    ::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "round " << round << ": a move failed";
    ASSERT_GE(NewestStep(shared), last) << "round " << round;
    const auto in_tier = NewestStep(place.checkpoints());
    const auto report = OutPlaceMover(place, 2, {}).Settle();
    ASSERT_FALSE(report.failure) << report.failure->what();
    ASSERT_GE(NewestStep(shared), std::max(last, in_tier)) << "round " << round;
    last = NewestStep(shared);
    if (last == 0) longest_us = std::min(2 * longest_us, 4'000'000u);  // a slow disk
    for (const auto& name : NamesOf(shared)) EXPECT_THAT(name, testing::StartsWith("step-"));
    for (const auto& name : NamesOf(place.outputs())) {
      EXPECT_EQ(ReadFile(place.folder / "outputs" / name), ReadFile(place.outputs() / name)) << name;
    }
  }
  EXPECT_GT(last, 0u);
}

}  // namespace
}  // namespace slipway::staging
