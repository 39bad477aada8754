#include "core/documents.h"

#include <gmock/gmock.h>

#include "core/error.h"
#include "core/files.h"
#include "tests/support/privileges.h"
#include "tests/support/temp_directory.h"

namespace slipway {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class MatchingPathsTest : public testing::Test {
 protected:
  void SetUp() override {
    fs::permissions(directory_.path(), fs::perms(0755));  // others shall get as far as the folder that is closed
    for (const auto* name : {"b2", "a1", "a10", ".hidden", "a[1]"}) WriteFile(At(name), "");
  }
  std::string At(const std::string& name) const { return directory_ / name; }
  std::string RefusalOf(const std::string& pattern) const {
    try {
      MatchingPaths(At(pattern));
      return "";
    } catch (const SystemError& error) {
      return error.message();
    }
  }

  test::TempDirectory directory_;
};

TEST_F(MatchingPathsTest, AreSorted) {
  EXPECT_THAT(MatchingPaths(At("a[0-9]*")), ElementsAre(At("a1"), At("a10")));
  EXPECT_THAT(MatchingPaths(At("c*")), IsEmpty());
  EXPECT_THAT(MatchingPaths(At("c")), IsEmpty());
}

TEST(EntriesOf, AreSortedAndNoneWithoutAFolder) {
  test::TempDirectory directory;
  EXPECT_THAT(EntriesOf(directory.path()), IsEmpty());
  for (const auto* name : {"b", "a10", ".c"}) WriteFile(directory / name, "");
  EXPECT_THAT(EntriesOf(directory.path()), ElementsAre(directory / ".c", directory / "a10", directory / "b"));
  EXPECT_THAT(EntriesOf(directory / "none"), IsEmpty());
  EXPECT_THAT(EntriesOf(directory / "b"), IsEmpty()) << "a file";
}

TEST(EntriesBelow, DoNotFollowLinksAndNameAFolderThatCannotBeRead) {
  test::TempDirectory directory;
  fs::permissions(directory.path(), fs::perms(0755));
  fs::create_directories(directory / "a/b");
  WriteFile(directory / "a/b/file", "");
  fs::create_symlink("..", directory / "a/up");
  fs::create_symlink("loop", directory / "loop");
  std::vector<fs::path> found;
  for (const auto& entry : EntriesBelow(directory.path())) found.push_back(entry.path());
  EXPECT_THAT(found, testing::UnorderedElementsAre(directory / "a", directory / "a/b", directory / "a/b/file",
                                                   directory / "a/up", directory / "loop"));
  fs::permissions(directory / "a/b", fs::perms::none);
  EXPECT_TRUE(test::AsOrdinaryUser([&] {
    try {
      EntriesBelow(directory.path());
      return false;
    } catch (const SystemError& error) {
      return error.message().find((directory / "a/b").string()) != std::string::npos;
    }
  }));
  fs::permissions(directory / "a/b", fs::perms::owner_all);
}

TEST_F(MatchingPathsTest, AreNeverTheFolderItself) { EXPECT_THAT(MatchingPaths(At(".*")), ElementsAre(At(".hidden"))); }

TEST_F(MatchingPathsTest, APathThatExistsFitsItself) {
  EXPECT_THAT(MatchingPaths(At("a[1]")), ElementsAre(At("a[1]")));
  fs::remove(At("a[1]"));
  EXPECT_THAT(MatchingPaths(At("a[1]")), ElementsAre(At("a1")));
}

TEST_F(MatchingPathsTest, ADirectoryThatCannotBeReadIsAnError) {
  EXPECT_THAT(RefusalOf("none/*"), HasSubstr("No such file"));
  fs::create_directory(At("closed"));
  fs::permissions(At("closed"), fs::perms::none);
  EXPECT_TRUE(test::AsOrdinaryUser([&] { return RefusalOf("closed/*").find("cannot read directory") == 0; }));
  EXPECT_TRUE(test::AsOrdinaryUser([&] { return RefusalOf("*/x*").find("cannot read directory") == 0; }));
  fs::permissions(At("closed"), fs::perms::owner_all);
}

}  // namespace
}  // namespace slipway
