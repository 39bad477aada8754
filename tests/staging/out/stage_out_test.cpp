#include "staging/out/stage_out.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <set>
#include <thread>

#include "core/crc32c.h"
#include "core/error.h"
#include "core/files.h"
#include "staging/copy/medium.h"
#include "staging/out/tree.h"
#include "tests/staging/staging_support.h"

namespace slipway::staging {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class StageOutTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Put(source_ / "weights.bin", std::string(5'000'000, 'w'));
    Put(source_ / "deep/er/log.txt", "one line\n");
    Put(source_ / "empty", "");
  }

  std::string MessageOfStageOut(const StageOutOptions& options = {}) const {
    return MessageOf([&] { StageOutDirectory(source_, destination_, options); });
  }

  void ExpectWhole() const {
    EXPECT_EQ(ReadFile(destination_ / "weights.bin"), std::string(5'000'000, 'w'));
    EXPECT_EQ(ReadFile(destination_ / "deep/er/log.txt"), "one line\n");
    EXPECT_EQ(ReadFile(destination_ / "empty"), "");
  }

  TemporaryDirectory files_;
  fs::path source_ = files_ / "tier/results";
  fs::path destination_ = files_ / "shared/results";
};

TEST_F(StageOutTest, CopiesATreeAndLeavesNothingElse) {
  const auto staged = StageOutDirectory(source_, destination_);
  ExpectWhole();
  EXPECT_EQ(staged.files.size(), 3u);
  EXPECT_EQ(staged.bytes.count, 5'000'009u);
  EXPECT_EQ(staged.files[2].crc32c, Crc32c(std::string(5'000'000, 'w')));
  EXPECT_THAT(NamesOf(files_ / "shared"), ElementsAre("results"));
}

TEST_F(StageOutTest, KeepsTimesAndExecutionAndOpensNothingToOthers) {
  fs::permissions(source_ / "empty", fs::perms(0777));
  fs::last_write_time(source_ / "empty", fs::file_time_type(std::chrono::hours(24)));
  StageOutDirectory(source_, destination_);
  EXPECT_EQ(fs::status(destination_ / "empty").permissions(), fs::perms(0750));
  EXPECT_EQ(fs::status(destination_ / "weights.bin").permissions(), fs::perms(0640));
  EXPECT_EQ(fs::last_write_time(destination_ / "empty"), fs::last_write_time(source_ / "empty"));
}

TEST_F(StageOutTest, KeepsLinksWithinTheTree) {
  fs::create_symlink("deep/er/log.txt", source_ / "relative");
  fs::create_symlink(source_ / "weights.bin", source_ / "deep/absolute");
  fs::create_directory_symlink("deep", source_ / "directory");
  StageOutDirectory(source_, destination_);
  EXPECT_EQ(fs::read_symlink(destination_ / "relative"), "deep/er/log.txt");
  EXPECT_EQ(fs::read_symlink(destination_ / "deep/absolute"), "../weights.bin");
  EXPECT_EQ(fs::read_symlink(destination_ / "directory"), "deep");
}

TEST_F(StageOutTest, RefusesALinkThatLeavesTheTree) {
  fs::create_symlink("/etc/hostname", source_ / "out");
  EXPECT_THAT(MessageOfStageOut(), HasSubstr("results/out' is a link that leads out"));
  EXPECT_THAT(NamesOf(files_ / "shared"), IsEmpty());
}

TEST_F(StageOutTest, NamesWhatIsNoFile) {
  ASSERT_EQ(::mkfifo((source_ / "deep/pipe").c_str(), 0600), 0);
  EXPECT_THAT(MessageOfStageOut(), HasSubstr("deep/pipe' is neither a file"));
  EXPECT_FALSE(fs::exists(destination_));
}

TEST_F(StageOutTest, LeavesOutWhatCannotBeCopiedOnRequest) {
  fs::create_symlink("/etc/hostname", source_ / "leads-out");
  fs::create_symlink("../leads-out", source_ / "deep/by-another");
  fs::create_symlink("circle", source_ / "circle");
  fs::create_symlink("deep/er/log.txt", source_ / "within");
  fs::create_directory_symlink("/etc", source_ / "etc");
  ASSERT_EQ(::mkfifo((source_ / "deep/pipe").c_str(), 0600), 0);
  StageOutOptions options;
  options.existing = Existing::kMerge;
  options.unsuitable = Unsuitable::kLeaveOut;
  const auto staged = StageOutDirectory(source_, destination_, options);
  ExpectWhole();
  EXPECT_EQ(fs::read_symlink(destination_ / "within"), "deep/er/log.txt");
  std::set<std::string> refused;
  for (const auto& each : staged.refused) refused.insert(each.name);
  EXPECT_THAT(refused, ElementsAre("circle", "deep/by-another", "deep/pipe", "etc", "leads-out"));
  for (const auto& name : refused) EXPECT_FALSE(IsThere(destination_ / name)) << name;
}

TEST_F(StageOutTest, LeavesOutWhatCannotBeReadOnRequest) {
  Put(source_ / "secret", "x");
  Put(source_ / "closed/file", "x");
  fs::permissions(source_ / "secret", fs::perms::none);
  fs::permissions(source_ / "closed", fs::perms::none);
  fs::create_directories(files_ / "shared");
  fs::permissions(files_ / "shared", fs::perms::all);
  StageOutOptions options;
  options.existing = Existing::kMerge;
  options.unsuitable = Unsuitable::kLeaveOut;
  EXPECT_TRUE(AsOrdinaryUser([&] {
    const auto staged = StageOutDirectory(source_, destination_, options);
    return staged.files.size() == 3 && staged.refused.size() == 2 && fs::exists(destination_ / "weights.bin");
  }));
  fs::permissions(source_ / "closed", fs::perms::owner_all);
}

TEST_F(StageOutTest, NamesSomeOfManyThatCannotBeCopied) {
  for (int i = 0; i < 9; ++i) fs::create_symlink("/etc/hostname", source_ / ("out-" + std::to_string(i)));
  const auto message = MessageOfStageOut();
  EXPECT_THAT(message, HasSubstr("and 4 more"));
  std::size_t named = 0;
  for (int i = 0; i < 9; ++i) named += message.find("out-" + std::to_string(i) + "'") != std::string::npos ? 1 : 0;
  EXPECT_EQ(named, 5u);
}

TEST_F(StageOutTest, TakesNamesThatAreNoText) {
  Put(source_ / "new\nline\xff", "x");
  StageOutDirectory(source_, destination_);
  EXPECT_EQ(ReadFile(destination_ / "new\nline\xff"), "x");
}

TEST_F(StageOutTest, NamesAFileThatCannotBeRead) {
  Put(source_ / "secret", "x");
  fs::permissions(source_ / "secret", fs::perms::none);
  fs::create_directories(files_ / "shared");
  fs::permissions(files_ / "shared", fs::perms::all);
  EXPECT_TRUE(AsOrdinaryUser([&] {
    return MessageOfStageOut().find("cannot open '" + (source_ / "secret").string()) != std::string::npos &&
           NamesOf(files_ / "shared").empty();
  }));
}

TEST_F(StageOutTest, RefusesADestinationThatIsThere) {
  Put(destination_ / "other", "precious");
  EXPECT_THAT(MessageOfStageOut(), HasSubstr("is there already"));
  EXPECT_EQ(ReadFile(destination_ / "other"), "precious");
}

TEST_F(StageOutTest, RefusesPlacesOneWithinTheOther) {
  destination_ = source_ / "copy";
  EXPECT_THAT(MessageOfStageOut(), HasSubstr("one within the other"));
}

TEST_F(StageOutTest, ReplacesByExchange) {
  Put(destination_ / "old", "old");
  StageOutOptions options;
  options.existing = Existing::kReplace;
  options.accept = [&](const auto&) { EXPECT_EQ(ReadFile(destination_ / "old"), "old"); };
  StageOutDirectory(source_, destination_, options);
  ExpectWhole();
  EXPECT_FALSE(fs::exists(destination_ / "old"));
  EXPECT_THAT(NamesOf(files_ / "shared"), ElementsAre("results"));
}

TEST_F(StageOutTest, MergesFileByFileAndSkipsWhatIsUnchanged) {
  Put(destination_ / "earlier", "of another attempt");
  Put(destination_ / "deep/er/log.txt", "older");
  StageOutOptions options;
  options.existing = Existing::kMerge;
  EXPECT_EQ(StageOutDirectory(source_, destination_, options).files.size(), 3u);
  ExpectWhole();
  EXPECT_EQ(ReadFile(destination_ / "earlier"), "of another attempt");
  Put(source_ / "deep/er/log.txt", "another line\n");
  EXPECT_EQ(WorkOf(source_, destination_, options).files, 1u);
  EXPECT_EQ(StageOutDirectory(source_, destination_, options).files.size(), 1u);
  EXPECT_EQ(ReadFile(destination_ / "deep/er/log.txt"), "another line\n");
  EXPECT_THAT(NamesOf(files_ / "shared"), ElementsAre("results"));
}

TEST_F(StageOutTest, MergesTheNewKindOfAName) {
  Put(destination_ / "weights.bin/old", "a directory before");
  Put(destination_ / "deep/er", "a file before");
  Put(destination_ / "elsewhere/empty", "");
  fs::create_directory(source_ / "linked");
  Put(source_ / "linked/empty", "");
  fs::create_directory_symlink("elsewhere", destination_ / "linked");
  fs::last_write_time(destination_ / "elsewhere/empty", fs::last_write_time(source_ / "linked/empty"));
  fs::create_symlink("empty", source_ / "link");
  Put(destination_ / "link/old", "a directory before");
  StageOutOptions options;
  options.existing = Existing::kMerge;
  StageOutDirectory(source_, destination_, options);
  ExpectWhole();
  EXPECT_FALSE(fs::is_symlink(destination_ / "linked"));
  EXPECT_TRUE(fs::exists(destination_ / "linked/empty")) << "not taken for the unchanged one behind the link";
  EXPECT_TRUE(fs::exists(destination_ / "elsewhere/empty"));
  EXPECT_EQ(fs::read_symlink(destination_ / "link"), "empty");
  EXPECT_THAT(NamesOf(files_ / "shared"), ElementsAre("results"));
}

TEST_F(StageOutTest, FindsByTheirBytesFilesWhoseTimeDidNotChange) {
  StageOutOptions options;
  options.existing = Existing::kMerge;
  StageOutDirectory(source_, destination_, options);
  FlipBit(source_ / "weights.bin", 4'500'000);  // as a store into mapped memory on tmpfs does it
  EXPECT_EQ(WorkOf(source_, destination_, options).files, 0u);
  options.unchanged = Unchanged::kContents;
  EXPECT_EQ(WorkOf(source_, destination_, options).files, 1u);
  EXPECT_EQ(StageOutDirectory(source_, destination_, options).files.size(), 1u);
  EXPECT_EQ(ReadFile(destination_ / "weights.bin"), ReadFile(source_ / "weights.bin"));
  EXPECT_EQ(StageOutDirectory(source_, destination_, options).files.size(), 0u);
}

TEST_F(StageOutTest, EndsWhenItIsCancelledWhileItCompares) {
  StageOutOptions options;
  options.existing = Existing::kMerge;
  options.unchanged = Unchanged::kContents;
  StageOutDirectory(source_, destination_, options);
  OutProgress last;
  options.progress = [&](const OutProgress& now) { last = now; };
  options.cancelled = [&] { return last.done.count > 0; };
  EXPECT_THAT(MessageOfStageOut(options), HasSubstr("cancelled"));
  EXPECT_EQ(last.phase, OutPhase::kCompare);
  EXPECT_LT(last.done.count, 5'000'000u);
}

TEST_F(StageOutTest, DetectsAFlipBetweenCopyAndConfirmation) {
  StageOutOptions options;
  bool flipped = false;
  options.progress = [&](const OutProgress& now) {
    if (now.phase != OutPhase::kConfirm || flipped) return;
    flipped = true;
    FlipBit(files_ / "shared/.tmp-out-results/weights.bin", 4'500'000);
  };
  const auto message = MessageOfStageOut(options);
  EXPECT_THAT(message,
              HasSubstr("weights.bin', read back, differs from what was written in the block at byte 4194304"));
  EXPECT_TRUE(flipped);
  EXPECT_THAT(NamesOf(files_ / "shared"), IsEmpty());
}

TEST_F(StageOutTest, DetectsACopyThatBecameShorterOrLonger) {
  for (const std::uint64_t size : {4'999'999u, 5'000'001u, 1'048'576u, 0u}) {
    StageOutOptions options;
    options.progress = [&](const OutProgress& now) {
      if (now.phase == OutPhase::kConfirm && now.done.count == 0) {
        fs::resize_file(files_ / "shared/.tmp-out-results/weights.bin", size);
      }
    };
    EXPECT_THAT(MessageOfStageOut(options), HasSubstr("read back, differs")) << size;
  }
}

TEST_F(StageOutTest, RefusesASourceThatKeepsChanging) {
  StageOutOptions options;
  options.progress = [&](const OutProgress& now) {
    if (now.current == "weights.bin") Put(source_ / "weights.bin", std::string(5'000'000, 'x'));
  };
  EXPECT_THAT(MessageOfStageOut(options), HasSubstr("weights.bin' changed while"));
  EXPECT_THAT(NamesOf(files_ / "shared"), IsEmpty());
}

TEST_F(StageOutTest, SkipsAFileThatKeepsChangingOnRequest) {
  StageOutOptions options;
  options.existing = Existing::kMerge;
  options.changing = Changing::kSkip;
  options.progress = [&](const OutProgress& now) {
    if (now.phase == OutPhase::kCopy && now.current == "weights.bin") Put(source_ / "weights.bin", "begun anew");
  };
  EXPECT_EQ(StageOutDirectory(source_, destination_, options).files.size(), 2u);
  EXPECT_FALSE(fs::exists(destination_ / "weights.bin"));
  EXPECT_EQ(ReadFile(destination_ / "deep/er/log.txt"), "one line\n");
  options.progress = {};
  EXPECT_EQ(StageOutDirectory(source_, destination_, options).files.size(), 1u);
  EXPECT_EQ(ReadFile(destination_ / "weights.bin"), "begun anew");
}

TEST_F(StageOutTest, PublishesNothingThatIsNotAccepted) {
  StageOutOptions options;
  options.accept = [](const auto&) { throw Error(ErrorKind::kFailed, "not this one"); };
  EXPECT_THAT(MessageOfStageOut(options), HasSubstr("not this one"));
  EXPECT_THAT(NamesOf(files_ / "shared"), IsEmpty());
}

TEST_F(StageOutTest, EndsWhenItIsCancelled) {
  StageOutOptions options;
  options.cancelled = [] { return true; };
  EXPECT_THAT(MessageOfStageOut(options), HasSubstr("cancelled"));
  EXPECT_THAT(NamesOf(files_ / "shared"), IsEmpty());
}

TEST_F(StageOutTest, StaysBelowItsLimit) {
  StageOutOptions options;
  options.bytes_per_second = Bytes{10'000'000};
  EXPECT_GE(StageOutDirectory(source_, destination_, options).elapsed.count(),
            0.4);  // the last piece need not be waited for
}

TEST_F(StageOutTest, RemovesWhatAnEndedProcessLeftAndNotWhatOneIsAtWorkOn) {
  Put(files_ / "shared/.tmp-out-dead/file", "x");
  Put(files_ / "shared/.tmp-out-gone.lock", "");
  Put(files_ / "shared/.tmp-out-busy/file", "x");
  const auto lock = FileLock::Acquire(files_ / "shared/.tmp-out-busy.lock", LockMode::kExclusive);
  StageOutDirectory(source_, destination_);
  EXPECT_THAT(NamesOf(files_ / "shared"), ElementsAre(".tmp-out-busy", ".tmp-out-busy.lock", "results"));
}

TEST_F(StageOutTest, SaysThatAnotherProcessDoesTheSame) {
  fs::create_directories(files_ / "shared");
  const auto lock = FileLock::Acquire(files_ / "shared/.tmp-out-results.lock", LockMode::kExclusive);
  EXPECT_THAT(MessageOfStageOut(), HasSubstr("another process is staging out"));
}

TEST(ListTreeTest, TakesNoNoticeOfWhatGoesWhileItLooks) {
  const TemporaryDirectory files;
  Put(files / "tree/stays", "x");
  std::atomic<bool> done{false};
  std::thread program([&] {
    while (!done) {
      for (int i = 0; i < 50; ++i) Put(files / "tree" / std::to_string(i) / "x.tmp", "");
      for (int i = 0; i < 50; ++i) fs::rename(files / "tree" / std::to_string(i) / "x.tmp", files / "x");
      for (int i = 0; i < 50; ++i) fs::remove(files / "tree" / std::to_string(i));
    }
  });
  std::string message;
  const auto list = [&] {
    const auto tree = ListTree(files / "tree");
    if (!tree.refused.empty()) throw ErrorOf(tree.refused);
  };
  for (int i = 0; i < 300 && message.empty(); ++i) message = MessageOf(list);
  done = true;
  program.join();
  EXPECT_EQ(message, "");
}

TEST(ReadBackTest, FindsTheFirstBlockThatDiffersWhateverTheSize) {
  const TemporaryDirectory files;
  for (const std::size_t size : {1u, 4096u, 1u << 20, 4u << 20, (4u << 20) + 1, 9'000'000u}) {
    const std::string content(size, 'c');
    Put(files / "file", content);
    std::vector<std::uint32_t> blocks;
    for (std::size_t at = 0; at < size; at += 4 << 20) {
      blocks.push_back(Crc32c(std::string_view(content).substr(at, 4 << 20)));
    }
    EXPECT_EQ(ReadBack(files / "file", Bytes{size}, blocks, [](auto) {}), Crc32c(content)) << size;
    blocks.back() ^= 1;
    EXPECT_THROW(ReadBack(files / "file", Bytes{size}, blocks, [](auto) {}), Error) << size;
  }
}

}  // namespace
}  // namespace slipway::staging
