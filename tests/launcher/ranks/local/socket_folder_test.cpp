// Who removes the folders for sockets that a killed process leaves behind.

#include "launcher/ranks/local/socket_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>
#include <string>

#include "core/environment.h"
#include "core/error.h"
#include "tests/support/forked_child.h"
#include "tests/support/temp_directory.h"

namespace slipway::launcher {
namespace {
namespace fs = std::filesystem;

class SocketFolders : public testing::Test {
 protected:
  fs::path NewPath() const { return SocketFolder::NewPathBelow(base_.path()); }
  /// Whoever makes one clears up first.
  void MakeAnother() const { SocketFolder{NewPath()}; }

  /// As a process leaves it that was killed, with a socket in it.
  fs::path Abandon() const {
    const auto path = NewPath();
    test::ForkedChild child([&] {
      static const SocketFolder folder(path);
      WriteFile(path / "door-1", "");
    });
    child.Kill();
    EXPECT_TRUE(fs::exists(path / "door-1"));
    return path;
  }

  const test::TempDirectory base_;
};

TEST_F(SocketFolders, ArePrivateAndRemovedInTheEnd) {
  const auto path = NewPath();
  {
    const SocketFolder folder(path);
    struct stat info {};
    ASSERT_EQ(::stat(path.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0700u);
    EXPECT_THROW(SocketFolder again(path), SystemError) << "it could be somebody else's";
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(SocketFolders, OfKilledProcessesAreRemovedByTheNext) {
  const auto left = Abandon();
  MakeAnother();
  EXPECT_FALSE(fs::exists(left));
}

TEST_F(SocketFolders, OfKilledAgentsAreRemovedByTheNext) {
  const auto left = Abandon();
  const auto of_node = fs::path(left.native() + "-n1.cluster");
  fs::rename(left, of_node);
  MakeAnother();
  EXPECT_FALSE(fs::exists(of_node));
}

TEST_F(SocketFolders, OfLivingProcessesStay) {
  const SocketFolder ours(NewPath());
  MakeAnother();
  EXPECT_TRUE(fs::exists(ours.path()));
}

TEST_F(SocketFolders, OfOtherMachinesStay) {
  const auto left = Abandon();
  WriteFile(left / "owner", "11111111-2222-3333-4444-555555555555");
  MakeAnother();
  EXPECT_TRUE(fs::exists(left)) << "its process may live where the lock is not seen";
}

TEST_F(SocketFolders, ThatAreBeingMadeStay) {
  const auto left = Abandon();
  WriteFile(left / "owner", "");
  MakeAnother();
  EXPECT_TRUE(fs::exists(left));
}

TEST_F(SocketFolders, ThatOthersMayWriteToStay) {
  const auto left = Abandon();
  fs::permissions(left, fs::perms::group_write, fs::perm_options::add);
  MakeAnother();
  EXPECT_TRUE(fs::exists(left));
}

TEST_F(SocketFolders, OfOtherUsersStay) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs another user";
  const auto left = Abandon();
  ASSERT_EQ(::chown(left.c_str(), 65534, 65534), 0);
  MakeAnother();
  EXPECT_TRUE(fs::exists(left));
}

TEST_F(SocketFolders, AreNotLookedForBehindLinks) {
  const auto left = Abandon();
  const auto kept = base_ / "kept";
  fs::rename(left, kept);
  fs::create_directory_symlink(kept, left);
  MakeAnother();
  EXPECT_TRUE(fs::exists(kept / "door-1"));
}

TEST_F(SocketFolders, OfOtherNamesStay) {
  const auto left = Abandon();
  for (const auto* name : {"slipway-0123456789abcdeg", "slipway-0123456789abcdef0", "slipwaz-0123456789abcdef"}) {
    fs::rename(left, base_ / name);
    MakeAnother();
    EXPECT_TRUE(fs::exists(base_ / name));
    fs::rename(base_ / name, left);
  }
}

/// What TMPDIR is in a test, and afterwards again.
class TemporaryDirectoryOfTest {
 public:
  explicit TemporaryDirectoryOfTest(const fs::path& path) { ::setenv("TMPDIR", path.c_str(), 1); }
  TemporaryDirectoryOfTest(const TemporaryDirectoryOfTest&) = delete;
  TemporaryDirectoryOfTest& operator=(const TemporaryDirectoryOfTest&) = delete;
  ~TemporaryDirectoryOfTest() { before_ ? ::setenv("TMPDIR", before_->c_str(), 1) : ::unsetenv("TMPDIR"); }

 private:
  const std::optional<std::string> before_ = Environment::Inherited().Get("TMPDIR");
};

TEST_F(SocketFolders, NeedATmpdirThatIsADirectory) {
  WriteFile(base_ / "file", "");
  for (const auto* name : {"missing", "file"}) {
    const TemporaryDirectoryOfTest directory(base_ / name);
    try {
      SocketFolder::NewPath();
      FAIL() << name << " was taken";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kEnvironment);
      EXPECT_EQ(error.message(), "TMPDIR is '" + (base_ / name).string() + "', which is no directory");
      EXPECT_EQ(error.next_step(), "correct TMPDIR or unset it");
    }
  }
}

}  // namespace
}  // namespace slipway::launcher
