// GoogleTest's main for programs that mpirun starts. The library under test brings MPI up: slipway_init is called once,
// before the tests, because MPI can be initialised once in a process.
//
// Its files lie in a directory of the test's own, which tests find in the environment of rank 0 (the other ranks get
// names of files that do not exist: they must not matter). Ranks above 0 print failures only, and every rank ends with
// an error when a test failed on any rank, or when one takes longer than a minute.

#include <gtest/gtest.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "runtime/slipway.h"
#include "tests/support/rank_of_launcher.h"
#include "tests/support/temp_directory.h"

namespace slipway::test {
namespace {

constexpr unsigned kTestSeconds = 60;
char hung_message[256] = "the test program hangs\n";

void ReportHang(int) {
  static_cast<void>(::write(STDERR_FILENO, hung_message, std::strlen(hung_message)));
  ::_exit(124);
}

class Watchdog : public testing::EmptyTestEventListener {
 public:
  Watchdog() {
    std::signal(SIGALRM, ReportHang);
    ::alarm(kTestSeconds);
  }
  void OnTestStart(const testing::TestInfo& test) override {
    std::snprintf(hung_message, sizeof hung_message, "rank %d hangs in %s.%s\n", slipway_rank(), test.test_suite_name(),
                  test.name());
    ::alarm(kTestSeconds);
  }
};

/// What a rank above 0 says: its failures, with its number.
class FailuresOnly : public testing::EmptyTestEventListener {
 public:
  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (!result.failed()) return;
    std::fprintf(stderr, "rank %d: %s:%d: %s\n", slipway_rank(),
                 result.file_name() != nullptr ? result.file_name() : "", result.line_number(), result.message());
  }
};

void SetVariables(const std::string& directory) {
  ::setenv("SLIPWAY_CHECKPOINT_DIR", (directory + "/checkpoints").c_str(), 1);
  ::setenv("SLIPWAY_RESUME_FROM", (directory + "/checkpoints/step-000000000007").c_str(), 1);
  ::setenv("SLIPWAY_METRICS", (directory + "/metrics.jsonl").c_str(), 1);
  ::setenv("SLIPWAY_MLLOG", (directory + "/mllog.txt").c_str(), 1);
  ::setenv("SLIPWAY_STOP_FILE", (directory + "/stop.json").c_str(), 1);
}

void QuietAboveRankZero() {
  if (slipway_rank() == 0) return;
  auto& listeners = testing::UnitTest::GetInstance()->listeners();
  delete listeners.Release(listeners.default_result_printer());
  listeners.Append(new FailuresOnly);
}

/// The worst result of any rank, found without the library under test.
int WorstOfAllRanks(int result) {
  MPI_Allreduce(MPI_IN_PLACE, &result, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  return result;
}

int RunTests() {
  const TempDirectory directory;
  SetVariables(RankOfLauncher() == 0 ? directory.path().string() : "/nonexistent");
  testing::UnitTest::GetInstance()->listeners().Append(new Watchdog);
  if (slipway_init(R"({"checkpoint": {"keep": 2}, "spec_hash": "abc"})") != SLIPWAY_OK) {
    std::fprintf(stderr, "%s\n", slipway_error_message());
    return 1;
  }
  QuietAboveRankZero();
  const int result = WorstOfAllRanks(RUN_ALL_TESTS());
  return std::max(result, slipway_finalize());
}

}  // namespace
}  // namespace slipway::test

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  return slipway::test::RunTests();
}
