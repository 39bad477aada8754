// How nodes find each other, and what they hear of one that leaves early.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <stdexcept>

#include "core/clock.h"
#include "core/error.h"
#include "staging/network/group_state.h"
#include "staging/network/link.h"
#include "staging/network/sockets.h"
#include "tests/staging/network/group_support.h"
#include "tests/support/few_descriptors.h"

namespace slipway::staging {
namespace {

using testing::HasSubstr;

/// `body` where /etc/hosts is `hosts`: in a child with mounts of its own.
bool WithHosts(const std::string& hosts, const std::function<bool()>& body) {
  const TemporaryDirectory directory;
  Put(directory / "hosts", hosts);
  return Succeeded(InChild([&] {
    const auto file = (directory / "hosts").string();
    return ::unshare(CLONE_NEWNS) == 0 && ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
           ::mount(file.c_str(), "/etc/hosts", nullptr, MS_BIND, nullptr) == 0 && body();
  }));
}

class Hosts : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "puts a file in the place of /etc/hosts, which needs root";
  }
};

bool CanConnect(const NodeAddress& address) {
  try {
    return static_cast<bool>(ConnectTo(address));
  } catch (const Error&) {
    return false;
  }
}

TEST_F(Hosts, ANameThatStandsForALoopbackAddressIsReachedByOthers) {
  const auto port = FreePort("127.0.0.1");
  EXPECT_TRUE(WithHosts("127.0.1.1 gpu07\n", [&] {
    const auto listeners = ListenOn({"gpu07", port});
    return CanConnect({"127.0.1.1", port}) && CanConnect({"127.0.0.1", port});
  }));
}

TEST(Joining, GoesThroughSocketsThatListenAlreadyAndThroughTheAddressThatWorks) {
  TestGroup group(2);
  Put(group.source() / "a", std::string(100'000, 'a'));
  std::vector<std::vector<UniqueFd>> listeners;
  for (auto& node : group.groups) listeners.push_back(ListenOn(node.nodes[node.number]));
  for (std::size_t i = 0; i < 2; ++i) {
    auto& own = group.groups[i];
    own.listeners = &listeners[i];
    for (auto& address : own.nodes) {
      address.more = {{address.host, address.port}};
      address.port = FreePort(address.host);  // nobody is there
    }
  }
  for (int round = 0; round < 2; ++round) {  // one group after the other through the same sockets
    for (const auto& result : StageOnAll(group)) EXPECT_EQ(result.error, "");
  }
  EXPECT_TRUE(group.Published(0) && group.Published(1));
}

TEST(Joining, RestsWhileNoDescriptorIsFreeForAVisitor) {
  TestGroup group(2);
  auto& node = group.groups[0];
  const auto listeners = ListenOn(node.nodes[0]);
  node.listeners = &listeners;
  const auto key = GroupKey::Read(node.key_file);
  const auto visitor = ConnectTo(node.nodes[0]);
  const test::NoDescriptors none;
  int turns = 0;
  const auto result =
      JoinRing(node, key, Digest{}, SystemClock().Steady() + std::chrono::seconds(1), [&turns] { ++turns; });
  EXPECT_TRUE(result.failure);
  EXPECT_LT(turns, 100) << "it waits 50 ms in most turns";
}

TEST(Joining, MessagesCallNodesByTheirNames) {
  NodeGroup group;
  group.nodes = {{"10.0.0.1", 4000, {}, "gpu07"}, {"10.0.0.2", 4001}};
  EXPECT_EQ(NodeName(group, 0), "node 0 (gpu07)");
  EXPECT_EQ(NodeName(group, 1), "node 1 (10.0.0.2:4001)");
  EXPECT_EQ(TextOf({"fe80::1", 5}), "[fe80::1]:5");
}

TEST_F(Hosts, ANumberAndLocalhostStandForThemselvesOnly) {
  const auto port = FreePort("127.0.0.1");
  EXPECT_TRUE(WithHosts("127.0.0.1 localhost\n", [&] {
    const auto listeners = ListenOn({"localhost", port});
    return CanConnect({"127.0.0.1", port}) && !CanConnect({"127.0.0.2", port});
  }));
  const auto listeners = ListenOn({"127.0.0.1", port});
  EXPECT_FALSE(CanConnect({"127.0.0.2", port}));
}

/// Node 1 listens on one of the two addresses of its name.
class TwoAddresses : public Hosts, public testing::WithParamInterface<const char*> {};

TEST_P(TwoAddresses, AreBothTried) {
  EXPECT_TRUE(WithHosts("127.0.0.8 gpu08\n127.0.0.9 gpu08\n", [&] {
    TestGroup group(2);
    Put(group.source() / "a", "content");
    const auto port = FreePort(GetParam());
    group.groups[0].nodes[1] = {"gpu08", port};
    group.groups[1].nodes[1] = {GetParam(), port};
    for (const auto& node : StageOnAll(group)) {
      if (!node.staged) return false;
    }
    return Resolve({"gpu08", port}).size() == 2;
  }));
}

INSTANTIATE_TEST_SUITE_P(Hosts, TwoAddresses, testing::Values("127.0.0.8", "127.0.0.9"));

TEST(ListenOn, NamesAnAddressThatIsNotOursOrInUse) {
  EXPECT_THAT(MessageOf([] { (void)ListenOn({"192.0.2.1", 7000}); }), HasSubstr("cannot listen on 192.0.2.1:7000"));
  const auto port = FreePort("127.0.0.1");
  const auto first = ListenOn({"127.0.0.1", port});
  EXPECT_THAT(MessageOf([&] { (void)ListenOn({"127.0.0.1", port}); }), HasSubstr("in use"));
}

TEST(Link, ThatHasNoMemoryIsNotWokenByAPeerThatHungUp) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
  const GroupKey key(Digest{});
  Link link({UniqueFd(ends[0]), 1, key, key, true}, {{}, [] { return ChunkPtr(); }, {}});
  FrameHeader header{FrameKind::kChunk, 1};
  header.length = 10;
  const auto head = FrameSealer(key).Seal(header);
  ASSERT_EQ(::write(ends[1], head.data(), head.size()), static_cast<ssize_t>(head.size()));
  EXPECT_EQ(link.Wanted().fd, ends[0]);
  ::close(ends[1]);
  link.Receive();
  EXPECT_EQ(link.Wanted().fd, -1);
}

TEST(StageAcrossFaults, WhoeverHasJoinedHearsWhyANodeLeavesBeforeTheOthersCome) {
  TestGroup group(3);
  Put(group.source() / "a", "content");
  std::atomic<SteadyTime> other_looked{SteadyTime::max()};
  const auto results = OnAll(2, [&](std::size_t node) {
    StageOptions options;
    options.cancelled = [&, node] {
      const auto now = SystemClock().Steady();
      if (node == 1) other_looked = std::min(other_looked.load(), now);
      const auto begun = other_looked.load();
      return node == 0 && begun != SteadyTime::max() && now - begun > std::chrono::seconds(2);  // it has joined
    };
    return StageAcrossNodes(group.Plan(node), options, group.groups[node]);
  });
  EXPECT_THAT(results[1].error, HasSubstr("node 0"));
  EXPECT_THAT(results[1].error, HasSubstr("was cancelled"));
}

TEST(StageAcrossFaults, AnyExceptionIsToldToAll) {
  TestGroup group(2);
  Put(group.source() / "a", "content");
  const auto results = OnAll(2, [&](std::size_t node) {
    const auto fail = [](const StagingPlan&) -> std::unique_ptr<SourceReader> { throw std::runtime_error("no luck"); };
    return StageAcrossNodes(group.Plan(node), {}, group.groups[node], node == 1 ? OpenSources(fail) : ReadSources);
  });
  for (const auto& node : results) EXPECT_THAT(node.error, HasSubstr("no luck"));
}

TEST(Failure, TravelsAsItIs) {
  const GroupFailure failure{3, ErrorKind::kBusy, "what", "next"};
  EXPECT_EQ(DecodeFailure(EncodeFailure(failure)), failure);
  EXPECT_FALSE(DecodeFailure(EncodeFailure(failure).substr(1)));
}

}  // namespace
}  // namespace slipway::staging
