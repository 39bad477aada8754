// What sbatch prints, among what sites print; and the variables by which it would be told otherwise than by the script.

#include "launcher/cluster/sbatch.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include "core/files.h"
#include "launcher/cluster/slurm_trouble.h"
#include "tests/support/temp_directory.h"

namespace slipway::launcher {
namespace {

using testing::HasSubstr;

TEST(SubmittedJob, IsFoundAmongBanners) {
  EXPECT_EQ(SubmittedJobIn("12\n"), JobIdentity{12});
  EXPECT_EQ(SubmittedJobIn("12;beta\n"), (JobIdentity{12, "beta"}));
  EXPECT_EQ(SubmittedJobIn("Welcome!\n 7 nodes are down\n2026\n12\r\nGood luck\n"), JobIdentity{12}) << "the last one";
  EXPECT_EQ(SubmittedJobIn("Submitted batch job 12"), std::nullopt) << "not what was asked for";
  EXPECT_EQ(SubmittedJobIn(""), std::nullopt);
  EXPECT_EQ(SubmittedJobIn("0\n-3\n99999999999\n12 nodes\n"), std::nullopt);
}

TEST(SubmittedJob, IsAskedForByTheScriptOnly) {
  auto environment = Environment::Inherited();
  environment.Set("SBATCH_PARTITION", "debug").Set("SLURM_CONF", "/x").Set("MY_SBATCH_NOTE", "stays");
  const auto rest = WithoutOptionsOfSbatch(environment);
  EXPECT_EQ(rest.Get("SBATCH_PARTITION"), std::nullopt);
  EXPECT_EQ(rest.Get("SLURM_CONF"), "/x");
  EXPECT_EQ(rest.Get("MY_SBATCH_NOTE"), "stays");
}

TEST(EnvironmentOfAJob, HasNothingOfTheJobThatSubmitsIt) {
  auto environment = Environment::Inherited();
  environment.Set("SLURM_CONF", "/x").Set("SLURM_ARRAY_JOB_ID", "7").Set("SLURMD_NODENAME", "n1").Set("MY_SLURM", "1");
  environment.Set("SLURM_CONF_SERVER", "x");
  const auto rest = WithoutOwnJob(environment);
  EXPECT_EQ(rest.Get("SLURM_CONF"), "/x");
  EXPECT_EQ(rest.Get("MY_SLURM"), "1");
  for (const auto* const name : {"SLURM_ARRAY_JOB_ID", "SLURMD_NODENAME", "SLURM_CONF_SERVER"}) {
    EXPECT_EQ(rest.Get(name), std::nullopt) << name;
  }
  EXPECT_EQ(WithoutOwnJob(environment.Unset("SLURM_CONF")).Get("SLURM_CONF"), std::nullopt);
}

/// With a program of this name that says what a test wants.
class Sbatch : public testing::Test {
 protected:
  Sbatch() : path_(::getenv("PATH")) { ::setenv("PATH", (directory_.path().string() + ":" + path_).c_str(), 1); }
  ~Sbatch() override {
    ::setenv("PATH", path_.c_str(), 1);
    ::unsetenv("SLURM_JWT");
  }
  void Does(const std::string& commands) const {
    WriteFile(directory_ / "sbatch", "#!/bin/sh\n" + commands + "\n", 0755);
  }
  static std::pair<SlurmTrouble, std::string> TroubleOf(std::chrono::milliseconds deadline = std::chrono::seconds(60)) {
    try {
      SubmitWithSbatch("/no script", deadline);
    } catch (const SlurmError& error) {
      return {error.trouble(), error.what()};
    }
    return {SlurmTrouble::kOver, "no error"};
  }

  test::TempDirectory directory_;
  const std::string path_;
};

TEST_F(Sbatch, GetsTheScriptAsOneWord) {
  Does("test \"$#,$1,$2\" = '2,--parsable,/a $(b) c' && echo 12");
  EXPECT_EQ(SubmitWithSbatch("/a $(b) c"), JobIdentity{12});
}

/// For a test: the variables of an outer job, an array's task.
class InAnArray {
 public:
  InAnArray() {
    ::setenv("SLURM_ARRAY_JOB_ID", "7", 1);
    ::setenv("SLURM_ARRAY_TASK_ID", "3", 1);
  }
  ~InAnArray() {
    ::unsetenv("SLURM_ARRAY_JOB_ID");
    ::unsetenv("SLURM_ARRAY_TASK_ID");
  }
};

TEST_F(Sbatch, GetsNothingOfTheArrayThatItIsCalledIn) {
  const InAnArray outer;
  Does("test -z \"$SLURM_ARRAY_JOB_ID$SLURM_ARRAY_TASK_ID\" && echo 12");
  EXPECT_EQ(SubmitWithSbatch("/a"), JobIdentity{12});
  Does("test -z \"$SLURM_ARRAY_JOB_ID$SLURM_ARRAY_TASK_ID\" && echo 'Job 1 to start at 1795688662 using' >&2");
  EXPECT_TRUE(EstimateWithSbatch("#!/bin/sh", std::chrono::seconds(60)).start);
}

TEST_F(Sbatch, KnowsItsUserByTheToken) {
  ::setenv("SLURM_JWT", "token", 1);
  Does("test \"$SLURM_JWT\" = token && echo 12");
  EXPECT_EQ(SubmitWithSbatch("/a"), JobIdentity{12});
}

TEST_F(Sbatch, ThatRefusesIsQuoted) {
  Does("echo Welcome; echo 'sbatch: error: invalid account' >&2; exit 1");
  const auto [trouble, text] = TroubleOf();
  EXPECT_EQ(trouble, SlurmTrouble::kRefused);
  EXPECT_THAT(text, HasSubstr("invalid account"));
}

TEST_F(Sbatch, ThatNamesNoJobMayHaveSubmittedIt) {
  Does("echo Welcome");
  EXPECT_EQ(TroubleOf().first, SlurmTrouble::kHelper);
  Does("kill -9 $$");
  EXPECT_EQ(TroubleOf().first, SlurmTrouble::kHelper);
  Does("echo waiting >&2; sleep 600");
  const auto [trouble, text] = TroubleOf(std::chrono::seconds(5));
  EXPECT_EQ(trouble, SlurmTrouble::kTimeout);
  EXPECT_THAT(text, HasSubstr("waiting"));
}

constexpr const char* kEstimate =
    "sbatch: Job 11 to start at 1795688662 using 2 processors on nodes n[1-2] in partition debug";

TEST(EstimatedStart, IsFoundAmongBanners) {
  const StartEstimate estimate{SlurmTime(std::chrono::seconds(1795688662)), "n[1-2]", "debug", ""};
  EXPECT_EQ(EstimatedStartIn(kEstimate), estimate);
  EXPECT_EQ(EstimatedStartIn(fmt::format("3 nodes to start at noon\n{}\nGood luck\n", kEstimate)), estimate);
  EXPECT_EQ(EstimatedStartIn(""), std::nullopt);
  EXPECT_EQ(EstimatedStartIn("sbatch: Job 11 to start at 2026-11-26T11:24:23 using 2 processors"), std::nullopt);
  EXPECT_EQ(EstimatedStartIn("Job 11 to start at -1 using 2 processors on nodes n1 in partition debug"), std::nullopt);
}

TEST_F(Sbatch, IsAskedForAStartWithTheTextOfTheScript) {
  Does(fmt::format("test \"$*,$SLURM_TIME_FORMAT,$(cat)\" = '--test-only,%s,#!/bin/sh' && echo '{}' >&2", kEstimate));
  EXPECT_EQ(EstimateWithSbatch("#!/bin/sh", std::chrono::seconds(60)).partition, "debug");
}

TEST_F(Sbatch, ThatNamesNoStartIsNotBelieved) {
  const auto trouble = [](std::chrono::milliseconds deadline) {
    try {
      EstimateWithSbatch("#!/bin/sh", deadline);
    } catch (const SlurmError& error) {
      return error.trouble();
    }
    return SlurmTrouble::kOver;
  };
  Does("echo Welcome >&2");
  EXPECT_EQ(trouble(std::chrono::seconds(60)), SlurmTrouble::kHelper);
  Does("echo 'allocation failure: Invalid account' >&2; exit 1");
  EXPECT_EQ(trouble(std::chrono::seconds(60)), SlurmTrouble::kRefused);
  Does("exec sleep 60");
  EXPECT_EQ(trouble(std::chrono::milliseconds(300)), SlurmTrouble::kTimeout);
}

}  // namespace
}  // namespace slipway::launcher
