// One agent of a run at a time on a node, and nobody else can take its turn.

#include "launcher/ranks/nodes/node_turn.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/error.h"
#include "tests/support/temp_directory.h"

namespace slipway::launcher {
namespace {
namespace fs = std::filesystem;

using std::chrono::milliseconds;

class NodeTurns : public testing::Test {
 protected:
  NodeTurns() {
    for (const auto* parent : {"a", "b"}) fs::create_directory(directory_ / parent);
  }

  fs::path Wanted(const char* parent) const { return directory_ / parent / fmt::format("slipway-{}", ::geteuid()); }
  fs::path Folder() const { return PrivateFolderOfNode({directory_ / "a", directory_ / "b"}); }

  test::TempDirectory directory_;
};

TEST_F(NodeTurns, AreTakenInAFolderThatIsOursAlone) {
  EXPECT_EQ(Folder(), Wanted("a"));
  EXPECT_EQ(Folder(), Wanted("a")) << "by every agent of the user";
  struct stat info {};
  ASSERT_EQ(::stat(Wanted("a").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
}

TEST_F(NodeTurns, PassOverWhatSomebodyElseHasPutThere) {
  fs::create_directory(directory_ / "elsewhere");
  fs::create_directory_symlink(directory_ / "elsewhere", Wanted("a"));
  EXPECT_EQ(Folder(), Wanted("b"));
  ::chmod(Wanted("b").c_str(), 0777);
  try {
    Folder();
    ADD_FAILURE() << "others may write there";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kEnvironment);
    EXPECT_THAT(error.message(), testing::HasSubstr(Wanted("b").string()));
  }
}

TEST_F(NodeTurns, ComeOneAfterTheOther) {
  {
    const NodeTurn turn(Folder(), "run n1", milliseconds(0));
    EXPECT_THROW(NodeTurn(Folder(), "run n1", milliseconds(50)), Error);
    const NodeTurn other(Folder(), "run n2", milliseconds(0));
  }
  EXPECT_TRUE(fs::is_empty(Folder())) << "nothing is left of them";
  const NodeTurn next(Folder(), "run n1", milliseconds(0));
}

}  // namespace
}  // namespace slipway::launcher
