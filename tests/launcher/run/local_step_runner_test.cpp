#include "launcher/run/workflow/local_step_runner.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <thread>

#include "tests/support/temp_directory.h"

namespace slipway::launcher {
namespace {

/// One step that is a shell script in a folder of its own.
class StoppedStep : public testing::Test {
 protected:
  StoppedStep() : runner_(loop_, MachineResources{.cpus = 1, .devices = {}, .memory = {}}) {
    runner_.on_end = [this](const StepEnd& end) { end_ = end; };
  }

  ProcessIdentity Start(const std::string& script) {
    StepLaunch launch;
    launch.argv = {"sh", "-c", script};
    launch.environment = Environment::Inherited();
    launch.directory = directory_.path();
    launch.log = directory_.path() / "log";
    return runner_.Start(launch, {});
  }

  StepEnd RunToEnd() {
    while (!end_) loop_.RunOnce(std::chrono::seconds(1));
    return *end_;
  }

  test::TempDirectory directory_;
  EventLoop loop_;
  LocalStepRunner runner_;
  std::optional<StepEnd> end_;
};

TEST_F(StoppedStep, WasStoppedAlsoWhenItExitsWithSuccess) {
  Start("trap 'exit 0' TERM; touch began; while :; do sleep 0.01; done");
  while (!std::filesystem::exists(directory_.path() / "began"))
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  runner_.Stop(0);
  const auto end = RunToEnd();
  EXPECT_TRUE(end.status.Success());
  EXPECT_TRUE(end.stopped);
  EXPECT_FALSE(end.timed_out);
}

TEST_F(StoppedStep, WasNotStoppedByARequestThatCameAfterItsEnd) {
  const auto program = Start("exit 0");
  while (IsAlive(program)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  runner_.Stop(0);  // the loop has not seen the end
  const auto end = RunToEnd();
  EXPECT_TRUE(end.status.Success());
  EXPECT_FALSE(end.stopped);
}

TEST(WhyAloneOn, NamesWhatTheMachineLacks) {
  const MachineResources machine{.cpus = 1, .devices = {}, .memory = Bytes{1000}, .all_memory = Bytes{4000}};
  EXPECT_EQ(WhyAloneOn(machine, {.cpus = 1, .gpus = {}, .memory = Bytes{4000}}), "");
  EXPECT_EQ(WhyAloneOn(machine, {.cpus = 9, .gpus = {}, .memory = Bytes{4000}}),
            "it asks for 9 cores, and this machine has 1");
  EXPECT_EQ(WhyAloneOn(machine, {.cpus = 1, .gpus = {}, .memory = Bytes{5000}}),
            "it asks for 5.00 kB of memory, and this machine has 4.00 kB");
}

}  // namespace
}  // namespace slipway::launcher
