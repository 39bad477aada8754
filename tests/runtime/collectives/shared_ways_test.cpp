// The ways of shared memory give the same bits, and do without the kernel's copies where it refuses them.

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <random>

#include "runtime/collectives/allreduce.h"
#include "runtime/collectives/way_times.h"
#include "runtime/status.h"
#include "tests/runtime/collectives/groups.h"
#include "tests/runtime/collectives/numbers.h"

namespace {

/// How many copies the kernel still makes before it refuses; negative: it refuses none.
std::atomic<long> copies_left{-1};

bool Refuses() { return copies_left >= 0 && copies_left-- <= 0; }

}  // namespace

// In place of the C library's, so that a test can refuse what the rules for ptrace or a device's memory would.
extern "C" ssize_t process_vm_readv(pid_t process, const iovec* here, unsigned long here_count, const iovec* there,
                                    unsigned long there_count, unsigned long flags) {
  if (Refuses()) return errno = EPERM, -1;
  return ::syscall(SYS_process_vm_readv, process, here, here_count, there, there_count, flags);
}

extern "C" ssize_t process_vm_writev(pid_t process, const iovec* here, unsigned long here_count, const iovec* there,
                                     unsigned long there_count, unsigned long flags) {
  if (Refuses()) return errno = EPERM, -1;
  return ::syscall(SYS_process_vm_writev, process, here, here_count, there, there_count, flags);
}

namespace slipway::test {
namespace {

using namespace runtime;

constexpr const char* kWays[] = {"shared_together", "shared_copies_32k", "shared_copies_128k", "shared_direct"};

/// Refuses from a number of copies on, as long as it lives.
class Refusal {
 public:
  explicit Refusal(long copies) { copies_left = copies; }
  ~Refusal() { copies_left = -1; }
};

Array Reduced(const char* way, slipway_dtype dtype, slipway_op op, std::int64_t count, TestGroup& test) {
  std::mt19937 random(static_cast<unsigned>(Rank()) + 1);
  std::uniform_real_distribution<double> exponent(-6, 6);
  Array array(dtype, count);
  for (std::int64_t i = 0; i < count; ++i) array.Set(i, std::exp2(exponent(random)) * (i % 3 == 0 ? -1 : 1));
  const Piece piece{array.data(), count};
  AllreduceBy(*ChoiceOf(way), {{&piece, 1}, {dtype, op}, 0, nullptr}, test.group);
  return array;
}

TEST(SharedWays, GiveTheSameBits) {
  TestGroup test;
  for (const auto dtype : kDtypes) {
    for (const auto op : kOperations) {
      for (const std::int64_t count : {1, 250, 1031, 40001}) {
        auto expected = Reduced("shared", dtype, op, count, test);
        for (const char* way : kWays) {
          auto array = Reduced(way, dtype, op, count, test);
          EXPECT_EQ(std::memcmp(array.data(), expected.data(), array.bytes()), 0)
              << way << ", " << runtime::NameOf(dtype) << ", operation " << op << ", " << count;
        }
      }
    }
  }
}

TEST(SharedWays, GiveTheSameBitsOfLargeMessages) {
  TestGroup test;
  constexpr std::int64_t kCount = 700'017;
  auto expected = Reduced("shared", SLIPWAY_FLOAT32, SLIPWAY_MEAN, kCount, test);
  for (const char* way : kWays) {
    auto array = Reduced(way, SLIPWAY_FLOAT32, SLIPWAY_MEAN, kCount, test);
    EXPECT_EQ(std::memcmp(array.data(), expected.data(), array.bytes()), 0) << way;
    EXPECT_TRUE(SameOnAllRanks(array.data(), array.bytes())) << way;
  }
}

TEST(SharedWays, CopyFromABlockWhoseSerialIsTooLargeToPublish) {
  TestGroup test(0, INT64_MAX, (1 << 20) - 2);
  constexpr std::int64_t kCount = 10'000;
  std::vector<float> outside(kCount);
  for (int step = 0; step < 2000; ++step) {
    auto* inside = static_cast<float*>(test.memory.pool.Allocate(kCount * 4));
    float* data = Rank() == 0 ? inside : outside.data();
    std::fill_n(data, kCount, static_cast<float>(step + Rank()));
    const Piece piece{reinterpret_cast<char*>(data), kCount};
    AllreduceBy(*ChoiceOf("shared_copies_32k"), {{&piece, 1}, {SLIPWAY_FLOAT32, SLIPWAY_SUM}, 0, nullptr}, test.group);
    const auto expected = static_cast<float>(Ranks() * step + Ranks() * (Ranks() - 1) / 2);
    ASSERT_EQ(std::count(data, data + kCount, expected), kCount) << "step " << step;
    test.memory.pool.Free(inside);
  }
}

TEST(DirectCopies, AreNotUsedWhereTheKernelRefusesThem) {
  const Refusal refusal(0);
  TestGroup test;
  EXPECT_FALSE(test.group.placement().direct_copies);
  auto array = Reduced("shared_direct", SLIPWAY_FLOAT32, SLIPWAY_SUM, 70001, test);
  EXPECT_TRUE(SameOnAllRanks(array.data(), array.bytes()));
  for (const auto& time : Ranks() > 1 ? MeasureWays(test.group) : std::vector<WayTime>()) {
    EXPECT_NE(time.way, SharedWay::kDirect);
  }
}

TEST(DirectCopies, AreNotUsedWhereOneRankMayNot) {
  const Refusal refusal(Rank() == Ranks() - 1 ? 0 : -1);
  TestGroup test;
  EXPECT_FALSE(test.group.placement().direct_copies);
}

TEST(DirectCopies, OfMemoryThatTheKernelRefusesAreReplaced) {
  TestGroup test;
  auto expected = Reduced("shared", SLIPWAY_FLOAT32, SLIPWAY_SUM, 70001, test);
  const Refusal refusal(Rank() == 0 ? 0 : -1);
  auto array = Reduced("shared_direct", SLIPWAY_FLOAT32, SLIPWAY_SUM, 70001, test);
  EXPECT_EQ(std::memcmp(array.data(), expected.data(), array.bytes()), 0);
}

TEST(DirectCopies, ThatBreakOffAreAnErrorOnAllRanks) {
  TestGroup test;
  if (Ranks() == 1 || !test.group.placement().direct_copies) GTEST_SKIP() << "nothing is copied";
  const Refusal refusal(Rank() == 0 ? Ranks() : -1);
  std::string said;
  try {
    Reduced("shared_direct", SLIPWAY_FLOAT32, SLIPWAY_SUM, 700'017, test);
  } catch (const RuntimeError& error) {
    EXPECT_EQ(error.status(), SLIPWAY_ERROR_ARGUMENT);
    said = error.what();
  }
  EXPECT_NE(said.find("SLIPWAY_ALGORITHMS=shared_copies_128k"), std::string::npos) << said;
  EXPECT_TRUE(SameOnAllRanks(said));
}

TEST(MeasuredWays, AreTheSameOnAllRanks) {
  TestGroup test;
  if (Ranks() == 1) GTEST_SKIP() << "there is no other rank";
  const auto times = MeasureWays(test.group);
  ASSERT_FALSE(times.empty());
  for (const auto& time : times) EXPECT_GT(time.seconds, 0) << time.bytes;
  EXPECT_TRUE(SameOnAllRanks(FastestWays(times)));
}

}  // namespace
}  // namespace slipway::test
