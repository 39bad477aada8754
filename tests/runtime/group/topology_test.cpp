// What ranks find out about their node.

#include "runtime/group/topology.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>

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

/// All ranks of the tests are on one node.
TEST(RanksOfANode, KnowHowManyMayRunOnTheSameProcessors) {
  TestGroup test;
  auto& communicator = test.group.communicator();
  const OddRanksOnOneProcessor own;
  const auto topology = FindTopology(communicator, Nodes::kReal);
  const auto sets = AllgatherValues(communicator, own.now());
  const auto same = std::ranges::count_if(sets, [&](const cpu_set_t& set) { return CPU_EQUAL(&set, &own.now()); });
  EXPECT_EQ(topology.ranks_on_same_processors, same);
}

}  // namespace
}  // namespace slipway::test
