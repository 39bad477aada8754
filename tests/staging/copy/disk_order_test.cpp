#include "staging/copy/disk_order.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <numeric>

#include "core/files.h"
#include "tests/staging/staging_support.h"

namespace slipway::staging {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAreArray;

std::vector<SourceFile> MakeFiles(const std::filesystem::path& directory, std::size_t count) {
  std::vector<SourceFile> files(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto path = directory / fmt::format("{:05}", i);
    WriteFile(path, "some bytes");
    files[i].path = path;
    files[i].size = Bytes{10};
  }
  return files;
}

/// The pages of the files are on the disk only, where it has pages at all.
void DropFromCache(const std::vector<SourceFile>& files) {
  for (const auto& file : files) {
    const auto fd = OpenFile(file.path, O_RDONLY);
    ::fsync(fd.get());
    ::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_DONTNEED);
  }
}

std::vector<std::size_t> NumbersTo(std::size_t count) {
  std::vector<std::size_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), std::size_t{0});
  return numbers;
}

TEST(DiskOrder, ReadsByPlaceAndKeepsTheOrderOfEqualOnes) {
  const std::vector<std::optional<std::uint64_t>> places = {30, 10, {}, 20, 10};
  EXPECT_THAT(OrderOfPlaces(places), ElementsAre(2, 1, 4, 3, 0));
}

TEST(DiskOrder, AFileLiesBehindAnotherOnlyRightAfterItsEnd) {
  EXPECT_TRUE(LiesBehind(4096, Bytes{50}, 8192));
  EXPECT_FALSE(LiesBehind(4096, Bytes{50}, 4096));
  EXPECT_FALSE(LiesBehind(4096, Bytes{50}, 0));
  EXPECT_FALSE(LiesBehind(4096, Bytes{50}, 5 << 20));
}

TEST(DiskOrder, NamesEachFileOnceWhereverTheyLie) {
  const TemporaryDirectory directory;
  auto files = MakeFiles(directory.path(), 1000);
  std::reverse(files.begin(), files.end());
  DropFromCache(files);
  EXPECT_THAT(DiskOrder(files), UnorderedElementsAreArray(NumbersTo(files.size())));
}

TEST(DiskOrder, KeepsThePlansOrderOfFilesInMemory) {
  const TemporaryDirectory directory("/dev/shm");
  auto files = MakeFiles(directory.path(), 1000);
  std::reverse(files.begin(), files.end());
  EXPECT_EQ(DiskOrder(files), NumbersTo(files.size()));
}

TEST(DiskOrder, LeavesFilesThatAreGoneToTheCopier) {
  const std::vector<SourceFile> files(1000, SourceFile{});
  EXPECT_EQ(DiskOrder(files), NumbersTo(files.size()));
}

}  // namespace
}  // namespace slipway::staging
