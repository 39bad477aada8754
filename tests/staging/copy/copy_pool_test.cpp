#include "staging/copy/copy_pool.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <mutex>
#include <numeric>

#include "core/clock.h"
#include "core/crc32c.h"
#include "core/error.h"
#include "core/files.h"
#include "tests/staging/staging_support.h"
#include "tests/support/fake_memory.h"

namespace slipway::staging {
namespace {

namespace fs = std::filesystem;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::HasSubstr;

class Recorder : public Arrivals {
 public:
  void FileStarted(std::size_t file, std::int64_t) override {
    const std::lock_guard guard(mutex_);
    started.push_back(file);
  }
  void BlockDone(std::size_t, std::uint64_t block, std::uint32_t crc32c) override {
    const std::lock_guard guard(mutex_);
    blocks.emplace_back(block, crc32c);
  }
  void FileDone(std::size_t file, const CopiedFile&) override {
    const std::lock_guard guard(mutex_);
    done.push_back(file);
  }
  std::vector<std::size_t> started;
  std::vector<std::pair<std::uint64_t, std::uint32_t>> blocks;
  std::vector<std::size_t> done;

 private:
  std::mutex mutex_;
};

/// The copy lies in the file system of the source (the kernel copies), or in RAM (we do).
class CopyPoolTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (GetParam() == std::string("ram")) memory_.emplace("/dev/shm");
    directory_ = memory_ ? memory_->path() / "copy" : files_ / "copy";
    fs::create_directories(directory_);
  }
  StagingPlan Plan() const { return PlanFor(RequestFor(files_ / "source", files_ / "tier", DataFormat::kRaw)); }
  std::vector<CopiedFile> Copy(const CopyOptions& copy = {}, const StageOptions& options = {}) const {
    return CopyAll(Plan(), directory_, copy, options);
  }

  TemporaryDirectory files_;
  std::optional<TemporaryDirectory> memory_;
  fs::path directory_;
};
INSTANTIATE_TEST_SUITE_P(Places, CopyPoolTest, ::testing::Values("disk", "ram"),
                         [](const auto& each) { return each.param; });

std::string Pattern(std::size_t size) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>(i * 31 + i / 4099);
  return text;
}

std::uint64_t SpaceTaken(const fs::path& file) {
  struct stat info {};
  return ::stat(file.c_str(), &info) == 0 ? static_cast<std::uint64_t>(info.st_blocks) * 512 : 0;
}

TEST_P(CopyPoolTest, CopiesFilesOfAllSizes) {
  const std::size_t sizes[] = {0, 1, 4095, kCopyBlock - 1, kCopyBlock, kCopyBlock + 1, kCrcBlock, 2 * kCrcBlock + 5};
  for (const auto size : sizes) Put(files_ / "source" / std::to_string(size), Pattern(size));
  const auto copied = Copy();
  const auto plan = Plan();
  for (std::size_t i = 0; i < copied.size(); ++i) {
    const auto text = ReadFile(directory_ / plan.files[i].name);
    EXPECT_EQ(text, Pattern(plan.files[i].size.count));
    ASSERT_EQ(copied[i].crc32c.size(), (text.size() + kCrcBlock - 1) / kCrcBlock);
    if (!copied[i].crc32c.empty()) {
      EXPECT_EQ(copied[i].crc32c.back(),
                Crc32c(std::string_view(text).substr((copied[i].crc32c.size() - 1) * kCrcBlock)));
    }
  }
}

TEST_P(CopyPoolTest, ASourceThatIsCutMeanwhileIsAChangedOne) {
  Put(files_ / "source/a", Pattern(3 * kCrcBlock));
  StageOptions options;
  options.progress = [&](const StageProgress& now) {
    if (now.done.count > kCrcBlock) fs::resize_file(files_ / "source/a", 1 << 20);
  };
  EXPECT_THAT(MessageOf([&] { Copy({}, options); }), HasSubstr("changed while it was being staged"));
}

TEST_P(CopyPoolTest, TellsOfEveryBlockAndFile) {
  Put(files_ / "source/a", Pattern(2 * kCrcBlock + 5));
  Recorder recorder;
  CopyOptions copy;
  copy.arrivals = &recorder;
  const auto copied = Copy(copy);
  EXPECT_THAT(recorder.started, ElementsAre(0u));
  EXPECT_THAT(recorder.done, ElementsAre(0u));
  const auto& crcs = copied[0].crc32c;
  EXPECT_THAT(recorder.blocks, ElementsAre(std::pair(0u, crcs[0]), std::pair(1u, crcs[1]), std::pair(2u, crcs[2])));
}

TEST_P(CopyPoolTest, BeginsWithWhatTheOrderNamesFirst) {
  for (int i = 100; i < 200; ++i) Put(files_ / "source" / std::to_string(i), "x");
  Recorder recorder;
  CopyOptions copy;
  copy.arrivals = &recorder;
  StageOptions options;
  options.order.resize(100);
  std::iota(options.order.rbegin(), options.order.rend(), std::size_t{0});
  Copy(copy, options);
  recorder.started.resize(10);
  EXPECT_THAT(recorder.started, Each(Ge(100u - 64u - 10u)));
}

TEST_P(CopyPoolTest, RefusesAnOrderThatLeavesAFileOut) {
  Put(files_ / "source/a", "1");
  Put(files_ / "source/b", "2");
  StageOptions options;
  options.order = {1, 1};
  EXPECT_THAT(MessageOf([&] { Copy({}, options); }), HasSubstr("order"));
}

TEST_P(CopyPoolTest, ASparseFileStaysSparse) {
  constexpr std::size_t kHole = 32 << 20;
  Put(files_ / "source/a", "begin");
  fs::resize_file(files_ / "source/a", kHole);
  const auto fd = OpenFile(files_ / "source/a", O_WRONLY | O_APPEND);
  WriteAll(fd.get(), "end", "a");
  Copy();
  EXPECT_EQ(ReadFile(directory_ / "a"), ReadFile(files_ / "source/a"));
  struct stat info {};
  ASSERT_EQ(::stat((directory_ / "a").c_str(), &info), 0);
  EXPECT_LT(info.st_blocks * 512, 2 << 20);
}

TEST_P(CopyPoolTest, ZerosLeftOutShowNothingOfAnEarlierCopy) {
  Put(directory_ / "a", std::string(1 << 20, 'x'));
  Put(files_ / "source/a", "");
  fs::resize_file(files_ / "source/a", 1 << 20);
  Copy();
  EXPECT_EQ(ReadFile(directory_ / "a"), std::string(1 << 20, '\0'));
}

TEST_P(CopyPoolTest, TakesOverOnlyBlocksThatAreStillThere) {
  Put(files_ / "source/a", Pattern(3 * kCrcBlock));
  const auto copied = Copy();
  struct stat info {};
  ASSERT_EQ(::stat((files_ / "source/a").c_str(), &info), 0);
  FlipBit(directory_ / "a", kCrcBlock + 17);
  CopyOptions copy;
  auto& kept = copy.kept.emplace_back();
  kept.ctime_ns = info.st_ctim.tv_sec * std::int64_t{1'000'000'000} + info.st_ctim.tv_nsec;
  kept.crc32c.assign(copied[0].crc32c.begin(), copied[0].crc32c.end());
  for (const bool complete : {true, false}) {
    if (complete) kept.complete = copied[0];
    const auto again = Copy(copy);
    EXPECT_EQ(again[0].kept, Bytes{complete ? 2 * kCrcBlock : 3 * kCrcBlock});
    EXPECT_EQ(again[0].crc32c, copied[0].crc32c);
    EXPECT_EQ(ReadFile(directory_ / "a"), ReadFile(files_ / "source/a"));
    kept.complete.reset();
  }
}

TEST_P(CopyPoolTest, TakesOverNothingFromASourceThatWasTouchedSince) {
  Put(files_ / "source/a", Pattern(2 * kCrcBlock));
  const auto copied = Copy();
  CopyOptions copy;
  copy.kept = {{1, {copied[0].crc32c.begin(), copied[0].crc32c.end()}, copied[0]}};
  EXPECT_EQ(Copy(copy)[0].kept, Bytes{0});
}

TEST_P(CopyPoolTest, ALimitedCopyCanBeCancelledWhileItWaits) {
  Put(files_ / "source/a", Pattern(8 << 20));
  StageOptions options;
  options.bandwidth = Bytes{100'000};
  bool begun = false;
  options.progress = [&](const StageProgress&) { begun = true; };
  options.cancelled = [&] { return begun; };
  const auto started = SystemClock().Steady();
  EXPECT_THROW(Copy({}, options), Error);
  EXPECT_LT(SystemClock().Steady() - started, std::chrono::seconds(40)) << "80 s at the limit";
}

TEST_P(CopyPoolTest, NamesTheFirstFileThatFails) {
  for (int i = 0; i < 50; ++i) Put(files_ / "source" / std::to_string(i), "x");
  const auto plan = Plan();
  fs::remove(files_ / "source/25");
  EXPECT_THAT(MessageOf([&] { CopyAll(plan, directory_, {}, {}); }), HasSubstr("source/25'"));
}

TEST_P(CopyPoolTest, NeverFillsTheMemory) {
  Put(files_ / "source/a", Pattern(3 << 20));
  const test::FakeMemory machine(16);
  CopyOptions copy;
  copy.memory = machine.sources();
  if (GetParam() == std::string("disk")) return void(Copy(copy));
  EXPECT_THROW(Copy(copy), MemoryError);
  EXPECT_EQ(SpaceTaken(directory_ / "a"), 0U);
}

}  // namespace
}  // namespace slipway::staging
