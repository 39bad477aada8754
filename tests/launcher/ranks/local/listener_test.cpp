#include "launcher/ranks/local/listener.h"

#include <gtest/gtest.h>

#include "core/clock.h"
#include "core/install.h"
#include "core/process.h"
#include "tests/support/temp_directory.h"

namespace slipway::launcher {
namespace {

ChildProcess StartShim(const std::filesystem::path& door, const std::filesystem::path& logs) {
  SpawnOptions options;
  options.argv = {HelperProgram("slipway-rank"), "--log-dir", logs, "--channel-path", door, "--", "true"};
  return ChildProcess::Spawn(options);
}

TEST(Listener, ThatIsOpenedLaterThanAShimComesLetsItIn) {
  const test::TempDirectory folder;
  EventLoop loop;
  auto shim = StartShim(folder / "door", folder.path());
  EXPECT_FALSE(shim.WaitFor(std::chrono::milliseconds(200))) << "it waits";
  UniqueFd arrived;
  const Listener door(loop, folder / "door", [&](UniqueFd socket) { arrived = std::move(socket); });
  const auto deadline = SystemClock().Steady() + std::chrono::seconds(30);
  while (!arrived && SystemClock().Steady() < deadline) loop.RunOnce(std::chrono::milliseconds(20));
  EXPECT_TRUE(arrived);
}

TEST(Listener, ThatIsShutTurnsAShimAwayAtOnce) {
  const test::TempDirectory folder;
  std::filesystem::path path = folder / "door";
  {
    EventLoop loop;
    const Listener door(loop, path, [](UniqueFd) {});
    std::filesystem::create_hard_link(path, folder / "kept");
  }
  auto shim = StartShim(folder / "kept", folder.path());
  const auto status = shim.WaitFor(std::chrono::milliseconds(4500));  // it waits 5 s where nobody is
  ASSERT_TRUE(status);
  EXPECT_EQ(status->code, 76);
}

}  // namespace
}  // namespace slipway::launcher
