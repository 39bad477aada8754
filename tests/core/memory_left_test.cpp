#include "core/memory_left.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/fake_memory.h"

namespace slipway {
namespace {

using test::FakeMemory;
using testing::AllOf;
using testing::HasSubstr;

constexpr std::uint64_t kMib = 1 << 20;

class MemoryLeftTest : public testing::Test {
 protected:
  FakeMemory memory_{1000};
};

TEST_F(MemoryLeftTest, IsWhatTheMachineHasLessATenth) { EXPECT_EQ(MemoryLeft(memory_.sources()), Bytes{921600}); }

TEST_F(MemoryLeftTest, ObeysTheTightestGroupAbove) {
  memory_.SetMembership("0::/job_1/step_0\n");
  memory_.SetGroup("job_1/step_0", "max", "400000");
  memory_.SetGroup("job_1", "500000", "400000");
  EXPECT_EQ(MemoryLeft(memory_.sources()), Bytes{90000});
}

TEST_F(MemoryLeftTest, CountsNoCacheThatTheKernelGivesUp) {
  memory_.SetMembership("0::/job_1\n");
  memory_.SetGroup("job_1", "500000", "400000");
  memory_.SetGroupStatistics("job_1", "anon 1\ninactive_file 70000\nactive_file 30000\n");
  EXPECT_EQ(MemoryLeft(memory_.sources()), Bytes{180000});
}

TEST_F(MemoryLeftTest, ReadsVersionOneToo) {
  memory_.SetMembership("5:devices:/x\n4:cpu,memory:/job_1\n");
  memory_.SetGroup("memory/job_1", "500000", "450000", test::GroupVersion::kFirst);
  EXPECT_EQ(MemoryLeft(memory_.sources()), Bytes{45000});
}

TEST_F(MemoryLeftTest, IsNothingWhenTheGroupIsOverItsLimit) {
  memory_.SetMembership("garbage\n::\n0::/job_1\n");
  memory_.SetGroup("job_1", "500000", "600000");
  EXPECT_EQ(MemoryLeft(memory_.sources()), Bytes{0});
}

TEST_F(MemoryLeftTest, IsWithoutLimitWhereTheKernelSaysNothing) {
  const MemorySources nowhere{"/nonexistent/meminfo", "/nonexistent/cgroup", "/nonexistent/groups"};
  EXPECT_GT(MemoryLeft(nowhere).count, std::uint64_t{1} << 62);
}

/// The text of the refusal; empty without one.
template <class Action>
std::string RefusalOf(Action action) {
  try {
    action();
    return "";
  } catch (const MemoryError& error) {
    return error.what();
  }
}

TEST(MemoryAllowance, RefusesAsAWholeWhatDoesNotFit) {
  const FakeMemory memory(1000 * 1024);
  MemoryAllowance allowance(memory.sources());
  EXPECT_EQ(RefusalOf([&] { allowance.Foresee(Bytes{899 * kMib}, "a block"); }), "");
  EXPECT_THAT(RefusalOf([&] { allowance.Foresee(Bytes{901 * kMib}, "a block"); }),
              AllOf(HasSubstr("no memory for a block: 945 MB more are needed, 944 MB may still be taken"),
                    HasSubstr("give the job more memory")));
}

TEST(MemoryAllowance, SeesThatOthersTakeTheMemoryMeanwhile) {
  FakeMemory memory(1000 * 1024);
  MemoryAllowance allowance(memory.sources());
  std::uint64_t left = 1000;
  int taken = 0;
  const auto refusal = RefusalOf([&] {
    for (; taken < 28; ++taken) {
      allowance.Take(Bytes{32 * kMib}, "a block");
      left -= 100;  // this one and two neighbours
      memory.SetAvailable(left * 1024);
    }
  });
  EXPECT_THAT(refusal, HasSubstr("no memory for a block"));
  EXPECT_EQ(taken, 9);  // a tenth of the beginning remains
}

TEST(MemoryAllowance, LooksOnceForManySmallPieces) {
  FakeMemory memory(1000 * 1024);
  MemoryAllowance allowance(memory.sources());
  allowance.Take(Bytes{1}, "files");
  memory.SetAvailable(0);
  for (std::uint64_t taken = 1; taken + 4096 <= MemoryAllowance::kStep; taken += 4096) {
    allowance.Take(Bytes{4096}, "files");
  }
  EXPECT_THAT(RefusalOf([&] { allowance.Take(Bytes{4096}, "files"); }), HasSubstr("no memory for files"));
}

TEST(RequireMemory, AsksOnlyForLargePieces) {
  const FakeMemory memory(10 * 1024);
  EXPECT_EQ(RefusalOf([&] { RequireMemory(Bytes{31 * kMib}, "a batch", memory.sources()); }), "");
  EXPECT_THAT(RefusalOf([&] { RequireMemory(Bytes{32 * kMib}, "a batch", memory.sources()); }),
              HasSubstr("no memory for a batch"));
}

}  // namespace
}  // namespace slipway
