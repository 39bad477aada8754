#include "staging/convert/pending_files.h"

#include <gmock/gmock.h>

#include "core/error.h"
#include "core/files.h"
#include "tests/staging/formats_support.h"
#include "tests/support/temp_directory.h"

namespace slipway::staging {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

std::vector<std::string> PendingNamesIn(const fs::path& directory) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(directory)) names.push_back(entry.path().filename());
  return names;
}

TEST(PendingFiles, ReplaceOlderOnesTogether) {
  const test::TempDirectory directory;
  WriteFile(directory / "b", "older");
  {
    PendingFiles pending(directory.path());
    for (const auto* name : {"a", "b"}) WriteFile(pending.Add(name), "newer");
    EXPECT_THAT(pending.Publish(), ElementsAre(directory / "a", directory / "b"));
    EXPECT_EQ(pending.bytes(), 10u);
  }
  EXPECT_EQ(ReadFile(directory / "b"), "newer");
  EXPECT_THAT(PendingNamesIn(directory.path()), UnorderedElementsAre("a", "b"));
}

TEST(PendingFiles, OneThatCannotTakeItsPlaceLeavesAllAsTheyWere) {
  const test::TempDirectory directory;
  WriteFile(directory / "b", "older");
  fs::create_directories(directory / "c" / "in the way");
  {
    PendingFiles pending(directory.path());
    for (const auto* name : {"a", "b", "c"}) WriteFile(pending.Add(name), "newer");
    EXPECT_THAT(ErrorOf([&] { pending.Publish(); }).message(), HasSubstr("/c'"));
  }
  EXPECT_EQ(ReadFile(directory / "b"), "older");
  EXPECT_THAT(PendingNamesIn(directory.path()), UnorderedElementsAre("b", "c"));
}

}  // namespace
}  // namespace slipway::staging
