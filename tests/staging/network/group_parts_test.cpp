#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "core/error.h"
#include "core/files.h"
#include "staging/network/assembly.h"
#include "staging/network/chunk.h"
#include "staging/network/frame.h"
#include "staging/network/group_key.h"
#include "staging/network/handshake.h"
#include "staging/network/node_group.h"
#include "staging/network/plan_difference.h"
#include "staging/network/read_ahead.h"
#include "staging/network/wire.h"
#include "staging/plan/tiers.h"
#include "tests/staging/staging_support.h"
#include "tests/support/fake_memory.h"
#include "tests/support/few_descriptors.h"

namespace slipway::staging {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

TEST(NodesFile, ReadsOneNodeALine) {
  const auto nodes = ParseNodes("# the group\nalpha:7000\n\n 10.0.0.2:7001  # second\n[::1]:7002\n", "nodes");
  ASSERT_EQ(nodes.size(), 3u);
  EXPECT_EQ(nodes[0].host, "alpha");
  EXPECT_EQ(nodes[1].port, 7001);
  EXPECT_EQ(nodes[2].host, "::1");
}

TEST(NodesFile, NamesTheLineThatIsWrong) {
  for (const auto* text : {"a:1\nb\n", "a:1\nb:0\n", "a:1\nb:70000\n", "a:1\n:5\n", "a:1\n::1:5\n", "a:1\na:1\n"}) {
    EXPECT_THAT(MessageOf([&] { (void)ParseNodes(text, "nodes"); }), HasSubstr("'nodes', line 2")) << text;
  }
  EXPECT_THAT(MessageOf([] { (void)ParseNodes("# none\n", "nodes"); }), HasSubstr("names no node"));
}

class KeyFile : public testing::Test {
 protected:
  std::string Refusal() const {
    return MessageOf([&] { (void)GroupKey::Read(path); });
  }
  TemporaryDirectory directory;
  const fs::path path = directory / "key";
};

TEST_F(KeyFile, GivesTheSameKeyAgain) {
  GroupKey::Create(path);
  struct stat info {};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600u);
  EXPECT_EQ(GroupKey::Read(path).Prove({ViewOf("x")}), GroupKey::Read(path).Prove({ViewOf("x")}));
  EXPECT_THROW(GroupKey::Create(path), Error);
}

TEST_F(KeyFile, IsRefusedWhenOthersMayReadIt) {
  GroupKey::Create(path);
  for (const mode_t mode : {0640, 0604, 0620, 0602, 0610}) {
    ::chmod(path.c_str(), mode);
    EXPECT_THAT(Refusal(), HasSubstr("is open to others"));
  }
}

TEST_F(KeyFile, OfSomebodyElseIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "gives a file to another user, which needs root";
  GroupKey::Create(path);
  ASSERT_EQ(::chown(path.c_str(), 65534, 65534), 0);
  EXPECT_THAT(Refusal(), HasSubstr("belongs to user 65534"));
}

TEST_F(KeyFile, MustHold64HexadecimalDigitsAndBeNoLink) {
  for (const auto& content : {std::string(), std::string(63, 'a'), std::string(66, 'a'), std::string(64, 'x')}) {
    Put(path, content);
    ::chmod(path.c_str(), 0600);
    EXPECT_THAT(Refusal(), HasSubstr("64 hexadecimal digits"));
  }
  GroupKey::Create(directory / "real");
  fs::remove(path);
  fs::create_symlink(directory / "real", path);
  EXPECT_NE(Refusal(), "");
}

GroupKey KeyOf(std::uint8_t byte) {
  Digest digest;
  digest.fill(byte);
  return GroupKey(digest);
}

Introduction Who(std::uint32_t from, std::uint32_t to) { return {from, to, 4, DigestOf("plan"), RandomDigest()}; }

TEST(Handshake, BothSidesEndWithTheSameKeys) {
  ConnectorHandshake connector(KeyOf(1), Who(0, 1));
  AcceptorHandshake acceptor(KeyOf(1), Who(1, 0));
  const auto answer = acceptor.Accept(connector.hello());
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->size(), kAnswerBytes);
  const auto confirm = connector.Accept(*answer);
  ASSERT_TRUE(confirm) << connector.refusal();
  EXPECT_TRUE(acceptor.Confirm(*confirm));
  EXPECT_EQ(connector.Keys().from_connector.Prove({}), acceptor.Keys().from_connector.Prove({}));
  EXPECT_EQ(connector.Keys().from_acceptor.Prove({}), acceptor.Keys().from_acceptor.Prove({}));
  EXPECT_NE(connector.Keys().from_acceptor.Prove({}), connector.Keys().from_connector.Prove({}));
}

TEST(Handshake, AnotherKeyIsRefusedByEitherSide) {
  ConnectorHandshake connector(KeyOf(1), Who(0, 1));
  AcceptorHandshake acceptor(KeyOf(2), Who(1, 0));
  const auto answer = acceptor.Accept(connector.hello());
  ASSERT_TRUE(answer);
  EXPECT_FALSE(connector.Accept(*answer));
  EXPECT_THAT(connector.refusal(), HasSubstr("does not hold the group's key"));
  EXPECT_FALSE(acceptor.Confirm(std::string(kConfirmBytes, 'x')));
}

TEST(Handshake, ReplayIsRefused) {
  ConnectorHandshake connector(KeyOf(1), Who(0, 1));
  AcceptorHandshake first(KeyOf(1), Who(1, 0));
  const auto confirm = connector.Accept(*first.Accept(connector.hello()));
  ASSERT_TRUE(confirm);
  ASSERT_TRUE(first.Confirm(*confirm));
  AcceptorHandshake second(KeyOf(1), Who(1, 0));
  ASSERT_TRUE(second.Accept(connector.hello()));
  EXPECT_FALSE(second.Confirm(*confirm));
}

TEST(Handshake, OwnWordsThrownBackAreRefused) {
  ConnectorHandshake connector(KeyOf(1), Who(0, 1));
  EXPECT_FALSE(connector.Accept(connector.hello() + std::string(32, '\0')));
  AcceptorHandshake acceptor(KeyOf(1), Who(1, 0));
  const auto answer = acceptor.Accept(connector.hello());
  EXPECT_FALSE(acceptor.Confirm(answer->substr(kHelloBytes)));
}

TEST(Handshake, NamesWhatIsWrongWithTheOther) {
  AcceptorHandshake acceptor(KeyOf(1), Who(1, 0));
  EXPECT_FALSE(acceptor.Accept(ConnectorHandshake(KeyOf(1), Who(2, 1)).hello()));
  EXPECT_THAT(acceptor.refusal(), HasSubstr("is node 2 looking for node 1"));
  EXPECT_FALSE(acceptor.Accept(std::string(kHelloBytes, 'x')));
  EXPECT_THAT(acceptor.refusal(), HasSubstr("does not speak this protocol"));
  auto old = ConnectorHandshake(KeyOf(1), Who(0, 1)).hello();
  old[8] = 9;
  EXPECT_FALSE(acceptor.Accept(old));
  EXPECT_THAT(acceptor.refusal(), HasSubstr("speaks version 9"));
}

TEST(Frame, ComesOutAsItWentIn) {
  FrameSealer sealer(KeyOf(3));
  FrameOpener opener(KeyOf(3));
  const auto chunk = sealer.Seal(FrameHeader{FrameKind::kChunk, 7, 1000, 0x1234, 5, 1ull << 40, -3});
  ASSERT_EQ(chunk.size(), kFrameHeaderBytes);
  const auto header = opener.Open(chunk);
  ASSERT_TRUE(header);
  EXPECT_EQ(header->node, 7u);
  EXPECT_EQ(header->offset, 1ull << 40);
  EXPECT_EQ(header->ctime_ns, -3);
  const auto control = sealer.Seal({FrameKind::kAbort, 1}, "why");
  ASSERT_TRUE(opener.Open(control.substr(0, kFrameHeaderBytes)));
  EXPECT_EQ(opener.OpenPayload(control.substr(kFrameHeaderBytes)), "why");
}

TEST(Frame, RepeatedReorderedOrChangedIsRefused) {
  FrameSealer sealer(KeyOf(3));
  const auto first = sealer.Seal(FrameHeader{FrameKind::kAlive, 1});
  const auto second = sealer.Seal(FrameHeader{FrameKind::kAlive, 2});
  EXPECT_FALSE(FrameOpener(KeyOf(3)).Open(second));
  EXPECT_FALSE(FrameOpener(KeyOf(4)).Open(first));
  FrameOpener opener(KeyOf(3));
  ASSERT_TRUE(opener.Open(first));
  EXPECT_FALSE(opener.Open(first));
  for (std::size_t i = 0; i < first.size(); ++i) {
    auto changed = first;
    changed[i] = static_cast<char>(changed[i] ^ 4);
    EXPECT_FALSE(FrameOpener(KeyOf(3)).Open(changed)) << i;
  }
}

TEST(Frame, TooLongIsRefusedBeforeMemoryIsTaken) {
  FrameSealer sealer(KeyOf(3));
  FrameOpener opener(KeyOf(3));
  EXPECT_FALSE(opener.Open(sealer.Seal(FrameHeader{FrameKind::kChunk, 0, kChunkBytes + 1})));
  EXPECT_FALSE(
      FrameOpener(KeyOf(3)).Open(FrameSealer(KeyOf(3)).Seal(FrameHeader{FrameKind::kPlan, 0, kControlBytes + 1})));
  EXPECT_FALSE(FrameOpener(KeyOf(3)).Open(FrameSealer(KeyOf(3)).Seal(FrameHeader{FrameKind::kPlan, 0, 0xffffffff})));
}

TEST(Frame, ChangedPayloadIsRefused) {
  FrameSealer sealer(KeyOf(3));
  FrameOpener opener(KeyOf(3));
  auto frame = sealer.Seal({FrameKind::kAbort, 1}, "why");
  ASSERT_TRUE(opener.Open(frame.substr(0, kFrameHeaderBytes)));
  frame[kFrameHeaderBytes] = 'W';
  EXPECT_FALSE(opener.OpenPayload(frame.substr(kFrameHeaderBytes)));
  EXPECT_FALSE(opener.OpenPayload("short"));
}

TEST(Wire, NeverReadsBeyondTheEnd) {
  EXPECT_TRUE(rc::check("any bytes", [](const std::string& bytes) {
    WireReader reader(bytes);
    while (reader.good() && !reader.rest().empty()) (void)reader.Text();
    (void)reader.Number<std::uint64_t>();
    (void)PlanDifference(bytes, bytes);
  }));
}

std::vector<SourceFile> FilesOf(const std::vector<std::uint64_t>& sizes) {
  std::vector<SourceFile> files;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto name = "file" + std::to_string(i);
    files.push_back({"/source/" + name, name, Bytes{sizes[i]}, 0, i});
  }
  return files;
}

std::uint64_t Sum(const std::vector<Part>& parts) {
  return std::accumulate(parts.begin(), parts.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const Part& part) { return sum + part.end - part.begin; });
}

TEST(SharesOf, EveryByteHasOneReaderAndNoReaderTooMany) {
  EXPECT_TRUE(rc::check("any sizes, any readers", [] {
    const auto sizes = *rc::gen::container<std::vector<std::uint64_t>>(
        rc::gen::oneOf(rc::gen::inRange<std::uint64_t>(0, 100'000), rc::gen::inRange<std::uint64_t>(0, 300'000'000)));
    const auto readers = *rc::gen::inRange<std::size_t>(1, 9);
    const auto files = FilesOf(sizes);
    const auto shares = SharesOf(files, {}, readers);
    const auto total = std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0});
    std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint64_t> parts;
    for (const auto& share : shares) {
      RC_ASSERT(Sum(share) <= total / readers + std::max(kPartBytes, total / readers / 4));
      for (const auto& part : ChunksOf(share)) {
        RC_ASSERT(part.end - part.begin <= kChunkBytes);
        RC_ASSERT(part.begin % kChunkBytes == 0);
        RC_ASSERT(parts.emplace(std::pair(part.file, part.begin), part.end).second);
      }
    }
    std::vector<std::uint64_t> covered(sizes.size());
    for (const auto& [where, end] : parts) {
      RC_ASSERT(covered[where.first] == where.second);
      covered[where.first] = end;
    }
    RC_ASSERT(covered == sizes);
  }));
}

TEST(SharesOf, OneLargeFileIsReadByAllInParts) {
  const auto shares = SharesOf(FilesOf({1ull << 30}), {}, 4);
  for (const auto& share : shares) EXPECT_EQ(Sum(share), 1ull << 28);
}

TEST(SharesOf, FollowsTheOrderOfFirstUse) {
  const auto shares = SharesOf(FilesOf({10, 10, 10, 10}), {3, 1, 2, 0}, 2);
  EXPECT_EQ(shares[0], (std::vector<Part>{{3, 0, 10}, {2, 0, 10}}));
  EXPECT_EQ(shares[1], (std::vector<Part>{{1, 0, 10}, {0, 0, 10}}));
}

TEST(ChunkPool, HandsOutNoMoreThanItHas) {
  int returned = 0;
  const auto pool = ChunkPool::Make(2, [&] { ++returned; });
  auto first = pool->TryTake();
  const auto second = pool->TryTake();
  EXPECT_FALSE(pool->TryTake());
  first.reset();
  EXPECT_EQ(returned, 1);
  EXPECT_TRUE(pool->TryTake());
  pool->Close();
  EXPECT_FALSE(pool->Take());
}

TEST(Assembly, PutsMoreFilesTogetherThanMayBeOpen) {
  constexpr std::uint32_t kFiles = 300;
  constexpr std::uint64_t kHalf = 10;
  const TemporaryDirectory directory;
  StagingPlan plan;
  for (std::uint32_t i = 0; i < kFiles; ++i) {
    plan.files.push_back({"/source/" + std::to_string(i), std::to_string(i), Bytes{2 * kHalf}});
  }
  const test::FewDescriptors few(200);
  const CopyOptions options;
  Assembly assembly(plan, directory.path(), options, [] {});
  for (const std::uint64_t offset : {kHalf, std::uint64_t{0}}) {
    for (std::uint32_t i = 0; i < kFiles; ++i) {
      Chunk chunk;
      chunk.file = i;
      chunk.offset = offset;
      chunk.size = kHalf;
      chunk.memory.reset(new std::byte[kHalf]);
      std::ranges::fill(chunk.bytes(), static_cast<std::byte>(i));
      assembly.Add(chunk);
    }
  }
  EXPECT_TRUE(assembly.complete());
  EXPECT_EQ(ReadFile(directory / "299"), std::string(2 * kHalf, static_cast<char>(299)));
}

/// A chunk of a file of `size` bytes, at its beginning.
std::string RefusalOfFile(const fs::path& directory, Bytes size, const MemorySources& memory) {
  StagingPlan plan;
  plan.files.push_back({"/source/a", "a", size});
  CopyOptions options;
  options.memory = memory;
  Assembly assembly(plan, directory, options, [] {});
  Chunk chunk;
  chunk.size = 10;
  chunk.memory.reset(new std::byte[10]());
  try {
    assembly.Add(chunk);
    return "";
  } catch (const MemoryError& error) {
    return error.message();
  }
}

TEST(Assembly, NeverFillsTheMemory) {
  const TemporaryDirectory ram("/dev/shm");
  const test::FakeMemory machine(30 * 1024);
  EXPECT_EQ(RefusalOfFile(ram.path(), Bytes{20 << 20}, machine.sources()), "");
  fs::remove(ram / "a");
  EXPECT_THAT(RefusalOfFile(ram.path(), Bytes{40 << 20}, machine.sources()), HasSubstr("the staged files in RAM"));
  const TemporaryDirectory disk;
  if (LivesInMemory(disk.path())) GTEST_SKIP() << "temporary files lie in RAM";
  EXPECT_EQ(RefusalOfFile(disk.path(), Bytes{40 << 20}, machine.sources()), "");
}

TEST(Assembly, SeesThatOthersTakeTheMemoryMeanwhile) {
  const TemporaryDirectory ram("/dev/shm");
  test::FakeMemory machine(1000 * 1024);
  StagingPlan plan;
  plan.files.push_back({"/source/a", "a", Bytes{100 << 20}});
  CopyOptions options;
  options.memory = machine.sources();
  int steps = 0;
  Assembly assembly(plan, ram.path(), options, [&] {
    if (++steps == 2) machine.SetAvailable(0);
  });
  Chunk chunk;
  chunk.size = 10;
  chunk.memory.reset(new std::byte[10]());
  EXPECT_THROW(assembly.Add(chunk), MemoryError);
  EXPECT_EQ(steps, 2);
}

TEST(PlanDifference, NamesTheFirstThing) {
  StagingPlan plan;
  plan.request.name = "train";
  plan.files = FilesOf({10, 20});
  const auto own = DescribePlan(plan, {}, 0);
  auto other = plan;
  other.files[1].size.count = 21;
  EXPECT_THAT(PlanDifference(own, DescribePlan(other, {}, 0)), HasSubstr("'file1' has 20 bytes here and 21 there"));
  other = plan;
  other.request.name = "test";
  EXPECT_THAT(PlanDifference(own, DescribePlan(other, {}, 0)), HasSubstr("'train' here and 'test' there"));
  other = plan;
  other.files.pop_back();
  EXPECT_THAT(PlanDifference(own, DescribePlan(other, {}, 0)), HasSubstr("2 files here and 1 there"));
  EXPECT_THAT(PlanDifference(own, DescribePlan(plan, {1, 0}, 0)), HasSubstr("order"));
  EXPECT_THAT(PlanDifference(own, DescribePlan(plan, {}, 1)), HasSubstr("0 nodes read here and 1 there"));
}

}  // namespace
}  // namespace slipway::staging
