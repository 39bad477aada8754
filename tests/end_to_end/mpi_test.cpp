// Both MPIs, each with the libslipway that was built for it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

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

TEST(MpiOfLoneRank, DoesNotMatter) {
  Workplace place;
  place.WriteSpec("exp.yaml", kProgram, 1);
  place.SetVariable("SLURM_STEP_NUM_TASKS", "4");  // four independent runs in one step of Slurm
  const auto ran = place.Slipway({"run", "exp.yaml"});
  EXPECT_THAT(ran.output, HasSubstr("rank 0 of 1: sum 1")) << ran.errors;
}

}  // namespace
}  // namespace slipway::test
