// What slipway_alloc takes where there is little: from files that say what the machine has, never by filling a machine.

#include "runtime/memory/shared_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <limits>
#include <map>

#include "tests/support/fake_memory.h"

namespace slipway::runtime {
namespace {

using test::FakeMemory;
using testing::HasSubstr;

constexpr std::int64_t kMib = 1 << 20;
constexpr auto kNoLimit = std::numeric_limits<std::int64_t>::max();

std::string RefusalOf(SharedPool& pool, std::int64_t bytes) {
  try {
    pool.Free(pool.Allocate(bytes));
    return "";
  } catch (const MemoryError& error) {
    return error.what();
  }
}

TEST(SharedPoolTest, RefusesWhatTheMachineCannotSpare) {
  const FakeMemory memory(100 * 1024);
  SharedPool pool(kNoLimit, memory.sources());
  testing::internal::CaptureStderr();
  EXPECT_THAT(RefusalOf(pool, 100 * kMib), HasSubstr("no memory for a block of slipway_alloc: 105 MB more"));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");  // no promise of ordinary memory
  EXPECT_TRUE(pool.Blocks().empty());
  EXPECT_EQ(RefusalOf(pool, 80 * kMib), "");
}

TEST(SharedPoolTest, RefusesWhatTheJobsControlGroupDoesNotLeave) {
  for (const auto version : {test::GroupVersion::kFirst, test::GroupVersion::kSecond}) {
    FakeMemory memory(10'000 * 1024);
    const bool second = version == test::GroupVersion::kSecond;
    memory.SetMembership(second ? "0::/job_7\n" : "4:memory:/job_7\n");
    memory.SetGroup(second ? "job_7" : "memory/job_7", std::to_string(200 * kMib), std::to_string(150 * kMib), version);
    SharedPool pool(kNoLimit, memory.sources());
    EXPECT_THAT(RefusalOf(pool, 50 * kMib), HasSubstr("47.2 MB may still be taken"));
    EXPECT_EQ(RefusalOf(pool, 40 * kMib), "");
  }
}

TEST(SharedPoolTest, OrdinaryMemoryIsHeldToTheSame) {
  const FakeMemory memory(100 * 1024);
  SharedPool pool(0, memory.sources());
  EXPECT_THAT(RefusalOf(pool, 100 * kMib), HasSubstr("no memory for a block of slipway_alloc"));
  auto* block = static_cast<char*>(pool.Allocate(70 * kMib));
  EXPECT_EQ(block[70 * kMib - 1], 0);
  pool.Free(block);
}

bool IsMapped(char* first) { return ::msync(first, 4096, MS_ASYNC) == 0; }

TEST(PeerMemoryTest, AnOlderListUnmapsNothingNewer) {
  SharedPool pool(kNoLimit, {}, 2);
  for (int i = 0; i < 4; ++i) pool.Allocate(4096);
  PeerMemory peers;
  std::map<std::int64_t, char*> mapped;
  std::vector<SharedPool::Block> older;
  for (const auto& block : pool.Blocks()) {
    mapped[block.serial] = peers.Map(block);
    if (block.serial == 3 || block.serial == 4) older.push_back(block);
  }
  ASSERT_EQ(mapped.size(), 4u);
  peers.Keep(older.front().address.process + 1, older);
  EXPECT_TRUE(IsMapped(mapped.at(2)));  // of another process
  peers.Keep(older.front().address.process, older);
  EXPECT_FALSE(IsMapped(mapped.at(2)));
  for (const int serial : {3, 4, 5}) EXPECT_TRUE(IsMapped(mapped.at(serial))) << serial;
}

}  // namespace
}  // namespace slipway::runtime
