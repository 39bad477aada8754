#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/files.h"
#include "core/process.h"
#include "tests/support/temp_directory.h"

namespace slipway {
namespace {

/// The words as /bin/sh reads them, each ended by a zero byte.
std::string ReadByShell(const std::vector<std::string>& words) {
  return RunAndCapture({.argv = {"/bin/sh", "-c", "printf '%s\\0' " + QuoteForShell(words)}}).output;
}

TEST(QuoteForShell, LeavesPlainWordsAsTheyAre) {
  EXPECT_EQ(QuoteForShell({"mpirun", "-np", "2", "--x=y", "/a/b.c"}), "mpirun -np 2 --x=y /a/b.c");
  EXPECT_EQ(QuoteForShell({}), "");
}

TEST(QuoteForShell, QuotesWhatAShellWouldRead) {
  EXPECT_EQ(QuoteForShell({"echo", "", "a b", "it's", "$HOME"}), R"(echo '' 'a b' 'it'\''s' '$HOME')");
}

TEST(QuoteForShell, AFirstWordWithAnEqualsSignIsAProgramAndNoAssignment) {
  test::TempDirectory dir;
  WriteFile(dir / "a=b", "#!/bin/sh\necho ran \"$1\"\n", 0750);
  auto environment = Environment::Inherited();
  environment.Set("PATH", dir.path().string() + ":/usr/bin:/bin");
  const auto line = QuoteForShell({"a=b", "c=d"});
  EXPECT_EQ(RunAndCapture({.argv = {"/bin/sh", "-c", line}, .environment = environment}).output, "ran c=d\n");
}

RC_GTEST_PROP(QuoteForShell, IsReadBackByTheShellAsTheSameWords, ()) {
  const auto character = rc::gen::oneOf(rc::gen::elementOf(std::string(" \t\n'\"\\$`*?[]{}()<>|&;!~#=%-a1")),
                                        rc::gen::inRange<char>(1, 127));
  const auto words = *rc::gen::resize(
      8, rc::gen::nonEmpty(rc::gen::container<std::vector<std::string>>(rc::gen::container<std::string>(character))));
  std::string expected;
  for (const auto& word : words) expected += word + '\0';
  RC_ASSERT(ReadByShell(words) == expected);
}

}  // namespace
}  // namespace slipway
