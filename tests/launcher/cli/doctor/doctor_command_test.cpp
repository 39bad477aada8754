// `slipway doctor` on this machine.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/files.h"
#include "core/json.h"
#include "core/process.h"
#include "tests/support/temp_directory.h"

namespace slipway::launcher {
namespace {

using testing::HasSubstr;
using testing::Not;

class Doctor : public testing::Test {
 protected:
  Doctor() {
    environment_.Set("XDG_CONFIG_HOME", directory_.path().string());
    for (const char* name : {"SLIPWAY_ENGINE", "SLIPWAY_SITE", "SLIPWAY_RUNS", "SLURM_JOB_ID"})
      environment_.Unset(name);
    environment_.Set("SLURM_CONF", (directory_ / "nowhere.conf").string());
    environment_.Set("SLIPWAY_TIER_RAM", directory_.path().string());
  }

  Captured Run(const std::vector<std::string>& words) const {
    SpawnOptions options;
    options.argv = {SLIPWAY_BUILD_DIR "/bin/slipway", "doctor"};
    options.argv.insert(options.argv.end(), words.begin(), words.end());
    options.environment = environment_;
    options.working_directory = directory_.path();
    return RunAndCapture(options, std::chrono::seconds(50));
  }

  /// What is found of the ranks' start where `launch.slurm.start` asks for this interface and srun has none and pmi2.
  /// `more`: lines of the experiment.
  Json FoundOfStart(const std::string& interface, const std::string& more = "") {
    WriteFile(directory_ / "srun", "#!/bin/sh\nprintf '\\tnone\\n\\tpmi2\\n'\n", 0750);
    environment_.Set("PATH", directory_.path().string() + ":" + environment_.Get("PATH").value_or(""));
    WriteFile(directory_ / "exp.yaml",
              "name: x\ntrain: {command: ['true']}\nlaunch: {engine: slurm, ranks_per_node: 2, "
              "slurm: {start: " +
                  interface + "}}\n" + more);
    const auto document = Json::parse(Run({"exp.yaml", "--json"}).output);
    for (const auto& check : document["checks"]) {
      if (check["check"] == "ranks") return check["findings"];
    }
    return {};
  }

  test::TempDirectory directory_;
  Environment environment_ = Environment::Inherited();
};

TEST_F(Doctor, FailsWhereSlurmIsConfiguredAndDoesNotAnswer) {
  const auto looked = Run({"--json"});
  EXPECT_EQ(looked.status.code, 1) << looked.errors;
  const auto document = Json::parse(looked.output);
  EXPECT_EQ(document["schema"], "slipway.doctor/1");
  EXPECT_EQ(document["worst"], "fail");
  std::map<std::string, std::string> grades;
  for (const auto& check : document["checks"]) {
    EXPECT_GE(check["took_s"].get<double>(), 0);
    for (const auto& finding : check["findings"]) grades[finding["about"]] = finding["grade"];
  }
  EXPECT_EQ(grades["slurm"], "fail");
  EXPECT_EQ(grades["slipway"], "ok");
  EXPECT_EQ(grades["run folders"], "ok");
}

TEST_F(Doctor, FailsWhereSrunLacksTheInterfaceThatIsAskedFor) {
  const auto found = FoundOfStart("pmxi");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0]["grade"], "fail");
  EXPECT_EQ(found[0]["text"], "srun has no MPI interface 'pmxi'");
  EXPECT_THAT(found[0]["remedy"].get<std::string>(), HasSubstr("one of: none, pmi2"));
}

TEST_F(Doctor, WarnsOfAnInterfaceThatOnlyTheNodesMayHave) {
  const auto found = FoundOfStart("pmix");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0]["grade"], "warn");
  EXPECT_THAT(found[0]["text"].get<std::string>(), HasSubstr("srun on this host has no MPI interface 'pmix'"));
  EXPECT_THAT(found[0]["remedy"].get<std::string>(), HasSubstr("srun --mpi=list"));
}

TEST_F(Doctor, FailsInAJobWhichIsWhereRanksStartUnlessTrialsAreJobs) {
  environment_.Set("SLURM_JOB_ID", "7");
  EXPECT_EQ(FoundOfStart("pmix")[0]["grade"], "fail");
  const std::string trials_are_jobs =
      "ensemble: {placement: job, parallel: 1, trials: 1, space: {x: {uniform: [0, 1]}}, objective: {metric: y}}\n";
  EXPECT_EQ(FoundOfStart("pmix", trials_are_jobs)[0]["grade"], "warn");
}

TEST_F(Doctor, TellsAllErrorsOfAnExperimentAndLeavesNothingBehind) {
  WriteFile(directory_ / "exp.yaml", "name: x\nlaunch: {engine: local, nodes: 2}\ntrain: {command: [./missing]}\n");
  const auto looked = Run({"exp.yaml"});
  EXPECT_EQ(looked.status.code, 1);
  EXPECT_THAT(looked.output, HasSubstr("fail  experiment"));
  EXPECT_THAT(looked.output, HasSubstr("exp.yaml:2: the local engine has one node"));
  EXPECT_THAT(looked.output, HasSubstr("exp.yaml:3: there is no program"));
  EXPECT_THAT(looked.output, HasSubstr("ok    engine            local (it is asked for)"));
  EXPECT_FALSE(std::filesystem::exists(directory_ / "runs"));
}

TEST_F(Doctor, KnowsAnExperimentThatCanRun) {
  WriteFile(directory_ / "exp.yaml", "name: x\nlaunch: {engine: local}\ntrain: {command: [\"true\"]}\n");
  EXPECT_THAT(Run({"exp.yaml"}).output, HasSubstr("x can be planned: engine local, 1 rank"));
}

TEST_F(Doctor, RefusesChangesOfNoExperiment) {
  const auto refused = Run({"--engine", "local"});
  EXPECT_EQ(refused.status.code, 2);
  EXPECT_THAT(refused.errors, HasSubstr("slipway doctor SPEC"));
}

TEST_F(Doctor, IsInOrderWithoutMpiAndSlurmAndSaysWhatToInstall) {
  environment_.Set("PATH", "/nowhere").Unset("SLURM_CONF");
  const auto looked = Run({});
  EXPECT_THAT(looked.output, HasSubstr("warn  mpirun"));
  EXPECT_THAT(looked.output, HasSubstr("warn  munge             not installed"));
}

/// With stand-ins for the driver, NVML and NCCL; the driver does not know the exchange's kernel. Its GPU 0 is NVML's
/// GPU 1, as where the fastest GPU is not the first on the bus.
TEST_F(Doctor, LooksAtTheGpus) {
  WriteFile(directory_ / "exp.yaml",
            "name: x\nlaunch: {engine: local}\ntrain: {command: [\"true\"]}\ngradients: {clip_norm: 1}\n");
  std::string libraries;
  for (const std::filesystem::path library : {SLIPWAY_FAKE_DRIVER, SLIPWAY_FAKE_NVML, SLIPWAY_FAKE_NCCL}) {
    libraries += library.parent_path().string() + ":";
  }
  environment_.Set("LD_LIBRARY_PATH", libraries).Set("FAKE_NVML", "first_busy").Set("CUDA_VISIBLE_DEVICES", "0,1");
  const auto looked_at = [&](const std::vector<std::string>& words) {
    std::map<std::string, std::string> texts;
    const auto document = Json::parse(Run(words).output);
    for (const auto& check : document["checks"]) {
      if (check["check"] != "gpu exchange") continue;
      for (const auto& finding : check["findings"]) texts[finding["about"]] = finding["text"];
    }
    return texts;
  };
  auto texts = looked_at({"--json"});
  EXPECT_EQ(texts["gpu driver"], "CUDA 12.4, 2 GPUs");
  EXPECT_EQ(texts["gpu 0"], "Slipway fake GPU 0, 1.07 GB of 1.07 GB free");
  EXPECT_EQ(texts["gpu 1"], "Slipway fake GPU 1, 1.07 GB of 1.07 GB free, 2 processes on it");
  EXPECT_THAT(texts["gpu 1 copies"], HasSubstr("pinned memory: "));
  EXPECT_EQ(texts["nccl"], "2.28.9: gpu_exchange nccl can be used by ranks with a GPU each");
  EXPECT_THAT(texts["gpu exchange"], HasSubstr("through pinned memory (staged): "));
  EXPECT_THAT(looked_at({"exp.yaml", "--json"})["gpu exchange"], HasSubstr("(staged), because of clip_norm"));
}

TEST_F(Doctor, TriesSrunOnlyInAnAllocation) {
  EXPECT_THAT(Run({}).output, Not(HasSubstr("srun")));
  EXPECT_THAT(Run({"--srun"}).output, HasSubstr("not tried: this is no allocation"));
}

}  // namespace
}  // namespace slipway::launcher
