#include "core/event_loop.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include "core/files.h"
#include "core/process.h"

namespace slipway {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

struct Pipe {
  UniqueFd read;
  UniqueFd write;

  Pipe() {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    read.Reset(ends[0]);
    write.Reset(ends[1]);
  }
  void Put() { WriteAll(write.get(), "x", "pipe"); }
  void Take() {
    char byte;
    EXPECT_EQ(::read(read.get(), &byte, 1), 1);
  }
};

TEST(EventLoop, ServesADescriptorUntilItIsForgotten) {
  EventLoop loop;
  Pipe pipe;
  int served = 0;
  loop.OnReadable(pipe.read.get(), [&] {
    pipe.Take();
    ++served;
  });
  pipe.Put();
  loop.RunOnce(1s);
  EXPECT_EQ(served, 1);
  loop.RunOnce(1ms);
  EXPECT_EQ(served, 1);
  pipe.Put();
  loop.Forget(pipe.read.get());
  loop.RunOnce(1ms);
  EXPECT_EQ(served, 1);
}

TEST(EventLoop, ServesTheEndOfAPipe) {
  EventLoop loop;
  Pipe pipe;
  bool ended = false;
  loop.OnReadable(pipe.read.get(), [&] { ended = true; });
  pipe.write.Reset();
  loop.RunOnce(1s);
  EXPECT_TRUE(ended);
}

TEST(EventLoop, ForgetInsideACallbackHoldsForTheSameRound) {
  EventLoop loop;
  Pipe one, two;
  int served = 0;
  const auto forget_both = [&] {
    ++served;
    loop.Forget(one.read.get());
    loop.Forget(two.read.get());
  };
  loop.OnReadable(one.read.get(), forget_both);
  loop.OnReadable(two.read.get(), forget_both);
  one.Put();
  two.Put();
  loop.RunOnce(1s);
  loop.RunOnce(1ms);
  EXPECT_EQ(served, 1);
}

TEST(EventLoop, ANumberThatIsReusedInACallbackGetsNoOldEvent) {
  EventLoop loop;
  Pipe one, two, quiet;
  int wrong = 0;
  const auto replace = [&](Pipe& other) {
    const int number = other.read.get();
    loop.Forget(number);
    ASSERT_EQ(::dup2(quiet.read.get(), number), number);
    loop.OnReadable(number, [&] { ++wrong; });
  };
  int served = 0;
  loop.OnReadable(one.read.get(), [&] { loop.Forget(one.read.get()), ++served, served == 1 ? replace(two) : void(); });
  loop.OnReadable(two.read.get(), [&] { loop.Forget(two.read.get()), ++served, served == 1 ? replace(one) : void(); });
  one.Put();
  two.Put();
  loop.RunOnce(1s);
  loop.RunOnce(1ms);
  EXPECT_EQ(served, 1);
  EXPECT_EQ(wrong, 0);
}

TEST(EventLoop, TimersRunInOrderOnceAndNotEarly) {
  EventLoop loop;
  std::vector<int> order;
  const auto start = SystemClock().Steady();
  loop.After(20ms, [&] {
    order.push_back(2);
    EXPECT_GE(SystemClock().Steady() - start, 20ms);
  });
  loop.After(1ms, [&] { order.push_back(1); });
  while (order.size() < 2) loop.RunOnce(1s);
  loop.RunOnce(1ms);
  EXPECT_THAT(order, ElementsAre(1, 2));
}

TEST(EventLoop, TimersThatAreDueTogetherRunByTheirTimeNotByTheirNumber) {
  EventLoop loop;
  std::vector<int> order;
  loop.After(3ms, [&] { order.push_back(2); });
  loop.After(1ms, [&] { order.push_back(1); });
  SystemClock().Sleep(5ms);
  loop.RunOnce(1s);
  EXPECT_THAT(order, ElementsAre(1, 2));
}

TEST(EventLoop, ACancelledTimerDoesNotRunNotEvenInTheSameRound) {
  EventLoop loop;
  int ran = 0;
  EventLoop::TimerId second = 0;
  loop.After(1ms, [&] {
    ++ran;
    loop.Cancel(second);
  });
  second = loop.After(1ms, [&] { ++ran; });
  SystemClock().Sleep(5ms);
  loop.RunOnce(1s);
  loop.RunOnce(1ms);
  EXPECT_EQ(ran, 1);
}

TEST(EventLoop, WaitsNoLongerThanItsLimit) {
  EventLoop loop;
  const auto start = SystemClock().Steady();
  loop.RunOnce(30ms);
  const auto took = SystemClock().Steady() - start;
  EXPECT_GE(took, 29ms);
  EXPECT_LT(took, 30s);
}

TEST(EventLoop, DeliversSignalsInTheLoopAndRestoresTheMask) {
  sigset_t before, after;
  sigprocmask(SIG_SETMASK, nullptr, &before);
  std::vector<int> seen;
  {
    EventLoop loop;
    loop.OnSignals({SIGUSR1}, [&](int signal) { seen.push_back(signal); });
    loop.OnSignals({SIGUSR2}, [&](int signal) { seen.push_back(-signal); });
    ::kill(::getpid(), SIGUSR1);
    ::kill(::getpid(), SIGUSR2);
    for (int i = 0; i < 4 && seen.size() < 2; ++i) loop.RunOnce(100ms);
  }
  EXPECT_THAT(seen, testing::UnorderedElementsAre(SIGUSR1, -SIGUSR2));
  sigprocmask(SIG_SETMASK, nullptr, &after);
  EXPECT_EQ(sigismember(&after, SIGUSR1), sigismember(&before, SIGUSR1));
  EXPECT_EQ(sigismember(&after, SIGUSR2), sigismember(&before, SIGUSR2));
}

TEST(EventLoop, SeesTheEndOfAChildAtOnce) {
  EventLoop loop;
  auto child = ChildProcess::Spawn({.argv = {"/bin/sh", "-c", "exit 5"}});
  std::optional<ExitStatus> status;
  loop.OnReadable(child.pidfd(), [&] {
    status = child.TryWait();
    loop.Forget(child.pidfd());
  });
  loop.RunOnce(10s);
  EXPECT_EQ(status, (ExitStatus{5, 0}));
}

}  // namespace
}  // namespace slipway
