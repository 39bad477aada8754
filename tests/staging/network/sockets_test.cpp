// How many nodes a listener holds that nobody has accepted yet.

#include "staging/network/sockets.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <vector>

#include "core/files.h"

namespace slipway::staging {
namespace {

constexpr auto kPatienceMs = 20'000;

std::uint16_t PortOf(int listener) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  EXPECT_EQ(::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), 0);
  return ntohs(address.sin_port);
}

bool IsConnected(int fd) {
  pollfd waiting{fd, POLLOUT, 0};
  return ::poll(&waiting, 1, kPatienceMs) == 1 && ConnectResult(fd) == 0;
}

TEST(ListenOn, HoldsManyThatConnectAtOnce) {
  constexpr std::size_t kNodes = 120;
  if (std::stoul(ReadFile("/proc/sys/net/core/somaxconn")) < kNodes) GTEST_SKIP() << "this kernel holds fewer";
  const auto listeners = ListenOn({"127.0.0.1", 0});
  ASSERT_FALSE(listeners.empty());
  const auto addresses = Resolve({"127.0.0.1", PortOf(listeners.front().get())});
  ASSERT_FALSE(addresses.empty());
  std::vector<UniqueFd> nodes;
  for (std::size_t i = 0; i < kNodes; ++i) nodes.push_back(StartConnect(addresses.front()));
  for (std::size_t i = 0; i < kNodes; ++i) {
    ASSERT_TRUE(nodes[i]) << i;
    ASSERT_TRUE(IsConnected(nodes[i].get())) << i;
  }
}

}  // namespace
}  // namespace slipway::staging
