// What the built libraries, one for each MPI, show and need: they live inside other people's programs. And how a job
// ends around them.

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/temp_directory.h"

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

struct Mpi {
  std::string name;     ///< of lib/slipway/<name>
  std::string mpiexec;  ///< words that start ranks; their number follows. Empty: this MPI has no launcher here
};

std::ostream& operator<<(std::ostream& stream, const Mpi& mpi) { return stream << mpi.name; }

std::vector<Mpi> Mpis() { return {SLIPWAY_MPIS}; }

class Library : public testing::TestWithParam<Mpi> {
 protected:
  const std::string library_ = SLIPWAY_BUILD_DIR "/lib/slipway/" + GetParam().name + "/libslipway.so";
};

TEST_P(Library, ExportsTheFunctionsOfItsHeaderAndNothingElse) {
  const auto exported = Shell("nm -D --defined-only " + library_ + " | awk '{print $NF}' | sort");
  const auto declared =
      Shell("grep -oE 'slipway_[a-z0-9_]+\\(' " SLIPWAY_SOURCE_DIR "/runtime/slipway.h | tr -d '(' | sort -u");
  ASSERT_EQ(exported.exit_code, 0);
  EXPECT_GT(declared.lines.size(), 15u);
  EXPECT_EQ(exported.lines, declared.lines);
}

TEST_P(Library, NeedsNothingThatAProgramMayBringInAnotherVersion) {
  // Without the addresses, whose digits may read like a name.
  const auto needed = Shell("ldd " + library_ + " | sed 's/ (0x.*//'");
  ASSERT_EQ(needed.exit_code, 0);
  EXPECT_GT(needed.lines.size(), 2u);
  for (const auto& line : needed.lines) {
    for (const char* foreign : {"torch", "c10", "yaml", "sqlite", "hdf5", "libfmt", "spdlog", "not found"}) {
      EXPECT_EQ(line.find(foreign), std::string::npos) << line;
    }
  }
}

class Installed : public testing::Test {
 protected:
  void SetUp() override {
    const auto installed = Shell("cmake -DCMAKE_INSTALL_PREFIX=" + Prefix() +
                                 " -P " SLIPWAY_BUILD_DIR "/runtime/cmake_install.cmake 2>&1");
    ASSERT_EQ(installed.exit_code, 0) << (installed.lines.empty() ? "" : installed.lines.back());
  }
  std::string Prefix() const { return (folder_ / "prefix").string(); }

  /// Configures and builds a project of one program that uses slipway::slipway; returns the folder of the build.
  std::string BuildByCMake(const std::filesystem::path& project, const std::string& language,
                           const std::string& description) const {
    std::ofstream(project / "CMakeLists.txt")
        << "cmake_minimum_required(VERSION 3.25)\nproject(program LANGUAGES " << language << ")\n"
        << "find_package(slipway 0.1 REQUIRED)\n"
        << description << "target_link_libraries(program PRIVATE slipway::slipway)\n";
    const auto build = project.string() + "-build";
    const auto compiler = language == "CXX" ? " -DCMAKE_CXX_COMPILER=" SLIPWAY_CXX
                                              " '-DCMAKE_CXX_FLAGS=" SLIPWAY_SANITIZER_FLAGS "'"
                                            : "";
    const auto built = Shell("(cmake -S " + project.string() + " -B " + build + " -DCMAKE_PREFIX_PATH=" + Prefix() +
                             compiler + " && cmake --build " + build + ") 2>&1");
    EXPECT_EQ(built.exit_code, 0) << testing::PrintToString(built.lines);
    return build;
  }

  test::TempDirectory folder_;
};

TEST_F(Installed, HeadersAndLibraryAreEnoughToBuildAndStartAProgram) {
  const auto source = (folder_ / "program.cpp").string();
  const auto program = (folder_ / "program").string();
  std::ofstream(source) << "#include <slipway.hpp>\n"
                           "int main() { slipway::client::Session session; return session.size() - 1; }\n";
  const auto built =
      Shell(SLIPWAY_CXX " -std=c++20 " SLIPWAY_SANITIZER_FLAGS " " + source + " -I" + Prefix() + "/include -L" +
            Prefix() + "/lib -lslipway -Wl,-rpath," + Prefix() + "/lib -o " + program + " 2>&1");
  ASSERT_EQ(built.exit_code, 0) << (built.lines.empty() ? "" : built.lines.front());
  EXPECT_EQ(Shell(program + " 2>&1").exit_code, 0);
}

TEST_F(Installed, OtherBuildsFindItByPkgConfigAndByCMake) {
  const auto project = folder_ / "project";
  std::filesystem::create_directory(project);
  std::ofstream(project / "program.c")
      << "#include <slipway.h>\nint main(void) { return slipway_version()[0] == 0; }\n";
  const auto flags = "$(PKG_CONFIG_PATH=" + Prefix() + "/lib/pkgconfig pkg-config --cflags --libs slipway)";
  const auto source = (project / "program.c").string();
  const auto built = Shell(SLIPWAY_CXX " " SLIPWAY_SANITIZER_FLAGS " " + source + " " + flags + " -o " +
                           (folder_ / "program").string() + " 2>&1");
  ASSERT_EQ(built.exit_code, 0) << testing::PrintToString(built.lines);
  EXPECT_EQ(Shell((folder_ / "program").string()).exit_code, 0);

  const auto build = BuildByCMake(project, "CXX",
                                  "set_source_files_properties(program.c PROPERTIES LANGUAGE CXX)\n"
                                  "add_executable(program program.c)\n");
  EXPECT_EQ(Shell(build + "/program").exit_code, 0);
}

/// Compilers take C++17 where nobody says otherwise, and slipway.hpp has C++20 in it.
TEST_F(Installed, ByCMakeACxxProgramIsBuiltAsCxx20) {
  const auto project = folder_ / "cxx";
  std::filesystem::create_directory(project);
  std::ofstream(project / "program.cpp")
      << "#include <slipway.hpp>\nint main() { slipway::client::Session session; return session.size() - 1; }\n";
  const auto build = BuildByCMake(project, "CXX", "add_executable(program program.cpp)\n");
  EXPECT_EQ(Shell(build + "/program").exit_code, 0);
}

TEST_F(Installed, TheCxxHeaderSaysWhichStandardItNeeds) {
  const auto source = (folder_ / "program.cpp").string();
  std::ofstream(source) << "#include <slipway.hpp>\nint main() {}\n";
  const auto built = Shell(SLIPWAY_CXX " -std=c++17 -fsyntax-only " + source + " -I" + Prefix() + "/include 2>&1");
  EXPECT_NE(built.exit_code, 0);
  const auto says = [](const std::string& line) {
    return line.find("slipway.hpp needs C++20: add -std=c++20") != std::string::npos;
  };
  EXPECT_TRUE(std::any_of(built.lines.begin(), built.lines.end(), says)) << testing::PrintToString(built.lines);
}

TEST_F(Installed, ByCMakeACProgramNeedsNoCxxCompiler) {
  if (std::string(SLIPWAY_SANITIZER_FLAGS) != "") GTEST_SKIP() << "a C program cannot be linked with sanitized C++";
  const auto project = folder_ / "c";
  std::filesystem::create_directory(project);
  std::ofstream(project / "program.c")
      << "#include <slipway.h>\nint main(void) { return slipway_version()[0] == 0; }\n";
  const auto build = BuildByCMake(project, "C", "add_executable(program program.c)\n");
  EXPECT_EQ(Shell(build + "/program").exit_code, 0);
}

/// Runs the quitter on two ranks that `launcher` starts, with the libslipway for `library`.
Answer RunQuitter(const Mpi& launcher, const Mpi& library, const std::string& way) {
  return Shell("LD_LIBRARY_PATH=" SLIPWAY_BUILD_DIR "/lib/slipway/" + library.name + " timeout 20 " + launcher.mpiexec +
               " 2 " SLIPWAY_BUILD_DIR "/tests/runtime_quitter " + way + " 2>&1");
}

class Job : public testing::TestWithParam<Mpi> {
 protected:
  void SetUp() override {
    if (GetParam().mpiexec.empty()) GTEST_SKIP() << "no mpiexec of " << GetParam();
  }
};

TEST_P(Job, EndsWhenOneRankGivesUpWhileTheOthersWait) {
  for (const std::string way : {"exit", "throw"}) {
    const auto answer = RunQuitter(GetParam(), GetParam(), way);
    // MPICH's mpiexec ends the other rank by SIGKILL, and tells of either.
    const bool ended = answer.exit_code == 7 || (GetParam().name == "mpich" && answer.exit_code == SIGKILL);
    EXPECT_TRUE(ended) << way << ": " << answer.exit_code << "; 124 means that it hung";
    EXPECT_EQ(std::count(answer.lines.begin(), answer.lines.end(), "gives up"), 1);
  }
}

/// The loader writes one file for each process.
TEST_P(Job, WithoutAGpuLooksForNoLibraryOfOne) {
  const test::TempDirectory folder;
  const auto loads = (folder / "loads").string();
  ::setenv("LD_DEBUG", "files", 1);
  ::setenv("LD_DEBUG_OUTPUT", loads.c_str(), 1);
  const auto answer = RunQuitter(GetParam(), GetParam(), "stays");
  ::unsetenv("LD_DEBUG");
  ::unsetenv("LD_DEBUG_OUTPUT");
  ASSERT_EQ(answer.exit_code, 0) << testing::PrintToString(answer.lines);
  const auto by_us = [&](const std::string& library) {
    return Shell("cat " + loads + ".* | grep -E 'file=[^ ]*" + library + ".* by [^ ]*(libslipway|runtime_quitter)'")
        .lines;
  };
  EXPECT_GE(by_us("libslipway").size(), 2u) << "the files do not say what two ranks load";
  for (const char* of_gpu : {"libcuda", "libamdhip", "libnccl", "librccl", "libnvidia-ml"}) {
    EXPECT_EQ(by_us(of_gpu), std::vector<std::string>{}) << "an MPI may load it, Slipway must not";
  }
}

TEST_P(Job, IsRefusedWhenTheLauncherOfAnotherMpiStartedIt) {
  if (Mpis().size() < 2) GTEST_SKIP() << "libslipway is built for one MPI only";
  for (const auto& other : Mpis()) {
    if (other.name == GetParam().name) continue;
    const auto answer = RunQuitter(GetParam(), other, "throw");
    EXPECT_EQ(answer.exit_code, 7);
    const auto refusal = std::find_if(answer.lines.begin(), answer.lines.end(), [](const auto& line) {
      return line.find("slipway_init: 2 ranks were started (") != std::string::npos;
    });
    ASSERT_NE(refusal, answer.lines.end()) << testing::PrintToString(answer.lines);
    EXPECT_NE(refusal->find(other.name == "openmpi" ? "Open MPI v" : "MPICH Version"), std::string::npos) << *refusal;
    EXPECT_NE(refusal->find("put lib/slipway/" + GetParam().name + " first"), std::string::npos) << *refusal;
  }
}

INSTANTIATE_TEST_SUITE_P(Of, Library, testing::ValuesIn(Mpis()));
INSTANTIATE_TEST_SUITE_P(Of, Job, testing::ValuesIn(Mpis()));

}  // namespace
}  // namespace slipway
