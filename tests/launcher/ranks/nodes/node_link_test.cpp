#include "launcher/ranks/nodes/node_link.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <memory>
#include <utility>
#include <vector>

#include "core/error.h"
#include "tests/support/run_until.h"

namespace slipway::launcher {
namespace {

using staging::Digest;
using staging::GroupKey;

GroupKey Key(std::uint8_t byte) {
  Digest bytes{};
  bytes.fill(byte);
  return GroupKey(bytes);
}

struct End {
  std::vector<NodeMessage> heard;
  int held = 0;
  std::string reason;
  std::unique_ptr<NodeLink> link;
};

/// A link whose other end is a bare socket, or another link.
class NodeLinks : public testing::Test {
 protected:
  NodeLinks() {
    int ends[2];
    CheckErrno(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), "socketpair");
    left_socket_ = UniqueFd(ends[0]);
    right_socket_ = UniqueFd(ends[1]);
  }

  void Link(End& end, UniqueFd socket, const GroupKey& send, const GroupKey& receive,
            NodePatience patience = {std::chrono::seconds(60)}) {
    end.link = std::make_unique<NodeLink>(
        loop_, NodeConnection{std::move(socket), send, receive}, patience,
        NodeLink::Events{.on_message = [&end](const NodeMessage& message) { end.heard.push_back(message); },
                         .on_held = [&end] { ++end.held; },
                         .on_end = [&end](const std::string& reason) { end.reason = reason; }});
  }

  void LinkBoth() {
    Link(left_, std::move(left_socket_), Key(1), Key(2));
    Link(right_, std::move(right_socket_), Key(2), Key(1));
  }

  void RunFor(int steps) {
    for (int i = 0; i < steps; ++i) loop_.RunOnce(std::chrono::milliseconds(5));
  }

  EventLoop loop_;
  UniqueFd left_socket_;
  UniqueFd right_socket_;
  End left_;
  End right_;
};

TEST_F(NodeLinks, CarryMessagesInOrder) {
  LinkBoth();
  left_.link->Send(NodeFrame::kOpen, 0, "listener-1");
  left_.link->Send(NodeFrame::kData, 7, std::string("a\0b", 3));
  RunFor(5);
  ASSERT_EQ(right_.heard.size(), 2u);
  EXPECT_EQ(right_.heard[0].kind, NodeFrame::kOpen);
  EXPECT_EQ(right_.heard[0].payload, "listener-1");
  EXPECT_EQ(right_.heard[1].stream, 7u);
  EXPECT_EQ(right_.heard[1].payload, std::string("a\0b", 3));
}

TEST_F(NodeLinks, SplitWhatIsTooLongForAFrame) {
  LinkBoth();
  const std::string much(kLongestNodePayload * 2 + 5, 'x');
  left_.link->Send(NodeFrame::kData, 3, much);
  RunFor(200);
  std::string together;
  for (const auto& message : right_.heard) together += message.payload;
  EXPECT_EQ(right_.heard.size(), 3u);
  EXPECT_EQ(together, much);
}

TEST_F(NodeLinks, EndWhenTheOtherSideIsGone) {
  LinkBoth();
  right_.link.reset();
  RunFor(3);
  EXPECT_EQ(left_.reason, "its connection closed");
}

TEST_F(NodeLinks, EndWhenTheOtherSideHasAnotherKey) {
  Link(left_, std::move(left_socket_), Key(1), Key(2));
  Link(right_, std::move(right_socket_), Key(9), Key(1));
  right_.link->Send(NodeFrame::kOpen, 0, "listener-1");
  RunFor(3);
  EXPECT_TRUE(left_.heard.empty());
  EXPECT_NE(left_.reason.find("does not prove"), std::string::npos) << left_.reason;
}

/// What goes over the wire when `kind` is sent once with these keys.
std::string Recorded(NodeFrame kind, std::string_view payload) {
  EventLoop loop;
  int ends[2];
  CheckErrno(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), "socketpair");
  const UniqueFd other(ends[1]);
  NodeLink link(loop, {UniqueFd(ends[0]), Key(2), Key(1)}, {std::chrono::seconds(60)},
                {.on_message = [](const auto&) {}, .on_end = [](const auto&) {}});
  link.Send(kind, 0, payload);
  std::string bytes(4096, '\0');
  bytes.resize(static_cast<std::size_t>(::recv(other.get(), bytes.data(), bytes.size(), 0)));
  return bytes;
}

TEST_F(NodeLinks, RefuseAFrameThatComesASecondTime) {
  Link(left_, std::move(left_socket_), Key(1), Key(2));
  const auto frame = Recorded(NodeFrame::kEndGroup, "4711");
  ::send(right_socket_.get(), frame.data(), frame.size(), 0);
  RunFor(2);
  ASSERT_EQ(left_.heard.size(), 1u);
  ::send(right_socket_.get(), frame.data(), frame.size(), 0);
  RunFor(2);
  EXPECT_EQ(left_.heard.size(), 1u);
  EXPECT_NE(left_.reason.find("does not prove"), std::string::npos) << left_.reason;
}

TEST_F(NodeLinks, RefuseEveryChangedByte) {
  const auto frame = Recorded(NodeFrame::kOpen, "listener-1");
  for (std::size_t at = 0; at < frame.size(); ++at) {
    int ends[2];
    CheckErrno(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), "socketpair");
    const UniqueFd other(ends[1]);
    End end;
    Link(end, UniqueFd(ends[0]), Key(1), Key(2));
    auto changed = frame;
    changed[at] = static_cast<char>(changed[at] ^ 0x40);
    ::send(other.get(), changed.data(), changed.size(), 0);
    RunFor(1);
    EXPECT_TRUE(end.heard.empty()) << "byte " << at;
  }
}

TEST_F(NodeLinks, EndAfterSilenceThatIsTooLong) {
  Link(left_, std::move(left_socket_), Key(1), Key(2), {std::chrono::seconds(2), std::chrono::seconds(50)});
  test::RunUntil(loop_, [&] { return !left_.reason.empty(); });
  EXPECT_EQ(left_.reason, "no sign of life for 2 s");
  EXPECT_EQ(left_.held, 0);
}

/// Two ends whose kernel acknowledges what arrives, read or not.
std::pair<UniqueFd, UniqueFd> ConnectedByTcp() {
  const UniqueFd listener(CheckErrno(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket"));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof address;
  CheckErrno(::bind(listener.get(), generic, size), "bind");
  CheckErrno(::listen(listener.get(), 1), "listen");
  CheckErrno(::getsockname(listener.get(), generic, &size), "getsockname");
  UniqueFd left(CheckErrno(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket"));
  CheckErrno(::connect(left.get(), generic, size), "connect");
  return {std::move(left), UniqueFd(CheckErrno(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC), "accept"))};
}

TEST_F(NodeLinks, EndAfterALongerSilenceWhenTheKernelOfTheOtherSideAnswers) {
  auto [left, right] = ConnectedByTcp();
  Link(left_, std::move(left), Key(1), Key(2), {std::chrono::seconds(2), std::chrono::seconds(4)});
  test::RunUntil(loop_, [&] { return !left_.reason.empty(); });
  EXPECT_EQ(left_.reason, "no sign of life of its agent for 4 s, though its kernel answers");
  EXPECT_EQ(left_.held, 1);
}

TEST_F(NodeLinks, EndAtOnceWhenAHeldSideIsGivenUp) {
  auto [left, right] = ConnectedByTcp();
  Link(left_, std::move(left), Key(1), Key(2), {std::chrono::seconds(2), std::chrono::seconds(3600)});
  left_.link->EndIfHeld();
  EXPECT_EQ(left_.reason, "") << "it has not been silent yet";
  test::RunUntil(loop_, [&] { return left_.held == 1; });
  left_.link->EndIfHeld();
  EXPECT_EQ(left_.reason, "no sign of life of its agent for 2 s, though its kernel answers");
}

TEST_F(NodeLinks, GoOnWhenASideThatWasHeldSpeaksAgain) {
  auto [left, right] = ConnectedByTcp();
  Link(left_, std::move(left), Key(1), Key(2), {std::chrono::seconds(2), std::chrono::seconds(50)});
  test::RunUntil(loop_, [&] { return left_.held == 1; });
  Link(right_, std::move(right), Key(2), Key(1));
  right_.link->Send(NodeFrame::kOpen, 0, "listener-1");
  test::RunUntil(loop_, [&] { return !left_.heard.empty(); });
  EXPECT_EQ(left_.heard.size(), 1u);
  EXPECT_EQ(left_.reason, "");
  right_.link.reset();
  test::RunUntil(loop_, [&] { return !left_.reason.empty(); });
  EXPECT_EQ(left_.reason, "its connection closed");
}

TEST_F(NodeLinks, BeatSoThatTheOtherSideIsNotTakenForLost) {
  Link(left_, std::move(left_socket_), Key(1), Key(2), {std::chrono::seconds(2)});
  Link(right_, std::move(right_socket_), Key(2), Key(1), {std::chrono::seconds(2)});
  const auto began = SystemClock().Steady();
  while (SystemClock().Steady() - began < std::chrono::milliseconds(3500)) loop_.RunOnce(std::chrono::milliseconds(50));
  EXPECT_EQ(left_.reason, "");
  EXPECT_TRUE(left_.heard.empty());
}

}  // namespace
}  // namespace slipway::launcher
