#include "launcher/attempt/attempt_stage.h"

#include <gtest/gtest.h>

#include <array>
#include <initializer_list>

namespace slipway::launcher {
namespace {

using enum AttemptEvent;

constexpr std::array kEvents{kRelease, kStop, kPatienceOver, kKill, kEnded};

AttemptStage After(std::initializer_list<AttemptEvent> events) {
  auto stage = AttemptStage::kHeld;
  for (const auto event : events) stage = Next(stage, event);
  return stage;
}

TEST(AttemptStage, GoesFromStageToStage) {
  EXPECT_EQ(After({kRelease}), AttemptStage::kRunning);
  EXPECT_EQ(After({kRelease, kStop}), AttemptStage::kSaving);
  EXPECT_EQ(After({kRelease, kStop, kPatienceOver}), AttemptStage::kEnding);
  EXPECT_EQ(After({kRelease, kStop, kPatienceOver, kKill}), AttemptStage::kKilled);
  EXPECT_EQ(After({kRelease, kEnded}), AttemptStage::kOver);
}

TEST(AttemptStage, AStopBeforeTheReleaseCountsToo) {
  EXPECT_EQ(After({kStop}), AttemptStage::kSaving);
  EXPECT_EQ(After({kStop, kRelease}), AttemptStage::kSaving);
}

TEST(AttemptStage, AKillNeedsNoStopBefore) {
  EXPECT_EQ(After({kRelease, kKill}), AttemptStage::kKilled);
  EXPECT_EQ(After({kRelease, kKill, kPatienceOver}), AttemptStage::kKilled);
}

TEST(AttemptStage, NeverGoesBack) {
  for (const auto a : kEvents) {
    for (const auto b : kEvents) {
      for (const auto c : kEvents) EXPECT_GE(After({a, b, c}), After({a, b}));
    }
  }
}

}  // namespace
}  // namespace slipway::launcher
