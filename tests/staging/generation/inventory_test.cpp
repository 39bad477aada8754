#include "staging/generation/inventory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/files.h"
#include "staging/generation/generation.h"
#include "staging/generation/owner.h"
#include "staging/generation/stage.h"
#include "tests/staging/staging_support.h"

namespace slipway::staging {
namespace {
namespace fs = std::filesystem;

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class InventoryTest : public ::testing::Test {
 protected:
  InventoryTest() { Put(files_ / "a.tfrecord", TfrecordBytes(3, 100)); }
  StagingPlan Plan() const { return PlanFor(RequestFor(files_ / "a.tfrecord", root_, DataFormat::kTfrecord)); }

  TemporaryDirectory files_;
  fs::path root_ = files_ / "root";
};

TEST_F(InventoryTest, TellsWhatAManifestSays) {
  const auto plan = Plan();
  Stage(plan).lease.reset();
  const auto generations = TakeInventory(root_).generations;
  ASSERT_EQ(generations.size(), 1u);
  EXPECT_EQ(generations[0].name, plan.generation);
  EXPECT_EQ(generations[0].directory, plan.directory);
  EXPECT_EQ(generations[0].dataset, "train");
  EXPECT_EQ(generations[0].files, 1u);
  EXPECT_EQ(generations[0].bytes, plan.total);
  EXPECT_EQ(generations[0].records, 3u);
  EXPECT_THAT(generations[0].leased_by, IsEmpty());
}

TEST_F(InventoryTest, NamesWhoUsesAGeneration) {
  const auto staged = Stage(Plan());
  const auto users = TakeInventory(root_).generations.at(0).leased_by;
  ASSERT_EQ(users.size(), 1u);
  EXPECT_EQ(users[0].pid, ::getpid());
  EXPECT_EQ(EvictGeneration(root_, Plan().generation), Removal::kInUse);
}

TEST_F(InventoryTest, TellsADamagedGenerationAndGoesOn) {
  const auto plan = Plan();
  Stage(plan).lease.reset();
  Put(root_ / "other-0123456789abcdef/manifest.json", "{");
  const auto generations = TakeInventory(root_).generations;
  ASSERT_EQ(generations.size(), 2u);
  EXPECT_THAT(generations[0].damage, HasSubstr("manifest"));
  EXPECT_EQ(generations[1].damage, "");
}

TEST_F(InventoryTest, LeavesADirectoryOfSomebodyElseAloneWhateverItsManifestSays) {
  Stage(Plan()).lease.reset();
  Put(root_ / "webapp/manifest.json", R"({"name": "My app"})");
  Put(root_ / "notes-0123456789abcdef/manifest.json", ReadFile(Plan().directory / "manifest.json"));
  const auto generations = TakeInventory(root_).generations;
  ASSERT_EQ(generations.size(), 1u);
  EXPECT_EQ(generations[0].name, Plan().generation);
}

TEST_F(InventoryTest, TellsWorkFromWhatWasLeftBehind) {
  const Generation at_work(root_, "train-1");
  at_work.Prepare();
  Put(root_ / ".staging/train-1/a", std::string(10'000, 'x'));
  Put(root_ / ".staging/train-2.evicted/a", "x");
  const auto lock = at_work.TryLockForStaging();
  const auto leftovers = TakeInventory(root_).leftovers;
  ASSERT_EQ(leftovers.size(), 2u);
  EXPECT_EQ(leftovers[0].name, "train-1");
  EXPECT_EQ(leftovers[0].staged_by.size(), 1u);
  EXPECT_GE(leftovers[0].bytes, Bytes{10'000});
  EXPECT_EQ(leftovers[1].name, "train-2.evicted");
  EXPECT_THAT(leftovers[1].staged_by, IsEmpty());
  EXPECT_TRUE(leftovers[0].worker);
  EXPECT_FALSE(leftovers[1].worker);
}

TEST_F(InventoryTest, WorkOfAnotherMachineIsNotLeftBehind) {
  const Owner elsewhere{"0123456789abcdef", {77, 5, "another-boot"}, "node-b"};
  Put(root_ / ".staging/train-1/.owner", RenderOwner(elsewhere));
  const auto leftovers = TakeInventory(root_).leftovers;
  ASSERT_EQ(leftovers.size(), 1u);
  EXPECT_EQ(leftovers[0].worker, "process 77 on node-b");
}

TEST_F(InventoryTest, OfNothingIsEmpty) {
  EXPECT_THAT(TakeInventory(files_ / "nowhere").generations, IsEmpty());
  EXPECT_THAT(TakeInventory(files_ / "nowhere").leftovers, IsEmpty());
}

TEST_F(InventoryTest, KnowsWhenAGenerationWasLastUsed) {
  const auto plan = Plan();
  Stage(plan).lease.reset();
  const auto lock = Generation(root_, plan.generation).LeaseLock();
  fs::last_write_time(lock, fs::last_write_time(lock) - std::chrono::hours(48));
  const auto long_ago = TakeInventory(root_).generations.at(0).used;
  Stage(plan).lease.reset();  // adopted: it is used again
  EXPECT_GT(TakeInventory(root_).generations.at(0).used, long_ago + std::chrono::hours(47));
}

TEST_F(InventoryTest, AKeptGenerationIsKeptUntilItIsEvicted) {
  const auto plan = Plan();
  Stage(plan).lease.reset();
  EXPECT_FALSE(IsKept(root_, plan.generation));
  MarkKept(root_, plan.generation);
  EXPECT_TRUE(TakeInventory(root_).generations.at(0).kept);
  EXPECT_EQ(EvictGeneration(root_, plan.generation), Removal::kRemoved);
  EXPECT_FALSE(IsKept(root_, plan.generation));
  EXPECT_FALSE(fs::exists(plan.directory));
}

StoredGeneration StoredAt(const std::string& name, int used, std::uint64_t bytes, bool leased = false) {
  StoredGeneration stored;
  stored.name = name;
  stored.used = WallTime(std::chrono::seconds(used));
  stored.bytes = Bytes{bytes};
  if (leased) stored.leased_by = {{1, "init"}};
  return stored;
}

StoredGeneration Kept(StoredGeneration stored) {
  stored.kept = true;
  return stored;
}

TEST(InOrderOfRemoval, FirstWhatNobodyKeepsThenTheOldestAndNothingInUse) {
  const std::vector all = {Kept(StoredAt("kept", 1, 10)), StoredAt("new", 30, 10), StoredAt("old", 10, 10),
                           StoredAt("leased", 5, 10, true), StoredAt("middle", 20, 10)};
  std::vector<std::string> names;
  for (const auto& generation : InOrderOfRemoval(all)) names.push_back(generation.name);
  EXPECT_THAT(names, ElementsAre("old", "middle", "new", "kept"));
}

}  // namespace
}  // namespace slipway::staging
