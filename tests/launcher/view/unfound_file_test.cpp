// Which file beside the spec a program says that it has not found.

#include "launcher/view/unfound_file.h"

#include <gtest/gtest.h>

#include "core/files.h"
#include "tests/support/temp_directory.h"

namespace slipway::launcher {
namespace {

TEST(UnfoundFile, IsOneThatTheLastWordsName) {
  const test::TempDirectory directory;
  MakeDirectories(directory / "data");
  WriteFile(directory / "data/x.csv", "1\n");
  const auto found = [&](std::string_view lines) { return UnfoundFile(lines, directory.path()).string(); };
  EXPECT_EQ(found("Traceback:\nFileNotFoundError: [Errno 2] No such file or directory: 'data/x.csv'\n"), "data/x.csv");
  EXPECT_EQ(found("cat: ./data/x.csv: No such file or directory"), "data/x.csv");
  EXPECT_EQ(found("ls: cannot access 'data': No such file or directory"), "data");
  EXPECT_EQ(found("cat: data/y.csv: No such file or directory"), "") << "it is not there";
  EXPECT_EQ(found("reading data/x.csv\nValueError: a column is missing"), "") << "another error";
  EXPECT_EQ(found("cat: " + (directory / "data").string() + ": No such file or directory"), "") << "no relative path";
  EXPECT_EQ(found("cat: ../data/x.csv: No such file or directory"), "");
  EXPECT_EQ(found("cat: .: No such file or directory"), "");
}

}  // namespace
}  // namespace slipway::launcher
