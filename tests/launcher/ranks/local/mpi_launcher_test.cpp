#include "launcher/ranks/local/mpi_launcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include "core/error.h"
#include "core/files.h"
#include "tests/launcher/ranks/local/print_mpi.h"
#include "tests/support/temp_directory.h"

namespace slipway::launcher {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Not;

TEST(MpiLauncher, IsKnownByWhatItSaysOfItsVersion) {
  EXPECT_EQ(MpiOfVersion("mpirun (Open MPI) 4.1.4\n\nReport bugs to ..."), Mpi::kOpenMpi);
  EXPECT_EQ(MpiOfVersion("mpirun.real (OpenRTE) 2.1.1"), Mpi::kOpenMpi);
  EXPECT_EQ(MpiOfVersion("HYDRA build details:\n    Version:   4.0.2\n"), Mpi::kMpich);
  EXPECT_EQ(MpiOfVersion("Intel(R) MPI Library for Linux* OS, Version 2021.9"), Mpi::kMpich);
  EXPECT_EQ(MpiOfVersion(""), std::nullopt);
}

TEST(MpiLauncher, TellsOpenMpiOfRootAndOfMoreRanksThanCores) {
  const MpiLauncher launcher{Mpi::kOpenMpi, "mpirun"};
  EXPECT_THAT(StartWords(launcher, {.ranks = 2, .cores = 2, .root = false}),
              ElementsAre("mpirun", "-n", "2", "--bind-to", "none"));
  EXPECT_THAT(StartWords(launcher, {.ranks = 3, .cores = 2, .root = true}),
              ElementsAre("mpirun", "-n", "3", "--bind-to", "none", "--allow-run-as-root", "--oversubscribe"));
}

TEST(MpiLauncher, PlacesRanksHostByHost) {
  const StartOptions options{.ranks = 5, .cores = 1, .hosts = {{0, "n1", 2}, {2, "n3", 3}}};
  EXPECT_THAT(StartWords({Mpi::kOpenMpi, "mpirun"}, options),
              ElementsAre("mpirun", "-n", "5", "--bind-to", "none", "--host", "n1:2,n3:3", "--map-by", "slot"));
  EXPECT_THAT(StartWords({Mpi::kMpich, "mpirun.mpich"}, options),
              ElementsAre("mpirun.mpich", "-launcher", "slurm", "-hosts", "n1:2,n3:3", "-n", "5"));
}

TEST(MpiLauncher, StartsAStepOfSrunOverExactlyTheNodes) {
  const MpiLauncher launcher{.mpi = Mpi::kMpich, .program = "srun", .srun_interface = "pmi2"};
  EXPECT_EQ(launcher.Way(), "srun --mpi=pmi2");
  const auto words = StartWords(launcher, {.ranks = 4, .hosts = {{0, "n1", 2}, {2, "n3", 2}}});
  EXPECT_EQ(words.front(), "srun");
  EXPECT_THAT(words, IsSupersetOf({"--nodes=2", "--ntasks=4", "--ntasks-per-node=2", "--nodelist=n1,n3",
                                   "--distribution=block", "--mpi=pmi2", "--overlap", "--overcommit"}));
}

TEST(MpiLauncher, NamesANodeForEachRankWhereSlurmWouldLayThemOutOtherwise) {
  const MpiLauncher launcher{.mpi = Mpi::kOpenMpi, .program = "srun", .srun_interface = "pmix"};
  const auto words_for = [&](const std::string& tasks_per_node) {
    return StartWords(launcher, {.ranks = 4, .hosts = {{0, "n1", 2}, {1, "n2", 2}}, .tasks_per_node = tasks_per_node});
  };
  for (const auto* same : {"", "2(x2)", "2(x3)", "2"}) {
    EXPECT_THAT(words_for(same), Contains("--distribution=block")) << same;
  }
  for (const auto* other : {"3,1", "2,1", "2(x2),1", "4(x2)", "22(x2)"}) {
    const auto words = words_for(other);
    EXPECT_THAT(words, IsSupersetOf({"--ntasks=4", "--nodelist=n1,n1,n2,n2", "--distribution=arbitrary"})) << other;
    EXPECT_THAT(words, Not(Contains("--ntasks-per-node=2"))) << other;
  }
}

TEST(MpiLauncher, KeepsTheRanksOfMpichHere) {
  EXPECT_THAT(StartWords({Mpi::kMpich, "mpirun.mpich"}, {.ranks = 3, .cores = 2, .root = true}),
              ElementsAre("mpirun.mpich", "-launcher", "fork", "-hosts", "localhost", "-n", "3"));
}

/// A PATH that holds nothing but the programs of the test.
class MpiLauncherOnPath : public testing::Test {
 protected:
  MpiLauncherOnPath() : path_(::getenv("PATH")) { ::setenv("PATH", directory_.path().c_str(), 1); }
  ~MpiLauncherOnPath() override { ::setenv("PATH", path_.c_str(), 1); }

  void Install(const std::string& name, const std::string& version) const {
    WriteFile(directory_ / name, "#!/bin/sh\necho '" + version + "'\n", 0755);
  }
  static void ExpectFound(std::optional<Mpi> wanted, Mpi mpi, const std::string& program) {
    const auto found = FindMpiLauncher(wanted);
    EXPECT_EQ(found.mpi, mpi);
    EXPECT_EQ(found.program, program);
  }
  static void ExpectMissing(std::optional<Mpi> wanted, const std::string& package) {
    try {
      FindMpiLauncher(wanted);
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kEnvironment);
      EXPECT_THAT(error.what(), HasSubstr("install " + package));
    }
  }

  test::TempDirectory directory_;
  std::string path_;
};

TEST_F(MpiLauncherOnPath, IsMpirunWithoutAWish) {
  Install("mpirun", "HYDRA build details:");
  Install("mpirun.openmpi", "mpirun (Open MPI) 4.1.4");
  ExpectFound(std::nullopt, Mpi::kMpich, "mpirun");
  Install("mpirun", "a wrapper of this site");
  ExpectFound(std::nullopt, Mpi::kOpenMpi, "mpirun");
}

TEST_F(MpiLauncherOnPath, IsTheOneWished) {
  Install("mpirun", "mpirun (Open MPI) 4.1.4");
  Install("mpirun.mpich", "HYDRA build details:");
  ExpectFound(Mpi::kOpenMpi, Mpi::kOpenMpi, "mpirun");
  ExpectFound(Mpi::kMpich, Mpi::kMpich, "mpirun.mpich");
}

TEST_F(MpiLauncherOnPath, IsMissedWithWhatToInstall) {
  ExpectMissing(std::nullopt, "Open MPI");
  Install("mpirun", "mpirun (Open MPI) 4.1.4");
  ExpectMissing(Mpi::kMpich, "MPICH");
}

}  // namespace
}  // namespace slipway::launcher
