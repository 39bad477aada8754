#include "launcher/workflow/graph.h"

#include <gmock/gmock.h>

namespace slipway::launcher {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Graph, OrdersStepsAsInTheFileWhereNothingElseIsNeeded) {
  EXPECT_THAT(OrderOf({{2}, {}, {1}, {}}).order, ElementsAre(1, 2, 0, 3));
}

TEST(Graph, FindsOneCycleAndOrdersTheRest) {
  const auto [order, cycle] = OrderOf({{1}, {2}, {1}, {}});
  EXPECT_THAT(order, ElementsAre(3));
  EXPECT_THAT(cycle, ElementsAre(1, 2));
  EXPECT_THAT(OrderOf({{0}}).cycle, ElementsAre(0));
  EXPECT_THAT(OrderOf({{}, {0}}).cycle, IsEmpty());
}

}  // namespace
}  // namespace slipway::launcher
