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

TEST(MissingInterpreter, IsThatOfTheFirstLine) {
  test::TempDirectory dir;
  const auto of = [&](const std::string& text) {
    WriteFile(dir / "s.sh", text, 0750);
    return MissingInterpreter({"./s.sh", "word"}, dir.path());
  };
  EXPECT_EQ(of("#!/no/such/interp\n"), "/no/such/interp");
  EXPECT_EQ(of("#! \t/no/such/interp -x\necho"), "/no/such/interp");
  EXPECT_EQ(of("#!/no/such/interp"), "/no/such/interp");
  EXPECT_EQ(of("#!/bin/sh\r\n"), "/bin/sh\\r");
  for (const char* fine : {"#!/bin/sh\n", "#!/bin/sh -e", "", "#", "#!", "#!  \n/no/such",
                           "\x7f"
                           "ELF",
                           "echo"}) {
    EXPECT_EQ(of(fine), "") << fine;
  }
  EXPECT_EQ(MissingInterpreter({"./not-there"}, dir.path()), "");
  EXPECT_EQ(MissingInterpreter({"./"}, dir.path()), "");
  EXPECT_EQ(MissingInterpreter({"no-such-program-on-path"}, dir.path()), "");
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
