#include "launcher/run/context/gpu_hold.h"

#include <gmock/gmock.h>

#include "core/error.h"
#include "tests/support/temp_directory.h"

namespace slipway::launcher {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class HeldGpus : public testing::Test {
 protected:
  GpuHold Hold(const std::string& names, int least, int most, const std::string& holder = "run a") const {
    Environment environment;
    environment.Set("CUDA_VISIBLE_DEVICES", names);
    return {folder_.path(), DevicesNamedIn(environment), least, most, holder};
  }
  test::TempDirectory folder_;
};

TEST_F(HeldGpus, AreTheFirstThatNoOtherHolds) {
  const auto first = Hold("0,1,2", 1, 1);
  const auto second = Hold("0,1,2", 1, 9);
  EXPECT_THAT(first.devices().names(), ElementsAre("0"));
  EXPECT_THAT(second.devices().names(), ElementsAre("1", "2"));
  EXPECT_THAT(Hold("0,1", 0, 2).devices().names(), IsEmpty());
}

TEST_F(HeldGpus, AreFreeAgainAfterTheirHolder) {
  { const auto first = Hold("0", 1, 1); }
  EXPECT_THAT(Hold("0", 1, 1).devices().names(), ElementsAre("0"));
}

TEST_F(HeldGpus, NameTheirHolderWhereTooFewAreFree) {
  const auto first = Hold("GPU-11,GPU-22", 1, 1, "run twins-3");
  try {
    Hold("GPU-11,GPU-22", 2, 2);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kEnvironment);
    EXPECT_THAT(error.message(), HasSubstr("2 GPUs are needed, and 1 free: GPU-11 is held by run twins-3"));
  }
  EXPECT_THAT(Hold("GPU-22", 1, 1).devices().names(), ElementsAre("GPU-22")) << "an error keeps none";
}

}  // namespace
}  // namespace slipway::launcher
