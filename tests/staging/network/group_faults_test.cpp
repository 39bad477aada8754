#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <atomic>
#include <condition_variable>
#include <csignal>
#include <thread>

#include "core/clock.h"
#include "core/error.h"
#include "core/files.h"
#include "core/units.h"
#include "staging/generation/verify.h"
#include "staging/network/frame.h"
#include "staging/network/group_key.h"
#include "staging/network/handshake.h"
#include "staging/network/sockets.h"
#include "staging/network/stage_across.h"
#include "tests/staging/network/group_support.h"
#include "tests/staging/network/proxy.h"

namespace slipway::staging {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;

void PutFiles(const TestGroup& group, std::size_t bytes = 12'000'000) {
  for (int i = 0; i < 4; ++i) Put(group.source() / ("file" + std::to_string(i)), std::string(bytes / 4, 'a' + i));
}

/// So slow that a fault comes in the middle.
StageOptions Slowly() {
  StageOptions options;
  options.bandwidth = Bytes{2 << 20};
  return options;
}

bool AnythingIn(const fs::path& directory) {
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    if (entry.is_regular_file() && entry.path().string().find(".locks") == std::string::npos) return true;
  }
  return false;
}

/// What the sources hold, and not only the room that is made for it.
bool AnyBytesIn(const fs::path& directory) {
  std::error_code moved;
  for (fs::recursive_directory_iterator entry(directory, moved), end; !moved && entry != end; entry.increment(moved)) {
    if (entry->path().filename().string().rfind("file", 0) != 0) continue;
    const auto content = ReadFileIfPresent(entry->path());
    if (content && content->find_first_not_of('\0') != std::string::npos) return true;
  }
  return false;
}

/// Until a node has copied something, a minute at the longest. All have joined then, and heard of each other.
void WaitForCopying(const TestGroup& group, std::size_t node) {
  for (int i = 0; i < 3000 && !AnyBytesIn(group.tier(node)); ++i) SystemClock().Sleep(std::chrono::milliseconds(20));
}

TEST(StageAcrossFaults, KilledNodeIsNamedAndNothingIsPublished) {
  TestGroup group(4);
  PutFiles(group);
  const auto victim = InChild([&] {
    (void)StageAcrossNodes(group.Plan(2), Slowly(), group.groups[2]);
    return true;
  });
  std::jthread killer([&] {
    WaitForCopying(group, 2);
    ::kill(victim, SIGKILL);
  });
  const auto results = OnAll(4, [&](std::size_t node) {
    if (node == 2) return StagedAcross{};
    return StageAcrossNodes(group.Plan(node), Slowly(), group.groups[node]);
  });
  ::waitpid(victim, nullptr, 0);
  for (const std::size_t node : {0, 1, 3}) {
    EXPECT_THAT(results[node].error, AllOf(HasSubstr("node 2 (127.0.0.3:"), HasSubstr("is gone")));
  }
  EXPECT_TRUE(group.NothingAnywhere());
}

TEST(StageAcrossFaults, StoppedNodeIsNamedWhenItsTimeIsOver) {
  TestGroup group(3);
  PutFiles(group);
  for (auto& node : group.groups) node.stall_timeout = std::chrono::seconds(5);
  const auto victim = InChild([&] {
    (void)StageAcrossNodes(group.Plan(1), Slowly(), group.groups[1]);
    return true;
  });
  std::jthread stopper([&] {
    WaitForCopying(group, 1);
    ::kill(victim, SIGSTOP);
  });
  const auto results = OnAll(3, [&](std::size_t node) {
    if (node == 1) return StagedAcross{};
    return StageAcrossNodes(group.Plan(node), Slowly(), group.groups[node]);
  });
  ::kill(victim, SIGKILL);
  ::waitpid(victim, nullptr, 0);
  for (const std::size_t node : {0, 2}) {
    EXPECT_THAT(results[node].error, AllOf(HasSubstr("node 1 (127.0.0.2:"), HasSubstr("silent")));
  }
  EXPECT_TRUE(group.NothingAnywhere());
}

TEST(StageAcrossFaults, MissingNodeIsNamedAtTheDeadline) {
  TestGroup group(3);
  PutFiles(group);
  for (auto& node : group.groups) node.join_timeout = std::chrono::seconds(5);
  const auto results = OnAll(3, [&](std::size_t node) {
    if (node == 1) return StagedAcross{};
    return StageAcrossNodes(group.Plan(node), {}, group.groups[node]);
  });
  EXPECT_THAT(results[0].error, AllOf(HasSubstr("node 1 (127.0.0.2:"), HasSubstr("did not join")));
  EXPECT_THAT(results[2].error, AllOf(HasSubstr("node 1 (127.0.0.2:"), HasSubstr("did not join")));
  EXPECT_TRUE(group.NothingAnywhere());
}

TEST(StageAcrossFaults, DamagedSourceIsNamedOnAllNodes) {
  TestGroup group(3);
  for (int i = 0; i < 4; ++i) {
    Put(group.source() / ("part" + std::to_string(i) + ".tfrecord"), TfrecordBytes(40, 50'000));
  }
  FlipBit(group.source() / "part2.tfrecord", 1'000'000);
  const auto results = StageOnAll(group, DataFormat::kTfrecord);
  for (const auto& result : results) EXPECT_THAT(result.error, AllOf(HasSubstr("part2.tfrecord"), HasSubstr("record")));
  EXPECT_TRUE(group.NothingAnywhere());
}

TEST(StageAcrossFaults, SourceThatChangesMeanwhileIsNeverPublished) {
  TestGroup group(2);
  PutFiles(group);
  std::jthread writer([&] {
    WaitForCopying(group, 0);
    Put(group.source() / "file1", "shorter");
  });
  const auto results =
      OnAll(2, [&](std::size_t node) { return StageAcrossNodes(group.Plan(node), Slowly(), group.groups[node]); });
  for (const auto& result : results) EXPECT_THAT(result.error, AllOf(HasSubstr("file1"), HasSubstr("changed")));
  EXPECT_TRUE(group.NothingAnywhere());
}

TEST(StageAcrossFaults, ByteFlippedBetweenTwoNodesIsFoundAndTheNodesAreNamed) {
  TestGroup group(3);
  PutFiles(group);
  Proxy proxy(group.groups[0].nodes[1], [](std::uint64_t offset, std::string& bytes) {
    constexpr std::uint64_t kWhere = 600'000;  // inside the first chunk
    if (offset <= kWhere && kWhere < offset + bytes.size()) bytes[kWhere - offset] ^= 1;
  });
  group.groups[0].nodes[1] = proxy.address();
  const auto results = StageOnAll(group);
  for (const auto& result : results) {
    EXPECT_THAT(result.error, AllOf(HasSubstr("node 1 (127.0.0.2:"), HasSubstr("received from node 0 (127.0.0.1:"),
                                    HasSubstr("damaged on the way"), HasSubstr("CRC32C")));
  }
  EXPECT_TRUE(GenerationsIn(group.tier(1)).empty());
  // Who did not need the damaged chunk may have published already: then its copy is whole.
  for (const std::size_t node : {0u, 2u}) {
    for (const auto& name : GenerationsIn(group.tier(node))) {
      EXPECT_TRUE(VerifyGeneration(group.tier(node) / name).damage.empty());
    }
  }
}

TEST(StageAcrossFaults, ChangedHeaderIsRefused) {
  TestGroup group(2);
  PutFiles(group);
  Proxy proxy(group.groups[0].nodes[1], [](std::uint64_t offset, std::string& bytes) {
    constexpr std::uint64_t kWhere = kHelloBytes + kConfirmBytes + 5;  // in the first frame
    if (offset <= kWhere && kWhere < offset + bytes.size()) bytes[kWhere - offset] ^= 1;
  });
  group.groups[0].nodes[1] = proxy.address();
  const auto results = StageOnAll(group);
  for (const auto& result : results) EXPECT_THAT(result.error, HasSubstr("does not carry the proof"));
  EXPECT_TRUE(group.NothingAnywhere());
}

TEST(StageAcrossFaults, ReplayedFrameIsRefused) {
  TestGroup group(2);
  PutFiles(group);
  Proxy proxy(group.groups[0].nodes[1], [](std::uint64_t offset, std::string& bytes) {
    // The header of the first frame comes twice. It may come in one piece with what is before and behind it.
    constexpr std::uint64_t kWhere = kHelloBytes + kConfirmBytes;
    if (offset > kWhere || offset + bytes.size() < kWhere + kFrameHeaderBytes) return;
    bytes.insert(kWhere - offset, bytes.substr(kWhere - offset, kFrameHeaderBytes));
  });
  group.groups[0].nodes[1] = proxy.address();
  const auto results = StageOnAll(group);
  for (const auto& result : results) EXPECT_THAT(result.error, HasSubstr("does not carry the proof"));
  EXPECT_TRUE(group.NothingAnywhere());
}

TEST(StageAcrossFaults, AnotherKeyIsRefused) {
  TestGroup group(2);
  PutFiles(group);
  GroupKey::Create(group / "other-key");
  group.groups[1].key_file = group / "other-key";
  std::vector<std::vector<UniqueFd>> listeners;
  for (auto& node : group.groups) listeners.push_back(ListenOn(node.nodes[node.number]));
  for (auto& node : group.groups) {
    node.join_timeout = std::chrono::seconds(4);
    node.listeners = &listeners[node.number];  // who gives up first does not become one that cannot be reached
  }
  const auto results = StageOnAll(group);
  EXPECT_THAT(results[0].error, AllOf(HasSubstr("node 1"), HasSubstr("does not hold the group's key")));
  EXPECT_THAT(results[1].error, AllOf(HasSubstr("node 0"), HasSubstr("does not hold the group's key")));
  EXPECT_TRUE(group.NothingAnywhere());
}

TEST(StageAcrossFaults, AnotherPlanIsNamedWithWhatDiffers) {
  TestGroup group(3);
  PutFiles(group);
  const auto results = OnAll(3, [&](std::size_t node) {
    auto plan = group.Plan(node);
    if (node == 1) {
      plan.files[2].mtime_ns += 1;
      plan.generation.back() = plan.generation.back() == '0' ? '1' : '0';
    }
    return StageAcrossNodes(plan, {}, group.groups[node]);
  });
  for (const auto& result : results) {
    EXPECT_THAT(result.error, AllOf(HasSubstr("node 1 (127.0.0.2:"), HasSubstr("do not stage the same"),
                                    HasSubstr("'file2' has another modification time")));
  }
  EXPECT_TRUE(group.NothingAnywhere());
}

/// Says garbage, connects again and again, and leaves connections open that say almost nothing.
void Disturb(const NodeAddress& node, const std::atomic<bool>& stop) {
  std::vector<UniqueFd> silent;
  for (int i = 0; !stop; ++i) {
    try {
      auto fd = ConnectTo(node);
      const std::string garbage(i % 3 == 0 ? 500 : 1, 'S');
      (void)::send(fd.get(), garbage.data(), garbage.size(), MSG_NOSIGNAL);
      if (i % 3 == 1) silent.push_back(std::move(fd));
    } catch (const Error&) {
    }
    SystemClock().Sleep(std::chrono::milliseconds(2));
  }
}

TEST(StageAcrossFaults, StrangersDoNotHoldUpTheRing) {
  TestGroup group(2);
  PutFiles(group);
  std::atomic<bool> stop{false};
  std::jthread disturber([&] { Disturb(group.groups[0].nodes[0], stop); });
  const auto results = OnAll(2, [&](std::size_t node) {
    if (node == 1) SystemClock().Sleep(std::chrono::milliseconds(500));
    return StageAcrossNodes(group.Plan(node), {}, group.groups[node]);
  });
  stop = true;
  for (const auto& result : results) EXPECT_TRUE(result.staged) << result.error;
}

TEST(StageAcrossFaults, CancelledOnOneNodeEndsAll) {
  TestGroup group(3);
  PutFiles(group);
  const auto results = OnAll(3, [&](std::size_t node) {
    auto options = Slowly();
    if (node == 2) options.cancelled = [&] { return AnythingIn(group.tier(2)); };
    return StageAcrossNodes(group.Plan(node), options, group.groups[node]);
  });
  EXPECT_THAT(results[0].error, AllOf(HasSubstr("node 2 (127.0.0.3:"), HasSubstr("was cancelled")));
  EXPECT_THAT(results[1].error, AllOf(HasSubstr("node 2 (127.0.0.3:"), HasSubstr("was cancelled")));
  EXPECT_THAT(results[2].error, HasSubstr("was cancelled"));
  EXPECT_TRUE(group.NothingAnywhere());
}

TEST(StageAcrossFaults, FullTierOfOneNodeIsSaidOnAll) {
  if (::geteuid() != 0) GTEST_SKIP() << "mounts a small tmpfs, which needs root";
  TestGroup group(2);
  PutFiles(group);
  const auto tmpfs = group.tier(1);
  ASSERT_EQ(::mount("tmpfs", tmpfs.c_str(), "tmpfs", 0, "size=4m,mode=700"), 0);
  const auto results = OnAll(2, [&](std::size_t node) {
    auto request = RequestFor(group.source(), group.tier(node), DataFormat::kRaw);
    auto plan = PlanStaging(request, ListSources(request),
                            {{request.tiers[0], group.tier(node), Bytes{1ull << 40}, 1'000'000, true, {}, {}}});
    return StageAcrossNodes(plan, {}, group.groups[node]);
  });
  EXPECT_EQ(::umount(tmpfs.c_str()), 0);
  EXPECT_THAT(results[0].error, AllOf(HasSubstr("node 1 (127.0.0.2:"), HasSubstr("is full")));
  EXPECT_THAT(results[1].error, HasSubstr("is full"));
  EXPECT_TRUE(group.NothingAnywhere());
}

/// The second read of a node never comes back until the test is over.
class HangingSource : public SourceReader {
 public:
  HangingSource(std::unique_ptr<SourceReader> real, const std::atomic<bool>& over)
      : real_(std::move(real)), over_(over) {}
  std::int64_t Open(std::uint32_t file) override { return real_->Open(file); }
  void Read(std::uint32_t file, std::uint64_t offset, std::span<std::byte> out) override {
    while (reads_++ > 0 && !over_) SystemClock().Sleep(std::chrono::milliseconds(10));
    real_->Read(file, offset, out);
  }
  void Close(std::uint32_t file) override { real_->Close(file); }

 private:
  std::unique_ptr<SourceReader> real_;
  const std::atomic<bool>& over_;
  std::atomic<int> reads_{0};
};

TEST(StageAcrossFaults, ReadThatHangsIsNamed) {
  TestGroup group(2);
  PutFiles(group);
  for (auto& node : group.groups) node.file_timeout = std::chrono::seconds(4);
  std::atomic<bool> over{false};
  const auto results = OnAll(2, [&](std::size_t node) {
    const OpenSources hanging = [&](const StagingPlan& plan) -> std::unique_ptr<SourceReader> {
      auto real = ReadSources(plan);
      if (node == 0) return real;
      return std::make_unique<HangingSource>(std::move(real), over);
    };
    try {
      return StageAcrossNodes(group.Plan(node), {}, group.groups[node], hanging);
    } catch (const Error&) {
      over = true;
      throw;
    }
  });
  const auto limit = "for more than " + FormatDuration(group.groups[1].file_timeout);
  EXPECT_THAT(results[0].error,
              AllOf(HasSubstr("node 1 (127.0.0.2:"), HasSubstr("has waited for bytes"), HasSubstr(limit)));
  EXPECT_TRUE(group.NothingAnywhere());
}

TEST(StageAcrossFaults, DamageInAStagedCopyDoesNotSpread) {
  TestGroup group(2);
  PutFiles(group);
  const auto staged = Stage(group.Plan(0));
  FlipBit(staged.directory / "file1", 5);
  const auto results = StageOnAll(group);
  for (const auto& result : results) {
    EXPECT_THAT(result.error, AllOf(HasSubstr("file1' is damaged at byte 0"), HasSubstr("manifest")));
  }
  EXPECT_TRUE(GenerationsIn(group.tier(1)).empty());
}

TEST(StageAcrossFaults, CopyThatWasPublishedBeforeAFailureStaysAndIsAdopted) {
  TestGroup group(2);
  PutFiles(group);
  const auto first = OnAll(2, [&](std::size_t node) {
    StageOptions options;
    if (node == 0) options.cancelled = [&] { return !GenerationsIn(group.tier(0)).empty(); };
    return StageAcrossNodes(group.Plan(node), options, group.groups[node]);
  });
  EXPECT_THAT(first[0].error, HasSubstr("was cancelled"));
  const auto second = StageOnAll(group);
  for (const auto& result : second) ASSERT_TRUE(result.staged) << result.error;
  EXPECT_TRUE(second[0].staged->dataset.adopted);
  EXPECT_EQ(group.Published(0), group.Published(1));
}

TEST(StageAcrossFaults, NextAttemptAfterAFailureSucceeds) {
  TestGroup group(3);
  PutFiles(group);
  const auto first = OnAll(3, [&](std::size_t node) {
    auto options = Slowly();
    if (node == 0) options.cancelled = [&] { return AnythingIn(group.tier(0)); };
    return StageAcrossNodes(group.Plan(node), options, group.groups[node]);
  });
  EXPECT_FALSE(first[1].staged);
  for (const auto& result : StageOnAll(group)) EXPECT_TRUE(result.staged) << result.error;
}

}  // namespace
}  // namespace slipway::staging
