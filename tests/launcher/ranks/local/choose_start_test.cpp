#include "launcher/ranks/local/choose_start.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"

namespace slipway::launcher {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const MpiLauncher kMpirun{.mpi = Mpi::kMpich, .program = "mpirun.mpich"};

TEST(ChooseStart, AutoTakesMpirunWhereThereIsOne) {
  const auto chosen = ChooseStart(StartChoice::kAuto, {}, {kMpirun, {"pmix", "pmi2"}});
  ASSERT_TRUE(chosen);
  EXPECT_EQ(chosen->by.Way(), "mpirun.mpich");
  EXPECT_EQ(chosen->reason, "mpirun.mpich is there");
}

TEST(ChooseStart, AutoTakesWhatSrunOffersForTheMpi) {
  const StartMeans both{{}, {"none", "pmi2", "pmix"}};
  EXPECT_EQ(ChooseStart(StartChoice::kAuto, {}, both)->by.Way(), "srun --mpi=pmix");
  EXPECT_EQ(ChooseStart(StartChoice::kAuto, Mpi::kMpich, both)->by.Way(), "srun --mpi=pmi2");
  const auto only_pmi2 = ChooseStart(StartChoice::kAuto, {}, {{}, {"none", "pmi2"}});
  EXPECT_EQ(only_pmi2->by.mpi, Mpi::kMpich);
  EXPECT_THAT(only_pmi2->reason, HasSubstr("srun offers pmi2"));
  EXPECT_FALSE(ChooseStart(StartChoice::kAuto, Mpi::kOpenMpi, {{}, {"none", "pmi2"}}));
  EXPECT_FALSE(ChooseStart(StartChoice::kAuto, {}, {}));
}

TEST(ChooseStart, TakesWhatIsAskedFor) {
  EXPECT_EQ(ChooseStart(StartChoice::kPmix, {}, {})->by.mpi, Mpi::kOpenMpi);
  EXPECT_EQ(ChooseStart(StartChoice::kPmi2, {}, {})->by.mpi, Mpi::kMpich);
  const auto unusual = ChooseStart(StartChoice::kPmix, Mpi::kMpich, {});
  EXPECT_EQ(unusual->by.mpi, Mpi::kMpich);
  EXPECT_FALSE(IsUsualPairing(unusual->by));
  EXPECT_EQ(ChooseStart(StartChoice::kMpirun, {}, {kMpirun, {}})->by.Way(), "mpirun.mpich");
  EXPECT_FALSE(ChooseStart(StartChoice::kMpirun, {}, {}));
}

TEST(ChooseStart, KnowsTheUsualPairings) {
  EXPECT_TRUE(IsUsualPairing(kMpirun));
  EXPECT_TRUE(IsUsualPairing({.mpi = Mpi::kOpenMpi, .program = "srun", .srun_interface = "pmix"}));
  EXPECT_TRUE(IsUsualPairing({.mpi = Mpi::kMpich, .program = "srun", .srun_interface = "pmi2"}));
  EXPECT_FALSE(IsUsualPairing({.mpi = Mpi::kOpenMpi, .program = "srun", .srun_interface = "pmi2"}));
}

TEST(InterfacesOfSrun, AreReadFromItsList) {
  EXPECT_THAT(InterfacesIn("MPI plugin types are...\n\tpmix\n\tnone\n\tpmi2\n"
                           "specific pmix plugin versions available: pmix_v4\n"),
              ElementsAre("pmix", "none", "pmi2"));
  EXPECT_THAT(InterfacesIn("srun: MPI types are...\nsrun: none\nsrun: pmi2\n"), ElementsAre("none", "pmi2"));
  EXPECT_THAT(InterfacesIn("srun: error: Unable to contact slurm controller\n"), IsEmpty());
}

}  // namespace
}  // namespace slipway::launcher
