// What ranks find out about their node.

#include "runtime/group/topology.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <thread>
#include <utility>
#include <vector>

#include "core/control_groups.h"
#include "runtime/api/calls.h"
#include "runtime/group/processor_share.h"
#include "tests/runtime/collectives/groups.h"

namespace slipway::test {
namespace {

using namespace slipway::runtime;

/// While it lives, the calling thread of each rank with an odd number may run on the first of its processors only.
class OddRanksOnOneProcessor {
 public:
  OddRanksOnOneProcessor() {
    ::sched_getaffinity(0, sizeof before_, &before_);
    now_ = before_;
    if (Rank() % 2 == 0) return;
    int first = 0;
    while (!CPU_ISSET(first, &before_)) ++first;
    CPU_ZERO(&now_);
    CPU_SET(first, &now_);
    ::sched_setaffinity(0, sizeof now_, &now_);
  }
  OddRanksOnOneProcessor(const OddRanksOnOneProcessor&) = delete;
  OddRanksOnOneProcessor& operator=(const OddRanksOnOneProcessor&) = delete;
  ~OddRanksOnOneProcessor() { ::sched_setaffinity(0, sizeof before_, &before_); }

  const cpu_set_t& now() const { return now_; }

 private:
  cpu_set_t before_{};
  cpu_set_t now_{};
};

cpu_set_t Processors(std::initializer_list<int> numbers) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int number : numbers) CPU_SET(number, &set);
  return set;
}

TEST(ProcessorSets, MeetWhereTheyHaveAProcessorInCommon) {
  const std::vector<cpu_set_t> sets = {Processors({0, 1, 2, 3}), Processors({3, 4, 5}), Processors({6}),
                                       Processors({1023})};
  EXPECT_EQ(CountSetsThatMeet(sets, sets[0]), 2);
  EXPECT_EQ(CountSetsThatMeet(sets, sets[1]), 2);
  EXPECT_EQ(CountSetsThatMeet(sets, sets[2]), 1);
  EXPECT_EQ(CountSetsThatMeet(sets, sets[3]), 1);
  EXPECT_EQ(CountSetsThatMeet(sets, Processors({0, 4, 6, 1023})), 4);
}

/// All ranks of the tests are on one node.
TEST(RanksOfANode, KnowHowManyMayRunOnTheirProcessors) {
  TestGroup test;
  auto& communicator = test.group.communicator();
  const OddRanksOnOneProcessor own;
  const auto topology = FindTopology(communicator, Nodes::kReal);
  const auto share = FindProcessorShare(communicator, topology);
  const auto sets = AllgatherValues(communicator, own.now());
  const auto overlapping = std::ranges::count_if(sets, [&](const cpu_set_t& set) {
    for (int i = 0; i < CPU_SETSIZE; ++i) {
      if (CPU_ISSET(i, &set) && CPU_ISSET(i, &own.now())) return true;
    }
    return false;
  });
  EXPECT_EQ(share.processors, CPU_COUNT(&own.now()));
  EXPECT_EQ(share.ranks_on_them, overlapping);
  EXPECT_EQ(share.ranks_in_quota, Ranks());
}

TEST(ThreadsOfAJob, AreLimitedByItsShareOfTheNode) {
  TestGroup test;
  auto& communicator = test.group.communicator();
  auto share = FindProcessorShare(communicator, FindTopology(communicator, Nodes::kReal));
  share.quota = ProcessorQuota();
  EXPECT_EQ(job->memory().threads.most(), MostCombineThreads(share));
}

TEST(ThreadsOfAJob, AreLimitedByTheQuotaToo) {
  CombineThreads threads;
  ProcessorShare share{.processors = 64, .ranks_on_them = 2, .ranks_in_quota = 2};
  LimitByShare(threads, share);
  share.quota = ProcessorQuota();
  EXPECT_EQ(threads.most(), MostCombineThreads(share));
}

std::atomic<int> helpers_started{0};
std::thread CountedHelper(std::function<void()> serve) {
  ++helpers_started;
  return StartCombineThread(std::move(serve));
}

TEST(ThreadsOfAGroup, AreMeasuredWithTheFirstMessageFromAGpu) {
  Watch watch{WatchSettings()};
  const Waiter waiter(watch, Waiter::Manner::kForeground, true);
  ProcessMemory memory{SharedPool(INT64_MAX, {}), {}, {}, CombineThreads(CountedHelper)};
  memory.threads.Limit([] { return 3; });
  helpers_started = 0;
  Group group(Communicator::OfJob(MPI_COMM_WORLD, waiter), PretendedTopology(0), memory);
  EXPECT_EQ(helpers_started, 0);
  auto* threads = group.ThreadsForGpus();
  if (Ranks() == 1) {
    EXPECT_EQ(threads, nullptr);
    EXPECT_EQ(helpers_started, 0);
    return;
  }
  EXPECT_EQ(threads, &memory.threads);
  EXPECT_GE(helpers_started, 1) << "two threads were not tried";
  EXPECT_LE(memory.threads.number(), 3);
}

}  // namespace
}  // namespace slipway::test
