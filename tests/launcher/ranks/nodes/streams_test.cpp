#include "launcher/ranks/nodes/streams.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "core/error.h"

namespace slipway::launcher {
namespace {

/// Two ends of streams that are joined by calls instead of a link.
struct JoinedEnds {
  EventLoop loop;
  Streams left{
      loop, [this](NodeFrame kind, std::uint32_t stream, std::string_view bytes) { Give(right, kind, stream, bytes); }};
  Streams right{
      loop, [this](NodeFrame kind, std::uint32_t stream, std::string_view bytes) { Give(left, kind, stream, bytes); }};

  static void Give(Streams& end, NodeFrame kind, std::uint32_t stream, std::string_view bytes) {
    if (kind == NodeFrame::kData) end.TakeData(stream, bytes);
    if (kind == NodeFrame::kClose) end.TakeClose(stream);
  }

  /// The outer ends of a new stream.
  std::pair<UniqueFd, UniqueFd> Open(std::uint32_t stream) {
    auto at_left = Pair();
    auto at_right = Pair();
    left.Add(stream, std::move(at_left.second));
    right.Add(stream, std::move(at_right.second));
    return {std::move(at_left.first), std::move(at_right.first)};
  }

  static std::pair<UniqueFd, UniqueFd> Pair() {
    int ends[2];
    CheckErrno(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), "socketpair");
    return {UniqueFd(ends[0]), UniqueFd(ends[1])};
  }

  void Settle() {
    for (int i = 0; i < 20; ++i) loop.RunOnce(std::chrono::milliseconds(2));
  }
};

std::string Read(const UniqueFd& fd, std::size_t most = 1 << 20) {
  std::string text(most, '\0');
  const auto count = ::recv(fd.get(), text.data(), text.size(), MSG_DONTWAIT);
  text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  return text;
}

bool AtEnd(const UniqueFd& fd) {
  char byte = 0;
  return ::recv(fd.get(), &byte, 1, MSG_DONTWAIT) == 0;
}

TEST(Streams, CarryBothDirectionsApartFromOtherStreams) {
  JoinedEnds ends;
  const auto [a, b] = ends.Open(2);
  const auto [c, d] = ends.Open(3);
  ::send(a.get(), "hello", 5, 0);
  ::send(d.get(), "back", 4, 0);
  ends.Settle();
  EXPECT_EQ(Read(b), "hello");
  EXPECT_EQ(Read(c), "back");
  EXPECT_EQ(Read(a), "");
}

TEST(Streams, EndAtTheOtherSideAfterTheLastBytes) {
  JoinedEnds ends;
  auto [a, b] = ends.Open(2);
  ::send(a.get(), "last words", 10, 0);
  a.Reset();
  ends.Settle();
  EXPECT_EQ(Read(b), "last words");
  EXPECT_TRUE(AtEnd(b));
  EXPECT_TRUE(ends.left.empty());
  EXPECT_TRUE(ends.right.empty());
}

TEST(Streams, KeepWhatASlowReaderHasNotTakenUntilItHas) {
  JoinedEnds ends;
  auto [a, b] = ends.Open(2);
  const std::string much(3 << 20, 'x');
  std::size_t sent = 0;
  while (sent < much.size()) {
    const auto count = ::send(a.get(), much.data() + sent, much.size() - sent, MSG_DONTWAIT);
    if (count > 0) sent += static_cast<std::size_t>(count);
    ends.loop.RunOnce(std::chrono::milliseconds(1));
  }
  a.Reset();
  std::size_t received = 0;
  for (int i = 0; i < 5000 && received < much.size(); ++i) {
    ends.loop.RunOnce(std::chrono::milliseconds(1));
    received += Read(b).size();
  }
  EXPECT_EQ(received, much.size());
  ends.Settle();
  EXPECT_TRUE(AtEnd(b));
}

TEST(Streams, DropWhatComesForOneThatHasEnded) {
  JoinedEnds ends;
  ends.left.TakeData(8, "nobody");
  ends.left.TakeClose(8);
  EXPECT_TRUE(ends.left.empty());
}

}  // namespace
}  // namespace slipway::launcher
