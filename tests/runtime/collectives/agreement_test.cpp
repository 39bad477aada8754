// Errors of one rank that become errors of all.

#include "runtime/group/agreement.h"

#include <gtest/gtest.h>

#include <string>

#include "runtime/status.h"
#include "tests/runtime/collectives/groups.h"

namespace slipway::test {
namespace {

using namespace slipway::runtime;

TEST(Agreement, OfAnotherVersionOnOneRankIsAMismatchOnAll) {
  TestGroup test;
  auto& communicator = test.group.communicator();
  EXPECT_NO_THROW(RequireSameVersion(communicator, "1.2.3"));
  const int last = communicator.size() - 1;
  if (last == 0) GTEST_SKIP() << "needs other ranks";
  try {
    RequireSameVersion(communicator, communicator.rank() == last ? "1.2.4" : "1.2.3");
    FAIL() << "taken";
  } catch (const RuntimeError& error) {
    EXPECT_EQ(error.status(), SLIPWAY_ERROR_MISMATCH);
    EXPECT_EQ(std::string(error.what()), "rank " + std::to_string(last) +
                                             ": libslipway here is of version 1.2.4, that of rank 0 of version 1.2.3: "
                                             "start all ranks with the same installation");
  }
  EXPECT_NO_THROW(RequireSameVersion(communicator, "1.2.3"));
}

/// It has given up: whoever it waits for would be named twice, and the ranks could seem to be together.
TEST(Agreement, IsNotSoughtByARankThatIsParted) {
  TestGroup test;
  const auto alone = Communicator::Alone(test.waiter());
  EXPECT_THROW(OnAllRanks(*alone, [] { throw PartedError(SLIPWAY_ERROR_STALLED, "a rank is dead"); }), PartedError);
  EXPECT_THROW(OnAllRanks(*alone, [] { throw RuntimeError(SLIPWAY_ERROR_IO, "no file"); }), RuntimeError);
}

}  // namespace
}  // namespace slipway::test
