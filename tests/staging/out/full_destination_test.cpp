// A destination that is full: a small file system of our own, in a mount namespace of our own.

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>

#include "core/checkpoint.h"
#include "core/error.h"
#include "core/files.h"
#include "staging/out/out_place.h"
#include "tests/staging/staging_support.h"

namespace slipway::staging {
namespace {

namespace fs = std::filesystem;

bool MountSmall(const fs::path& place, const char* options) {
  fs::create_directories(place);
  return ::unshare(CLONE_NEWNS) == 0 && ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         ::mount("slipway-test", place.c_str(), "tmpfs", 0, options) == 0;
}

class FullDestinationTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!Succeeded(InChild([&] { return MountSmall(place_.folder, "size=1m"); }))) {
      GTEST_SKIP() << "this user cannot mount a file system";
    }
  }
  void Write(std::uint64_t step, std::size_t size) const {
    const auto prepared = BeginCheckpoint(place_.checkpoints(), step);
    Put(prepared / "weights.bin", std::string(size, 'w'));
    CommitCheckpoint(prepared, {{}, step, 0, 1, ""});
  }
  static bool IsFull(const OutReport& report) {
    return report.failure && std::string(report.failure->what()).find("No space left") != std::string::npos;
  }

  TemporaryDirectory files_;
  OutPlace place_{files_ / "tier/run", files_ / "runs/run"};
};

TEST_F(FullDestinationTest, KeepsTheOlderCheckpointAndGoesOnWhenThereIsRoom) {
  EXPECT_TRUE(Succeeded(InChild([&] {
    if (!MountSmall(place_.folder, "size=1m")) return false;
    const auto shared = place_.folder / "checkpoints";
    OutPlaceMover mover(place_, 2, {});
    Write(1, 600'000);
    bool good = !mover.Round().failure;
    Write(2, 600'000);
    good = good && IsFull(mover.Round()) && IsFull(mover.Settle());
    good = good && NewestCheckpoint(shared)->step == 1 && NamesOf(shared).size() == 1;
    good = good && NewestCheckpoint(place_.checkpoints())->step == 2;
    good = good && ::mount("none", place_.folder.c_str(), nullptr, MS_REMOUNT, "size=8m") == 0;
    return good && !mover.Settle().failure && NewestCheckpoint(shared)->step == 2;
  })));
}

TEST_F(FullDestinationTest, RunsOutOfInodesWithoutATrace) {
  EXPECT_TRUE(Succeeded(InChild([&] {
    if (!MountSmall(place_.folder, "size=1m,nr_inodes=8")) return false;
    for (int i = 0; i < 10; ++i) Put(place_.outputs() / std::to_string(i), "x");
    const auto report = OutPlaceMover(place_, 1, {}).Settle();
    return IsFull(report) && NamesOf(place_.folder).empty();
  })));
}

}  // namespace
}  // namespace slipway::staging
