#include "core/interrupt.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <optional>

namespace slipway {
namespace {

TEST(HeldInterrupts, WaitForAnInterruptThatIsMadeLater) {
  const HeldInterrupts held;
  EXPECT_FALSE(held.IsPending());
  ::kill(::getpid(), SIGTERM);
  EXPECT_TRUE(held.IsPending());
  EventLoop loop;
  const Interrupt interrupt(loop);
  EXPECT_FALSE(interrupt.asked());
  loop.RunOnce();
  EXPECT_TRUE(interrupt.asked());
  EXPECT_FALSE(held.IsPending());
}

TEST(HeldInterrupts, EndTheProcessWhenNoInterruptHasTakenThem) {
  const auto child = ::fork();
  if (child == 0) {
    std::optional<HeldInterrupts> held(std::in_place);
    ::kill(::getpid(), SIGINT);
    held.reset();
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGINT);
}

TEST(HeldInterrupts, AreNotPendingWhenTheyAreIgnored) {
  const auto before = ::signal(SIGHUP, SIG_IGN);
  {
    const HeldInterrupts held;
    ::kill(::getpid(), SIGHUP);
    EXPECT_FALSE(held.IsPending());
  }
  ::signal(SIGHUP, before);
}

}  // namespace
}  // namespace slipway
