// Both MPIs, each with the libslipway that was built for it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "core/files.h"
#include "tests/end_to_end/workplace.h"

namespace slipway::test {
namespace {

using testing::HasSubstr;

constexpr auto kProgram = "[" SLIPWAY_BUILD_DIR "/tests/end_to_end_sum_of_ranks]";

class MpiOfRun : public testing::TestWithParam<std::string> {
 protected:
  Workplace place_;
};

std::vector<std::string> Mpis() { return {SLIPWAY_MPIS}; }
INSTANTIATE_TEST_SUITE_P(Of, MpiOfRun, testing::ValuesIn(Mpis()));

void ExpectSumsBy(const std::string& mpi, const Captured& ran) {
  EXPECT_EQ(ran.status.code, 0) << ran.errors << ran.output;
  for (const std::string rank : {"0", "1"}) {
    EXPECT_THAT(ran.output, testing::ContainsRegex("rank " + rank + " of 2: sum 3 by .*"));
  }
  const auto folder = std::filesystem::canonical(SLIPWAY_BUILD_DIR "/lib/slipway/" + mpi);
  const auto at = ran.output.find("sum 3 by ") + std::string("sum 3 by ").size();
  const auto library = ran.output.substr(at, ran.output.find('\n', at) - at);
  EXPECT_EQ(std::filesystem::canonical(library).parent_path(), folder);
}

TEST_P(MpiOfRun, IsTheOneOfTheSpecWithItsOwnLibslipway) {
  place_.WriteSpec("exp.yaml", kProgram, 2);
  ExpectSumsBy(GetParam(), place_.Slipway({"run", "exp.yaml", "--set", "launch.mpi=" + GetParam()}));
}

TEST_P(MpiOfRun, IsThatOfMpirunOtherwise) {
  const auto program = GetParam() == "openmpi" ? "mpirun.openmpi" : "mpirun.mpich";
  if (!FindProgram(program)) GTEST_SKIP() << "no " << program;
  WriteFile(place_ / "mpirun", std::string("#!/bin/sh\nexec ") + program + " \"$@\"\n", 0755);
  place_.SetVariable("PATH", (place_ / ".").string() + ":" + std::getenv("PATH"));
  place_.WriteSpec("exp.yaml", kProgram, 2);
  ExpectSumsBy(GetParam(), place_.Slipway({"run", "exp.yaml"}));
}

TEST_P(MpiOfRun, IsShownByThePlan) {
  place_.WriteSpec("exp.yaml", kProgram, 2);
  const auto planned = place_.Slipway({"plan", "exp.yaml", "--set", "launch.mpi=" + GetParam()});
  EXPECT_EQ(planned.status.code, 0) << planned.errors;
  EXPECT_THAT(planned.output,
              HasSubstr(GetParam() == "openmpi" ? "--bind-to none" : "-launcher fork -hosts localhost"));
  const bool is_default = GetParam() == Mpis().front();
  EXPECT_EQ(planned.output.find("LD_LIBRARY_PATH=") == std::string::npos, is_default) << planned.output;
}

TEST_P(MpiOfRun, LeavesTheCollectivesOfAProgramWithoutATeam) {
  place_.WriteSpec("exp.yaml", kProgram, 2, "trace: {chrome: true}");
  const auto ran = place_.Slipway({"run", "exp.yaml", "--set", "launch.mpi=" + GetParam()});
  ASSERT_EQ(ran.status.code, 0) << ran.errors;
  EXPECT_THAT(ReadFile(place_.RunFolder() / "attempt-1/trace.json"), HasSubstr("slipway_allreduce"));
  const auto report = Json::parse(place_.Slipway({"report", "last", "--json"}).output);
  const auto& steps = report["runs"][0]["steps"];
  EXPECT_EQ(steps["team"], "") << steps.dump();
  EXPECT_EQ(steps["way"], "cpu");
  ASSERT_EQ(steps["ranks"].size(), 2u) << steps.dump();
  const auto& calls = steps["collectives"]["groups"][0]["calls"];
  ASSERT_EQ(calls.size(), 1u) << steps.dump();
  EXPECT_EQ(calls[0]["call"], "slipway_allreduce");
  EXPECT_EQ(calls[0]["count"], 1);
}

TEST(Tmpdir, ThatIsNoDirectoryEndsTheRunWithItsReason) {
  Workplace place;
  place.SetVariable("TMPDIR", (place / "missing").string());
  place.WriteSpec("exp.yaml", "[sh, -c, 'echo started']", 2);
  const auto ran = place.Slipway({"run", "exp.yaml"});
  EXPECT_EQ(ran.status.code, 3) << ran.errors;
  EXPECT_THAT(ran.errors, HasSubstr("TMPDIR is '" + (place / "missing").string() + "', which is no directory"));
  EXPECT_THAT(ran.errors, HasSubstr("correct TMPDIR or unset it"));
  const auto state = place.Status();
  EXPECT_EQ(state["phase"], "failed") << state.dump();
  EXPECT_THAT(state["reason"].get<std::string>(), HasSubstr("TMPDIR"));
}

TEST(MpiOfLoneRank, DoesNotMatter) {
  Workplace place;
  place.WriteSpec("exp.yaml", kProgram, 1);
  place.SetVariable("SLURM_STEP_NUM_TASKS", "4");  // four independent runs in one step of Slurm
  const auto ran = place.Slipway({"run", "exp.yaml"});
  EXPECT_THAT(ran.output, HasSubstr("rank 0 of 1: sum 1")) << ran.errors;
}

/// Programs of somebody else, by the MPI that they are linked with.
class ForeignMpiProgram : public testing::TestWithParam<std::string> {
 protected:
  /// Two ranks by the launcher of `launcher`.
  Captured Run(const std::string& command, const std::string& launcher) {
    WriteFile(place_ / "exp.yaml",
              "name: foreign\nlaunch: {ranks_per_node: 2, mpi: " + launcher + "}\ntrain: {command: " + command + "}\n");
    return place_.Slipway({"run", "exp.yaml"});
  }
  static std::string Program() { return "[" SLIPWAY_BUILD_DIR "/tests/end_to_end_world_" + GetParam() + "]"; }
  static std::string Module() {
    return "[/usr/bin/python3, -c, 'import ctypes, sys; ctypes.CDLL(sys.argv[1]).World()', " SLIPWAY_BUILD_DIR
           "/tests/end_to_end_world_module_" +
           GetParam() + ".so]";
  }

  Workplace place_;
};

INSTANTIATE_TEST_SUITE_P(Of, ForeignMpiProgram, testing::ValuesIn(Mpis()));

std::string OtherThan(const std::string& mpi) { return mpi == "openmpi" ? "mpich" : "openmpi"; }

TEST_P(ForeignMpiProgram, UnderItsOwnLauncherRunsAsOneJob) {
  for (const auto& command : {Program(), Module()}) {
    const auto ran = Run(command, GetParam());
    EXPECT_EQ(ran.status.code, 0) << ran.errors << ran.output;
    EXPECT_THAT(ran.output, testing::AllOf(HasSubstr("rank 0 of 2"), HasSubstr("rank 1 of 2")));
  }
}

TEST_P(ForeignMpiProgram, ThatOneRankLeavesEarlyFailsByThatRank) {
  const auto ran = Run("[" SLIPWAY_BUILD_DIR "/tests/end_to_end_world_" + GetParam() + ", '1']", GetParam());
  EXPECT_EQ(ran.status.code, 1) << ran.output;
  const auto status = place_.Status();
  // MPICH's launcher may kill the shim of the rank that left before it has said or written how its program ended.
  if (GetParam() == "mpich" && status["cause"]["kind"] == "rank_lost") return;
  EXPECT_THAT(ran.output, HasSubstr("ended with status 0 while other ranks ran, most likely before MPI_Finalize"));
  EXPECT_THAT(ran.output, HasSubstr(" said:\n")) << "the launcher's own reason";
  EXPECT_EQ(status["cause"]["kind"], "rank_left");
  EXPECT_EQ(status["cause"]["rank"], 1);
  EXPECT_THAT(place_.Slipway({"explain", "last"}).output, HasSubstr("let every rank call MPI_Finalize"));
}

/// Each rank would be alone, and all of them would succeed.
TEST_P(ForeignMpiProgram, UnderTheOtherLauncherIsRefused) {
  if (Mpis().size() < 2) GTEST_SKIP() << "there is one MPI only";
  for (const auto& command : {Program(), Module()}) {
    const auto ran = Run(command, OtherThan(GetParam()));
    EXPECT_EQ(ran.status.code, 1) << ran.output;
    EXPECT_THAT(
        ran.output + ran.errors,
        testing::ContainsRegex("2 ranks were started \\([A-Z_]*\\), but .*, which this program uses, sees one"));
    EXPECT_THAT(ran.output + ran.errors, HasSubstr("Set launch.mpi: " + GetParam()));
    EXPECT_THAT(ran.output, testing::Not(HasSubstr("of 1")));
  }
}

TEST_P(ForeignMpiProgram, MayBeMeantToRunAlone) {
  if (Mpis().size() < 2) GTEST_SKIP() << "there is one MPI only";
  const auto ran = Run("[env, SLIPWAY_MPI_CHECK=0, " + Program().substr(1), OtherThan(GetParam()));
  EXPECT_EQ(ran.status.code, 0) << ran.errors << ran.output;
  EXPECT_THAT(ran.output, HasSubstr("rank 0 of 1"));
}

}  // namespace
}  // namespace slipway::test
