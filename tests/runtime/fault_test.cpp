// One of four ranks misbehaves: the others must say which, in seconds, and nothing may hang.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "core/files.h"
#include "core/json.h"
#include "core/process.h"
#include "tests/support/temp_directory.h"

namespace slipway::test {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;

#ifdef __SANITIZE_THREAD__
constexpr bool kUnderThreadSanitizer = true;
#else
constexpr bool kUnderThreadSanitizer = false;
#endif

struct Outcome {
  std::string text;
  bool succeeded = false;
  Json report;  ///< watch.json, or null
};

/// Shorter than the limit of the program for a late rank, where a fault is found without it.
constexpr std::chrono::seconds kLongest(40);

enum class Transport { kSharedMemory, kMessages };

struct Mpi {
  std::string name;                  ///< of lib/slipway/<name>
  std::vector<std::string> mpiexec;  ///< words that start ranks; their number follows
};

/// The default one first.
std::vector<Mpi> Mpis() { return {SLIPWAY_MPIS}; }

Outcome RunWith(const std::string& fault, Transport transport, const Mpi& mpi = Mpis().front(),
                const std::string& exchange = "team") {
  const TempDirectory folder;
  SpawnOptions options;
  options.argv = mpi.mpiexec;
  options.argv.push_back("4");
  // Else mpirun takes the survivors down with a rank that was killed, before they can speak. Its own status is 0 then.
  if (fault == "killed") options.argv.push_back("--enable-recovery");
  const auto program = fault == "absent" ? "/tests/runtime_absent_program" : "/tests/runtime_fault_program";
  options.argv.insert(options.argv.end(), {SLIPWAY_BUILD_DIR + std::string(program), fault, exchange});
  auto environment = Environment::Inherited();
  environment.Set("SLIPWAY_METRICS", (folder.path() / "metrics.jsonl").string());
  if (transport == Transport::kMessages) environment.Set("SLIPWAY_SHARED_MEMORY_LIMIT", "0");
  environment.Set("LD_LIBRARY_PATH", SLIPWAY_BUILD_DIR "/lib/slipway/" + mpi.name);
  options.environment = environment;
  const auto captured = RunAndCapture(options, kLongest);
  Outcome outcome{captured.output + captured.errors, captured.status.Success(), nullptr};
  EXPECT_FALSE(captured.timed_out) << "something hangs: " << outcome.text;
  outcome.text += ReadFileIfPresent(folder.path() / "metrics.jsonl.rank-0").value_or("");
  if (const auto report = ReadFileIfPresent(folder.path() / "watch.json")) outcome.report = Json::parse(*report);
  return outcome;
}

class Faults : public testing::TestWithParam<Transport> {};
INSTANTIATE_TEST_SUITE_P(Over, Faults, testing::Values(Transport::kSharedMemory, Transport::kMessages),
                         [](const auto& way) {
                           return way.param == Transport::kMessages ? "messages" : "sharedMemory";
                         });

TEST_P(Faults, NoneIsFound) {
  const auto outcome = RunWith("none", GetParam());
  EXPECT_TRUE(outcome.succeeded) << outcome.text;
  EXPECT_TRUE(outcome.report.is_null());
}

TEST_P(Faults, AStoppedRankIsNamed) {
  const auto outcome = RunWith("stopped", GetParam());
  EXPECT_FALSE(outcome.succeeded);
  EXPECT_THAT(outcome.text, HasSubstr("rank 2 on host"));
  EXPECT_THAT(outcome.text, HasSubstr("is stopped (SIGSTOP), last completed slipway_allreduce at step 5"));
  ASSERT_TRUE(outcome.report.is_object()) << outcome.text;
  EXPECT_EQ(outcome.report["kind"], "stalled");
  EXPECT_EQ(outcome.report["ranks"][0]["rank"], 2);
  EXPECT_EQ(outcome.report["ranks"][0]["state"], "stopped");
  EXPECT_EQ(outcome.report["ranks"][0]["step"], 5);
}

TEST(FaultsUnderAnotherMpi, AStoppedRankIsNamed) {
  if (Mpis().size() < 2) GTEST_SKIP() << "libslipway is built for one MPI only";
  const auto outcome = RunWith("stopped", Transport::kSharedMemory, Mpis().back());
  EXPECT_FALSE(outcome.succeeded);
  EXPECT_THAT(outcome.text, HasSubstr("is stopped (SIGSTOP), last completed slipway_allreduce at step 5"));
  ASSERT_TRUE(outcome.report.is_object()) << outcome.text;
  EXPECT_EQ(outcome.report["ranks"][0]["rank"], 2);
}

/// It waits in MPI_Init, where nobody looks at a clock.
TEST(FaultsAtTheStart, ARankThatDoesNotComeEndsIt) {
  for (const auto& mpi : Mpis()) {
    const auto outcome = RunWith("late", Transport::kSharedMemory, mpi);
    EXPECT_FALSE(outcome.succeeded);
    EXPECT_THAT(outcome.text, HasSubstr("MPI_Init has not returned after "));
    ASSERT_TRUE(outcome.report.is_object()) << outcome.text;
    EXPECT_EQ(outcome.report["kind"], "start");
  }
}

TEST_P(Faults, ADeadRankIsNamedAtOnce) {
  if (Mpis().front().name != "openmpi") GTEST_SKIP() << "this MPI takes the others down before they can speak";
  const auto outcome = RunWith("killed", GetParam());
  EXPECT_THAT(outcome.text, ContainsRegex("rank 2 on host .* is dead"));
  ASSERT_TRUE(outcome.report.is_object()) << outcome.text;
  EXPECT_EQ(outcome.report["kind"], "dead");
}

TEST_P(Faults, ARankThatComputesForEverIsNamed) {
  const auto outcome = RunWith("busy", GetParam());
  EXPECT_FALSE(outcome.succeeded);
  EXPECT_THAT(outcome.text,
              ContainsRegex("waited (3\\.[0-9]|4\\.[01]) s for the exchange of gradients of team 'net': "));
  EXPECT_THAT(outcome.text, ContainsRegex("rank 2 on host .* is outside of Slipway"));
}

TEST_P(Faults, OthersDoNotWaitForEverForOneThatDoesNotBegin) {
  const auto outcome = RunWith("absent", GetParam());
  EXPECT_FALSE(outcome.succeeded);
  EXPECT_THAT(outcome.text, ContainsRegex("waited (3\\.[0-9]|4\\.[01]) s for slipway_init: .*not called slipway_init"));
}

TEST_P(Faults, ARankThatLeavesIsNamed) {
  const auto outcome = RunWith("leaves", GetParam());
  EXPECT_FALSE(outcome.succeeded);
  EXPECT_THAT(outcome.text, HasSubstr("slipway_finalize"));  // whoever speaks first
  EXPECT_THAT(outcome.text, ContainsRegex("(is|waits) in "));
}

/// As a program does whose data ends earlier on one rank: nobody has to wait the two minutes of `stall_after`.
TEST_P(Faults, ARankThatReturnsEarlyIsNamedAtOnce) {
  const auto outcome = RunWith("early", GetParam());
  EXPECT_FALSE(outcome.succeeded);
  EXPECT_THAT(
      outcome.text,
      ContainsRegex("waited ([2-9]|[1-3][0-9])\\.[0-9] s for .*: rank 2 on host .* has ended its program and waits "
                    "in slipway_finalize"));
  ASSERT_TRUE(outcome.report.is_object()) << outcome.text;
  EXPECT_EQ(outcome.report["kind"], "left");
  EXPECT_EQ(outcome.report["ranks"][0]["rank"], 2);
}

/// As a program does that validates on one rank after the last exchange: for longer than `stall_after`, 3 s here.
TEST_P(Faults, ARankThatWorksOnAfterTheLastExchangeIsWaitedFor) {
  const auto outcome = RunWith("works on", GetParam());
  EXPECT_TRUE(outcome.succeeded) << outcome.text;
  EXPECT_TRUE(outcome.report.is_null());
  EXPECT_THAT(outcome.text,
              ContainsRegex("rank 0: slipway_finalize has waited [3-9]\\.[0-9] s for other ranks, and goes "
                            "on: rank 2 on host .* is outside of Slipway"));
  EXPECT_THAT(outcome.text, testing::Not(HasSubstr("rank 1: slipway_finalize has waited")));
}

TEST_P(Faults, ARankThatIsStoppedAfterTheLastExchangeIsNamed) {
  const auto outcome = RunWith("stopped at the end", GetParam());
  EXPECT_FALSE(outcome.succeeded);
  EXPECT_THAT(outcome.text,
              ContainsRegex("waited ([3-9]|[1-3][0-9])\\.[0-9] s for slipway_finalize: rank 2 on host .* is stopped"));
}

TEST_P(Faults, ARankInAnotherCallIsNamed) {
  const auto outcome = RunWith("other call", GetParam());
  EXPECT_FALSE(outcome.succeeded);
  EXPECT_THAT(outcome.text, ContainsRegex("rank 2 on host .* (is|was) in slipway_barrier|rank 2 calls a barrier"));
}

TEST_P(Faults, AnotherCountIsFound) {
  const auto outcome = RunWith("count", GetParam());
  EXPECT_FALSE(outcome.succeeded);
  EXPECT_THAT(outcome.text,
              ContainsRegex("rank 2 calls an allreduce of 4000|sent a message of [0-9]* bytes where one of"));
  ASSERT_TRUE(outcome.report.is_object() || GetParam() == Transport::kSharedMemory) << outcome.text;
}

TEST_P(Faults, AnotherTensorListIsFoundAtOnce) {
  for (const auto& [fault, words] : {std::pair("shape", "'weight float32 \\[60000\\]'"),
                                     std::pair("dtype", "'weight int32"), std::pair("list", "tensor 1")}) {
    const auto outcome = RunWith(fault, GetParam());
    EXPECT_FALSE(outcome.succeeded);
    EXPECT_THAT(outcome.text, ContainsRegex(words));
    EXPECT_THAT(outcome.text, HasSubstr("rank 2"));
  }
}

Outcome RunServerWith(const std::string& fault) {
  return RunWith(fault, Transport::kSharedMemory, Mpis().front(), "server");
}

class FaultsOfAParameterServer : public testing::Test {
 protected:
  void SetUp() override {
    if (kUnderThreadSanitizer) GTEST_SKIP() << "a step of four ranks takes seconds, so waits look like hangs";
  }
};

TEST_F(FaultsOfAParameterServer, NoneIsFound) {
  const auto outcome = RunServerWith("none");
  EXPECT_TRUE(outcome.succeeded) << outcome.text;
  EXPECT_TRUE(outcome.report.is_null());
}

TEST_F(FaultsOfAParameterServer, ADeadRankIsNamedAtOnce) {
  if (Mpis().front().name != "openmpi") GTEST_SKIP() << "this MPI takes the others down before they can speak";
  const auto outcome = RunServerWith("killed");
  EXPECT_THAT(outcome.text, ContainsRegex("waited [0-9]+\\.[0-9] s for slipway_server_pu[sl][hl] of server 'weights': "
                                          "rank 2 on host .* is dead"));
  EXPECT_THAT(outcome.text, testing::Not(ContainsRegex("Segmentation|Signal: |terminate called")));
  ASSERT_TRUE(outcome.report.is_object()) << outcome.text;
  EXPECT_EQ(outcome.report["kind"], "dead");
  EXPECT_EQ(outcome.report["ranks"][0]["rank"], 2);
}

TEST_F(FaultsOfAParameterServer, AStoppedRankIsNamed) {
  const auto outcome = RunServerWith("stopped");
  EXPECT_FALSE(outcome.succeeded);
  EXPECT_THAT(outcome.text, ContainsRegex("rank 2 on host .* is stopped \\(SIGSTOP\\), last completed "
                                          "slipway_server_pull of server 'weights' at step 5"));
}

TEST_F(FaultsOfAParameterServer, ARankThatComputesForEverIsNamed) {
  const auto outcome = RunServerWith("busy");
  EXPECT_FALSE(outcome.succeeded);
  EXPECT_THAT(outcome.text, ContainsRegex("rank 2 on host .* is outside of Slipway, last completed "
                                          "slipway_server_pull of server 'weights' at step 5"));
  EXPECT_THAT(outcome.text, testing::Not(HasSubstr("; rank ")));
}

TEST_F(FaultsOfAParameterServer, AnotherRateIsFound) {
  const auto outcome = RunServerWith("rate");
  EXPECT_FALSE(outcome.succeeded);
  EXPECT_THAT(outcome.text,
              HasSubstr("parameter server 'weights': rank 2 pushed step 6 with rate 0.2, rank 0 with rate 0.1"));
}

}  // namespace
}  // namespace slipway::test
