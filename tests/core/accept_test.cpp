#include "core/accept.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <vector>

#include "core/clock.h"
#include "tests/support/few_descriptors.h"

namespace slipway {
namespace {

using namespace std::chrono_literals;

/// A socket that listens at an address which the kernel picks, and its visitors.
class Entrance {
 public:
  Entrance() : listener_(NewSocket()) {
    sockaddr_un any{};
    any.sun_family = AF_UNIX;
    EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&any), sizeof any.sun_family), 0);
    EXPECT_EQ(::listen(listener_.get(), 8), 0);
  }

  int fd() const { return listener_.get(); }

  UniqueFd Visit() const {
    sockaddr_un address{};
    socklen_t size = sizeof address;
    EXPECT_EQ(::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
    auto visitor = NewSocket();
    EXPECT_EQ(::connect(visitor.get(), reinterpret_cast<const sockaddr*>(&address), size), 0);
    return visitor;
  }

 private:
  static UniqueFd NewSocket() { return UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)); }

  UniqueFd listener_;
};

TEST(AcceptWatch, GivesEachConnectionAndClosesItOnExec) {
  EventLoop loop;
  const Entrance entrance;
  std::vector<UniqueFd> arrived;
  const AcceptWatch watch(loop, entrance.fd(), SOCK_NONBLOCK,
                          [&](UniqueFd connection) { arrived.push_back(std::move(connection)); });
  const auto first = entrance.Visit();
  const auto second = entrance.Visit();
  while (arrived.size() < 2) loop.RunOnce(10s);
  for (const auto& each : arrived) {
    EXPECT_TRUE(::fcntl(each.get(), F_GETFD) & FD_CLOEXEC);
    EXPECT_TRUE(::fcntl(each.get(), F_GETFL) & O_NONBLOCK);
  }
}

TEST(AcceptWatch, RestsWhileNoDescriptorIsFreeAndThenLetsTheConnectionIn) {
  EventLoop loop;
  const Entrance entrance;
  const auto visitor = entrance.Visit();
  UniqueFd arrived;
  const AcceptWatch watch(loop, entrance.fd(), 0, [&](UniqueFd connection) { arrived = std::move(connection); });
  {
    const test::NoDescriptors none;
    const auto start = SystemClock().Steady();
    loop.RunOnce(10s);  // fails
    loop.RunOnce(10s);  // the pause
    EXPECT_GE(SystemClock().Steady() - start, kAcceptPause);
    EXPECT_FALSE(arrived);
  }
  const auto deadline = SystemClock().Steady() + 30s;
  while (!arrived && SystemClock().Steady() < deadline) loop.RunOnce(1s);
  EXPECT_TRUE(arrived);
}

TEST(AcceptWatch, ThatEndsDuringItsPauseLeavesNothingInTheLoop) {
  EventLoop loop;
  const Entrance entrance;
  const auto visitor = entrance.Visit();
  bool arrived = false;
  {
    const test::NoDescriptors none;
    const AcceptWatch watch(loop, entrance.fd(), 0, [&](const UniqueFd&) { arrived = true; });
    loop.RunOnce(10s);
  }
  const auto start = SystemClock().Steady();
  loop.RunOnce(2 * kAcceptPause);
  EXPECT_GE(SystemClock().Steady() - start, 2 * kAcceptPause) << "a timer was left";
  EXPECT_FALSE(arrived);
}

}  // namespace
}  // namespace slipway
