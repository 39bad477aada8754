// What `engine: auto` stands for.

#include "launcher/spec/choose_engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "core/files.h"
#include "core/process.h"
#include "tests/support/temp_directory.h"

namespace slipway::launcher {
namespace {

using testing::HasSubstr;

EngineFacts Facts(const std::string& wanted, const std::string& allocation, bool conf) {
  EngineFacts facts{wanted, allocation, std::nullopt};
  if (conf) facts.slurm_conf = "/etc/slurm/slurm.conf";
  return facts;
}

TEST(ChooseEngine, IsLocalOnAMachineWithoutSlurm) {
  const auto chosen = ChooseEngine(EngineChoice::kAuto, Facts("", "", false));
  EXPECT_EQ(chosen.engine, EngineChoice::kLocal);
  EXPECT_EQ(chosen.reason, "no allocation and no slurm.conf here");
}

TEST(ChooseEngine, IsSlurmInAnAllocationAndWhereThereIsAConfiguration) {
  const auto inside = ChooseEngine(EngineChoice::kAuto, Facts("", "12", true));
  EXPECT_EQ(inside.engine, EngineChoice::kSlurm);
  EXPECT_THAT(inside.reason, HasSubstr("job 12"));
  const auto outside = ChooseEngine(EngineChoice::kAuto, Facts("", "", true));
  EXPECT_EQ(outside.engine, EngineChoice::kSlurm);
  EXPECT_THAT(outside.reason, HasSubstr("/etc/slurm/slurm.conf"));
}

TEST(ChooseEngine, TakesTheWishOfTheEnvironmentBeforeAllThat) {
  EXPECT_EQ(ChooseEngine(EngineChoice::kAuto, Facts("local", "12", true)).engine, EngineChoice::kLocal);
  EXPECT_EQ(ChooseEngine(EngineChoice::kAuto, Facts("slurm", "", false)).engine, EngineChoice::kSlurm);
  EXPECT_EQ(ChooseEngine(EngineChoice::kAuto, Facts("auto", "", true)).engine, EngineChoice::kSlurm);
  EXPECT_THROW(ChooseEngine(EngineChoice::kAuto, Facts("lokal", "", false)), Error);
}

TEST(ChooseEngine, LeavesWhatWasAskedForAsItIsAndHasNoReasonForIt) {
  for (const auto engine : {EngineChoice::kLocal, EngineChoice::kSlurm}) {
    const auto chosen = ChooseEngine(engine, Facts("lokal", "12", true));
    EXPECT_EQ(chosen.engine, engine);
    EXPECT_EQ(chosen.reason, "");
  }
}

TEST(LookForEngines, ReadsTheEnvironmentAndTheUsualPlaces) {
  const test::TempDirectory root;
  Environment environment;
  EXPECT_FALSE(LookForEngines(environment, root.path()).slurm_conf);
  MakeDirectories(root / "etc/slurm");
  WriteFile(root / "etc/slurm/slurm.conf", "ClusterName=c\n");
  environment.Set("SLURM_JOB_ID", "12").Set("SLIPWAY_ENGINE", "local");
  const auto facts = LookForEngines(environment, root.path());
  EXPECT_EQ(facts.slurm_conf, root / "etc/slurm/slurm.conf");
  EXPECT_EQ(facts.allocation, "12");
  EXPECT_EQ(facts.wanted, "local");
}

/// The program with `engine: auto`, where no controller is.
Captured Slipway(const std::string& command, const Environment& environment, const test::TempDirectory& directory) {
  SpawnOptions options;
  options.argv = {SLIPWAY_BUILD_DIR "/bin/slipway", command, "exp.yaml"};
  options.environment = environment;
  options.working_directory = directory.path();
  return RunAndCapture(options, std::chrono::seconds(20));
}

class EngineOfTheProgram : public testing::Test {
 protected:
  EngineOfTheProgram() {
    WriteFile(directory_ / "exp.yaml", "name: small\ntrain: {command: [\"true\"]}\n");
    environment_.Set("XDG_CONFIG_HOME", directory_.path().string());
    for (const char* name : {"SLIPWAY_ENGINE", "SLIPWAY_SITE", "SLURM_JOB_ID"}) environment_.Unset(name);
    environment_.Set("SLURM_CONF", (directory_ / "slurm.conf").string());
  }

  test::TempDirectory directory_;
  Environment environment_ = Environment::Inherited();
};

TEST_F(EngineOfTheProgram, IsShownWithTheReason) {
  for (const char* command : {"plan", "validate"}) {
    EXPECT_THAT(Slipway(command, environment_, directory_).output,
                HasSubstr("engine slurm (there is a " + (directory_ / "slurm.conf").string() + ")"));
  }
}

TEST_F(EngineOfTheProgram, IsNeverSilentlyLocalWhereSlurmIsOutOfOrder) {
  const auto run = Slipway("run", environment_, directory_);
  EXPECT_EQ(run.status.code, 3) << run.errors;
  EXPECT_THAT(run.errors, HasSubstr("slurm.conf"));
  EXPECT_FALSE(std::filesystem::exists(directory_ / "runs"));
}

}  // namespace
}  // namespace slipway::launcher
