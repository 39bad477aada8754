#include "launcher/attempt/device_sharing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace slipway::launcher {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Key;
using testing::Pair;

NodeDevices Devices(const char* list) {
  Environment environment;
  environment.Set("CUDA_VISIBLE_DEVICES", list);
  return DevicesNamedIn(environment);
}

Spec With(int gpus_per_rank, Bind bind = Bind::kAuto) {
  Spec spec;
  spec.launch.gpus_per_rank = gpus_per_rank;
  spec.launch.bind = bind;
  return spec;
}

auto Sees(const char* list) { return ElementsAre(Pair("CUDA_VISIBLE_DEVICES", list)); }

TEST(DeviceSharing, GivesEachRankItsOwnAndNoneMore) {
  const auto sharing = ShareDevices(With(2), {{0, "n1", Devices("0,1,2,3,4,5,6,7"), 2}, {1, "n2", Devices("4,5"), 1}});
  EXPECT_THAT(sharing.devices_of,
              ElementsAre(Pair(0, ElementsAre(Sees("0,1"), Sees("2,3"))), Pair(1, ElementsAre(Sees("4,5")))));
  EXPECT_EQ(sharing.why_not, "");
}

TEST(DeviceSharing, ShowsAllToAllWhereTheUserSaysSo) {
  const auto sharing = ShareDevices(With(1, Bind::kNone), {{0, "n1", Devices("6,7"), 2}});
  EXPECT_THAT(sharing.devices_of, ElementsAre(Pair(0, ElementsAre(Sees("6,7"), Sees("6,7")))));
}

TEST(DeviceSharing, ShowsThoseOfTheNodeToTrialsThatAskForNone) {
  EXPECT_THAT(ShareDevices(With(0), {{0, "n1", Devices("6,7"), 1}}).devices_of,
              ElementsAre(Pair(0, ElementsAre(Sees("6,7")))));
  EXPECT_THAT(ShareDevices(With(0), {{0, "n1", {}, 1}}).devices_of, IsEmpty());
}

TEST(DeviceSharing, LeavesNodesThatHaveTooFewAndNamesTheFirst) {
  const auto sharing =
      ShareDevices(With(1), {{0, "n1", Devices("0"), 2}, {1, "n2", Devices("0,1"), 2}, {2, "n3", {}, 2}});
  EXPECT_THAT(sharing.devices_of, ElementsAre(Key(1)));
  EXPECT_EQ(sharing.why_not,
            "ranks have no GPUs of their own: n1 needs 2 for its ranks, and has 1 (CUDA_VISIBLE_DEVICES=0)");
}

}  // namespace
}  // namespace slipway::launcher
