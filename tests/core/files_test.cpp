#include "core/files.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <fstream>
#include <optional>
#include <thread>

#include "core/error.h"
#include "core/text.h"
#include "tests/support/forked_child.h"
#include "tests/support/temp_directory.h"

namespace slipway {
namespace {

namespace fs = std::filesystem;
using test::ForkedChild;
using test::TempDirectory;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

std::vector<std::string> NamesIn(const fs::path& directory) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(directory)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

mode_t ModeOf(const fs::path& path) {
  struct stat info {};
  EXPECT_EQ(::stat(path.c_str(), &info), 0);
  return info.st_mode & 0777;
}

TEST(Files, ReadBackWhatWasWritten) {
  TempDirectory dir;
  const std::string content("a\0b\n\xff", 5);
  WriteFile(dir / "x", content);
  EXPECT_EQ(ReadFile(dir / "x"), content);
  WriteFile(dir / "x", "short");
  EXPECT_EQ(ReadFile(dir / "x"), "short");
}

TEST(Files, AMissingFileIsAnErrorThatNamesIt) {
  TempDirectory dir;
  EXPECT_EQ(ReadFileIfPresent(dir / "none"), std::nullopt);
  EXPECT_EQ(ReadFileIfPresent(dir / "none/deeper"), std::nullopt);
  try {
    ReadFile(dir / "none");
    FAIL() << "a missing file was read";
  } catch (const SystemError& error) {
    EXPECT_EQ(error.code(), ENOENT);
    EXPECT_THAT(error.what(), HasSubstr((dir / "none").string()));
  }
}

TEST(ReadAt, GivesLessOnlyAtTheEndOfTheFile) {
  TempDirectory dir;
  WriteFile(dir / "x", "0123456789");
  const auto file = OpenFile(dir / "x", O_RDONLY);
  std::array<std::byte, 4> piece{};
  EXPECT_EQ(ReadUpTo(file.get(), 2, piece, "x"), 4u);
  EXPECT_EQ(AsText(piece), "2345");
  EXPECT_EQ(ReadUpTo(file.get(), 8, piece, "x"), 2u);
  EXPECT_EQ(AsText(piece).substr(0, 2), "89");
  EXPECT_EQ(ReadUpTo(file.get(), 10, piece, "x"), 0u);
}

TEST(ReadAt, SaysWhyNoMoreCame) {
  TempDirectory dir;
  const auto folder = OpenFile(dir.path(), O_RDONLY);
  std::array<std::byte, 4> piece{};
  EXPECT_EQ(TryReadAt(folder.get(), 0, piece).error, EISDIR);
  try {
    ReadUpTo(folder.get(), 0, piece, "the folder");
    FAIL() << "a folder was read";
  } catch (const SystemError& error) {
    EXPECT_EQ(error.code(), EISDIR);
    EXPECT_THAT(error.what(), HasSubstr("cannot read 'the folder'"));
  }
}

TEST(ReadPieces, GivesTheFileInItsOrder) {
  TempDirectory dir;
  WriteFile(dir / "x", "0123456789");
  const auto file = OpenFile(dir / "x", O_RDONLY);
  std::array<std::byte, 4> buffer{};
  std::vector<std::string> pieces;
  ReadPieces(file.get(), buffer, "x", [&](auto piece) { pieces.emplace_back(AsText(piece)); });
  EXPECT_THAT(pieces, ElementsAre("0123", "4567", "89"));
}

TEST(Exists, FollowsLinksAndTakesWhatCannotBeLookedAtForAbsent) {
  TempDirectory dir;
  WriteFile(dir / "x", "");
  fs::create_symlink("x", dir / "link");
  fs::create_symlink("none", dir / "dangling");
  for (const auto* name : {"x", "link"}) {
    EXPECT_TRUE(Exists(dir / name) && IsRegularFile(dir / name) && !IsDirectory(dir / name)) << name;
  }
  for (const auto* name : {"none", "dangling", "x/deeper"}) {
    EXPECT_FALSE(Exists(dir / name) || IsRegularFile(dir / name) || IsDirectory(dir / name)) << name;
  }
  EXPECT_TRUE(Exists(dir.path()) && IsDirectory(dir.path()) && !IsRegularFile(dir.path()));
}

TEST(Files, ThatCannotBeWrittenAreNamedAndNotTheirTemporaryOnes) {
  const auto said = [](const auto& write) -> std::string {
    try {
      write("/nonexistent/report.html", "x", 0600);
    } catch (const SystemError& error) {
      return error.what();
    }
    return "no error";
  };
  for (const auto& text : {said(WriteFileAtomically), said(WriteFileDurably)}) {
    EXPECT_THAT(text, HasSubstr("cannot write '/nonexistent/report.html': No such file"));
    EXPECT_THAT(text, testing::Not(HasSubstr(".tmp")));
  }
}

TEST(Files, AreNotReadableForOthers) {
  TempDirectory dir;
  const mode_t saved = ::umask(0);
  MakeDirectories(dir / "a/b/");
  WriteFile(dir / "plain", "");
  WriteFileDurably(dir / "durable", "");
  WriteFileAtomically(dir / "atomic", "");
  ::umask(saved);
  EXPECT_EQ(ModeOf(dir / "a/b"), kDirectoryMode);
  for (const auto* name : {"plain", "durable", "atomic"}) EXPECT_EQ(ModeOf(dir / name), kFileMode) << name;
}

TEST(DurableFile, AppearsOnlyWithCommit) {
  TempDirectory dir;
  {
    DurableFile file(dir / "x");
    file.Write("half");
    EXPECT_FALSE(fs::exists(dir / "x"));
  }
  EXPECT_THAT(NamesIn(dir.path()), IsEmpty()) << "an unfinished file left something behind";
  {
    DurableFile file(dir / "x");
    file.Write("one ");
    file.Write("two");
    file.Commit();
  }
  EXPECT_EQ(ReadFile(dir / "x"), "one two");
  EXPECT_THAT(NamesIn(dir.path()), ElementsAre("x"));
}

TEST(DurableFile, KeepsTheOldContentWhenItsWriterIsKilledInTheMiddle) {
  TempDirectory dir;
  WriteFileDurably(dir / "x", "old");
  ForkedChild writer([&] {
    auto* file = new DurableFile(dir / "x");
    file->Write("new, but not all of it");
  });
  writer.Kill();
  EXPECT_EQ(ReadFile(dir / "x"), "old");
  WriteFileDurably(dir / "x", "newer");
  EXPECT_EQ(ReadFile(dir / "x"), "newer");
}

TEST(DurableFile, NamesTheFileWhenTheDiskIsFull) {
  try {
    WriteFile("/dev/full", "x");
    FAIL() << "writing to a full device succeeded";
  } catch (const SystemError& error) {
    EXPECT_EQ(error.code(), ENOSPC);
    EXPECT_THAT(error.what(), HasSubstr("/dev/full"));
  }
}

TEST(SyncFile, NamesWhatIsNotThereAndWhatCannotBeDurable) {
  TempDirectory place;
  const auto error_of = [](const auto& act) {
    try {
      act();
    } catch (const SystemError& error) {
      return std::pair(error.code(), error.message());
    }
    return std::pair(0, std::string());
  };
  WriteFile(place / "weights", "0.5");
  EXPECT_THAT(error_of([&] { SyncFile(place / "weights"); }), Pair(0, ""));
  EXPECT_THAT(error_of([&] { SyncFile(place / "gone"); }), Pair(ENOENT, HasSubstr((place / "gone").string())));
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const UniqueFd reader(ends[0]);
  const UniqueFd writer(ends[1]);
  EXPECT_THAT(error_of([&] { SyncFile(writer.get(), "the pipe"); }), Pair(EINVAL, HasSubstr("cannot sync 'the pipe'")));
}

TEST(MakeDirectories, AcceptsThoseThatAreThereAndNamesAFileInTheWay) {
  TempDirectory dir;
  MakeDirectories(dir / "a/b/c");
  MakeDirectories(dir / "a/b/c");
  EXPECT_TRUE(fs::is_directory(dir / "a/b/c"));
  WriteFile(dir / "file", "");
  EXPECT_THROW(MakeDirectories(dir / "file"), SystemError);
  EXPECT_THROW(MakeDirectories(dir / "file/below"), SystemError);
}

TEST(RemoveTree, NeverFollowsALinkOut) {
  TempDirectory dir;
  MakeDirectories(dir / "tree/deep");
  WriteFile(dir / "precious", "keep me");
  MakeDirectories(dir / "outside");
  WriteFile(dir / "outside/precious", "keep me");
  fs::create_symlink(dir / "outside", dir / "tree/deep/link");
  fs::create_symlink(dir / "precious", dir / "tree/file-link");
  RemoveTree(dir / "tree");
  RemoveTree(dir / "tree");
  EXPECT_FALSE(fs::exists(dir / "tree"));
  EXPECT_TRUE(fs::exists(dir / "outside/precious"));
  EXPECT_TRUE(fs::exists(dir / "precious"));
}

TEST(BeginsWith, ComparesWholeNames) {
  EXPECT_TRUE(BeginsWith("/a/b", "/a/b"));
  EXPECT_TRUE(BeginsWith("/a/b/c", "/a/b"));
  EXPECT_TRUE(BeginsWith("/a//b/c", "/a/b"));
  EXPECT_FALSE(BeginsWith("/a/bc", "/a/b"));
  EXPECT_FALSE(BeginsWith("/a", "/a/b"));
  EXPECT_FALSE(BeginsWith("a/b", "/a"));
  EXPECT_TRUE(BeginsWith("/a", "/"));
  EXPECT_FALSE(BeginsWith("a", "/"));
  EXPECT_TRUE(BeginsWith("a/b", ""));
}

TEST(BeginsWith, IgnoresASlashAtTheEndOfTheFolder) {
  EXPECT_TRUE(BeginsWith("/a/b", "/a/b/"));
  EXPECT_TRUE(BeginsWith("/a/b/", "/a/b"));
  EXPECT_TRUE(BeginsWith("/a/b/", "/a/b/"));
  EXPECT_TRUE(BeginsWith("/a/b/c", "/a/b//"));
  EXPECT_FALSE(BeginsWith("/a/bc", "/a/b/"));
}

TEST(BeginsWith, TakesDotsAsNames) {
  EXPECT_TRUE(BeginsWith("/a/b/../c", "/a/b"));
  EXPECT_FALSE(BeginsWith("/a/c/../b", "/a/b"));
  EXPECT_FALSE(BeginsWith("../a", "a"));
  EXPECT_TRUE(BeginsWith("../a/b", "../a"));
}

TEST(LiesWithin, ResolvesDotsAndLinks) {
  TempDirectory dir;
  MakeDirectories(dir / "tree/sub");
  MakeDirectories(dir / "treehouse");
  const auto tree = dir / "tree";
  EXPECT_TRUE(LiesWithin(tree, tree));
  EXPECT_TRUE(LiesWithin(tree / "sub", tree));
  EXPECT_TRUE(LiesWithin(tree / "not/yet/there", tree));
  EXPECT_TRUE(LiesWithin(tree / "sub/../x", tree));
  EXPECT_FALSE(LiesWithin(tree / "../treehouse", tree));
  EXPECT_FALSE(LiesWithin(dir / "treehouse", tree)) << "a common prefix of the name is not a parent";
  EXPECT_FALSE(LiesWithin(tree / "sub/../../x", tree));
  EXPECT_FALSE(LiesWithin(dir.path(), tree));
  fs::create_directory_symlink(dir / "treehouse", tree / "out");
  EXPECT_FALSE(LiesWithin(tree / "out", tree));
  EXPECT_FALSE(LiesWithin(tree / "out/file", tree));
  fs::create_directory_symlink("sub", tree / "in");
  EXPECT_TRUE(LiesWithin(tree / "in/file", tree));
}

TEST(LiesWithin, FollowsALinkWhoseTargetIsNotThereYet) {
  TempDirectory dir;
  MakeDirectories(dir / "tree");
  fs::create_symlink(dir / "outside-not-yet", dir / "tree/link");
  EXPECT_FALSE(LiesWithin(dir / "tree/link", dir / "tree"));
  EXPECT_FALSE(LiesWithin(dir / "tree/link/file", dir / "tree"));
  fs::create_symlink("../outside-not-yet", dir / "tree/relative");
  EXPECT_FALSE(LiesWithin(dir / "tree/relative", dir / "tree"));
  fs::create_symlink("inside-not-yet", dir / "tree/good");
  EXPECT_TRUE(LiesWithin(dir / "tree/good/file", dir / "tree"));
}

TEST(LiesWithin, ReadsATreeThatIsNotThereYet) {
  TempDirectory dir;
  EXPECT_TRUE(LiesWithin(dir / "new/file", dir / "new/"));
  EXPECT_TRUE(LiesWithin(dir / "new/", dir / "new"));
  EXPECT_FALSE(LiesWithin(dir / "news", dir / "new/"));
}

TEST(LiesWithin, NamesALoopOfLinks) {
  TempDirectory dir;
  fs::create_symlink("b", dir / "a");
  fs::create_symlink("a", dir / "b");
  EXPECT_THROW(LiesWithin(dir / "a/x", dir.path()), SystemError);
}

TEST(SpaceOf, KnowsMoreCapacityThanSpace) {
  const auto space = SpaceOf("/tmp");
  EXPECT_GT(space.capacity.count, 0u);
  EXPECT_LE(space.available, space.capacity);
  EXPECT_THROW(SpaceOf("/no/such/place"), SystemError);
}

TEST(FileLock, ExclusiveShutsOthersOutAndSharedOnesMeet) {
  TempDirectory dir;
  {
    auto writer = FileLock::TryAcquire(dir / "lock", LockMode::kExclusive);
    ASSERT_TRUE(writer);
    writer->Describe("run a, a longer text");
    writer->Describe("run b");
    EXPECT_EQ(ReadFile(dir / "lock"), "run b");
    EXPECT_FALSE(FileLock::TryAcquire(dir / "lock", LockMode::kExclusive));
    EXPECT_FALSE(FileLock::TryAcquire(dir / "lock", LockMode::kShared));
  }
  const auto one = FileLock::TryAcquire(dir / "lock", LockMode::kShared);
  const auto two = FileLock::TryAcquire(dir / "lock", LockMode::kShared);
  EXPECT_TRUE(one && two);
  EXPECT_FALSE(FileLock::TryAcquire(dir / "lock", LockMode::kExclusive));
}

TEST(FileLock, IsDroppedWhenItsHolderIsKilled) {
  TempDirectory dir;
  ForkedChild holder([&] { new FileLock(FileLock::Acquire(dir / "lock", LockMode::kExclusive)); });
  EXPECT_FALSE(FileLock::TryAcquire(dir / "lock", LockMode::kShared));
  holder.Kill();
  EXPECT_TRUE(FileLock::TryAcquire(dir / "lock", LockMode::kExclusive));
}

TEST(FileLock, HoldsTheFileThatHasTheNameAlsoWhenACleanerRemovedTheOneItWaitedFor) {
  TempDirectory dir;
  std::optional<FileLock> first = FileLock::Acquire(dir / "lock", LockMode::kExclusive);
  std::thread waiter([&] {
    const auto second = FileLock::Acquire(dir / "lock", LockMode::kExclusive);
    EXPECT_FALSE(FileLock::TryAcquire(dir / "lock", LockMode::kExclusive));
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));  // it waits for the file that is gone in a moment
  fs::remove(dir / "lock");
  first.reset();
  waiter.join();
}

TEST(FileLock, ItsTimesSayWhenItWasLastTaken) {
  TempDirectory dir;
  WriteFile(dir / "lock", "");
  const auto old = fs::last_write_time(dir / "lock") - std::chrono::hours(24 * 30);
  fs::last_write_time(dir / "lock", old);
  EXPECT_TRUE(FileLock::TryLook(dir / "lock"));
  EXPECT_EQ(fs::last_write_time(dir / "lock"), old);
  EXPECT_TRUE(FileLock::TryAcquire(dir / "lock", LockMode::kShared));
  EXPECT_GT(fs::last_write_time(dir / "lock"), old + std::chrono::hours(1));
}

TEST(FileLock, ALookDisturbsNobodyAndMakesNothing) {
  TempDirectory dir;
  EXPECT_TRUE(FileLock::TryLook(dir / "lock"));
  EXPECT_FALSE(fs::exists(dir / "lock"));
  {
    const auto writer = FileLock::Acquire(dir / "lock", LockMode::kExclusive);
    EXPECT_FALSE(FileLock::TryLook(dir / "lock"));
  }
  const auto one = FileLock::TryLook(dir / "lock");
  EXPECT_TRUE(one && FileLock::TryLook(dir / "lock"));
  EXPECT_FALSE(FileLock::TryAcquire(dir / "lock", LockMode::kExclusive));
}

TEST(UniqueFd, ClosesOnceAndMoves) {
  TempDirectory dir;
  auto first = OpenFile(dir / "x", O_WRONLY | O_CREAT);
  const int number = first.get();
  auto second = std::move(first);
  EXPECT_FALSE(first);
  EXPECT_EQ(second.get(), number);
  second.Reset();
  EXPECT_EQ(::fcntl(number, F_GETFD), -1);
}

}  // namespace
}  // namespace slipway
