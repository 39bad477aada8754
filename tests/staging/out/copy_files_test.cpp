#include "staging/out/copy_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <atomic>

#include "core/files.h"
#include "tests/staging/staging_support.h"

namespace slipway::staging {
namespace {

using ::testing::ElementsAre;
using ::testing::StartsWith;

/// Copies files into one directory; a child process stops itself in the middle of it.
class CopyFilesBesideAnother : public ::testing::Test {
 protected:
  void SetUp() override {
    Put(files_ / "in/a", "1");
    Put(files_ / "in/b", "2");
    child_ = InChild([&] {
      std::atomic<bool> stopped = false;
      StageOptions options;
      options.cancelled = [&] {
        if (!stopped.exchange(true)) ::raise(SIGSTOP);
        return false;
      };
      CopyFiles({{files_ / "in/a", "a"}}, directory_, options);
      return true;
    });
    int status = 0;
    ASSERT_EQ(::waitpid(child_, &status, WUNTRACED), child_);
    ASSERT_TRUE(WIFSTOPPED(status));
    ASSERT_THAT(NamesOf(directory_), ElementsAre(StartsWith(".tmp-copy-")));
    CopyFiles({{files_ / "in/b", "b"}}, directory_);
  }
  int EndOfChild(int number) {
    ::kill(child_, number);
    int status = 0;
    EXPECT_EQ(::waitpid(child_, &status, 0), child_);
    return status;
  }

  TemporaryDirectory files_;
  std::filesystem::path directory_ = files_ / "out";
  pid_t child_ = 0;
};

TEST_F(CopyFilesBesideAnother, LeavesItsFolderAlone) {
  EXPECT_THAT(NamesOf(directory_), ElementsAre(StartsWith(".tmp-copy-"), "b"));
  EXPECT_EQ(EndOfChild(SIGCONT), 0);
  EXPECT_THAT(NamesOf(directory_), ElementsAre("a", "b"));
}

TEST_F(CopyFilesBesideAnother, RemovesItsFolderOnceItWasKilled) {
  Put(directory_ / ".tmp-copy-1.1.another-boot.another-host/a", "1");
  EXPECT_TRUE(WIFSIGNALED(EndOfChild(SIGKILL)));
  CopyFiles({{files_ / "in/b", "b"}}, directory_);
  EXPECT_THAT(NamesOf(directory_), ElementsAre(".tmp-copy-1.1.another-boot.another-host", "b"));
}

}  // namespace
}  // namespace slipway::staging
