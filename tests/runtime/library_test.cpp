// What the built library shows and needs: it lives inside other people's programs. And how a job ends around it.

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

namespace slipway {
namespace {

struct Answer {
  int exit_code = -1;
  std::vector<std::string> lines;
};

Answer Shell(const std::string& command) {
  Answer answer;
  FILE* pipe = ::popen(command.c_str(), "r");
  std::string text;
  std::array<char, 4096> buffer;
  while (const auto count = std::fread(buffer.data(), 1, buffer.size(), pipe)) text.append(buffer.data(), count);
  const int status = ::pclose(pipe);
  if (WIFEXITED(status)) answer.exit_code = WEXITSTATUS(status);
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) answer.lines.push_back(line);
  return answer;
}

const std::string kLibrary = SLIPWAY_BUILD_DIR "/lib/libslipway.so";

TEST(Library, ExportsTheFunctionsOfItsHeaderAndNothingElse) {
  const auto exported = Shell("nm -D --defined-only " + kLibrary + " | awk '{print $NF}' | sort");
  const auto declared =
      Shell("grep -oE 'slipway_[a-z_]+\\(' " SLIPWAY_SOURCE_DIR "/runtime/slipway.h | tr -d '(' | sort -u");
  ASSERT_EQ(exported.exit_code, 0);
  EXPECT_GT(declared.lines.size(), 15u);
  EXPECT_EQ(exported.lines, declared.lines);
}

TEST(Library, NeedsNothingThatAProgramMayBringInAnotherVersion) {
  // Without the addresses, whose digits may read like a name.
  const auto needed = Shell("ldd " + kLibrary + " | sed 's/ (0x.*//'");
  ASSERT_EQ(needed.exit_code, 0);
  EXPECT_GT(needed.lines.size(), 2u);
  for (const auto& line : needed.lines) {
    for (const char* foreign : {"torch", "c10", "yaml", "sqlite", "hdf5", "libfmt", "spdlog", "not found"}) {
      EXPECT_EQ(line.find(foreign), std::string::npos) << line;
    }
  }
}

TEST(Job, EndsWhenOneRankGivesUpWhileTheOthersWait) {
  for (const std::string way : {"exit", "throw"}) {
    const auto answer = Shell("timeout 20 " SLIPWAY_MPIEXEC
                              " --allow-run-as-root --oversubscribe -n 2 " SLIPWAY_BUILD_DIR "/tests/runtime_quitter " +
                              way + " 2>&1");
    EXPECT_EQ(answer.exit_code, 7) << way << ": 124 means that it hung";
  }
}

}  // namespace
}  // namespace slipway
