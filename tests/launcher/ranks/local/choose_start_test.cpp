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
const StartChoice kAuto = StartChoiceOf("auto");
const StartChoice kByMpirun = StartChoiceOf("mpirun");

TEST(ChooseStart, AutoTakesMpirunWhereThereIsOne) {
  const auto chosen = ChooseStart(kAuto, {}, {kMpirun, {"pmix", "pmi2"}});
  ASSERT_TRUE(chosen);
  EXPECT_EQ(chosen->by.Way(), "mpirun.mpich");
  EXPECT_EQ(chosen->reason, "mpirun.mpich is there");
}

TEST(ChooseStart, AutoTakesWhatSrunOffersForTheMpi) {
  const StartMeans both{{}, {"none", "pmi2", "pmix"}};
  EXPECT_EQ(ChooseStart(kAuto, {}, both)->by.Way(), "srun --mpi=pmix");
  EXPECT_EQ(ChooseStart(kAuto, Mpi::kMpich, both)->by.Way(), "srun --mpi=pmi2");
  const auto only_pmi2 = ChooseStart(kAuto, {}, {{}, {"none", "pmi2"}});
  EXPECT_EQ(only_pmi2->by.mpi, Mpi::kMpich);
  EXPECT_THAT(only_pmi2->reason, HasSubstr("srun offers pmi2"));
  EXPECT_FALSE(ChooseStart(kAuto, Mpi::kOpenMpi, {{}, {"none", "pmi2"}}));
  EXPECT_FALSE(ChooseStart(kAuto, {}, {}));
}

TEST(ChooseStart, TakesWhatIsAskedFor) {
  EXPECT_EQ(ChooseStart(StartChoiceOf("pmix"), {}, {})->by.mpi, Mpi::kOpenMpi);
  EXPECT_EQ(ChooseStart(StartChoiceOf("pmi2"), {}, {})->by.mpi, Mpi::kMpich);
  const auto unusual = ChooseStart(StartChoiceOf("pmix"), Mpi::kMpich, {});
  EXPECT_EQ(unusual->by.mpi, Mpi::kMpich);
  EXPECT_FALSE(IsUsualPairing(unusual->by));
  EXPECT_EQ(ChooseStart(kByMpirun, {}, {kMpirun, {}})->by.Way(), "mpirun.mpich");
  EXPECT_FALSE(ChooseStart(kByMpirun, {}, {}));
}

TEST(ChooseStart, AutoTakesTheInterfaceThatTheEnvironmentSpeaksFor) {
  StartMeans means{{}, {"none", "cray_shasta", "pmi2", "pmix", "pmix_v4"}};
  EXPECT_EQ(ChooseStart(kAuto, {}, means)->by.Way(), "srun --mpi=pmix") << "Slurm is built with cray_shasta anywhere";
  Environment environment;
  environment.Set("CRAY_MPICH_VERSION", "8.1.28");
  means.preferred = PreferredIn(environment);
  const auto cray = ChooseStart(kAuto, {}, means);
  EXPECT_EQ(cray->by.Way(), "srun --mpi=cray_shasta");
  EXPECT_EQ(cray->by.mpi, Mpi::kMpich);
  EXPECT_EQ(cray->reason, "there is no mpirun, and Cray MPICH is loaded");
  EXPECT_FALSE(IsUsualPairing(cray->by)) << "no test has seen it: each run tries it";
  EXPECT_EQ(ChooseStart(kAuto, Mpi::kOpenMpi, means)->by.Way(), "srun --mpi=pmix");
  environment.Set("SLURM_MPI_TYPE", "pmix_v4");
  means.preferred = PreferredIn(environment);
  EXPECT_EQ(ChooseStart(kAuto, {}, means)->by.Way(), "srun --mpi=pmix_v4");
  environment.Set("SLURM_MPI_TYPE", "none");
  means.preferred = PreferredIn(environment);
  EXPECT_EQ(ChooseStart(kAuto, {}, means)->by.Way(), "srun --mpi=pmix");
}

TEST(ChooseStart, TakesAnyInterfaceThatSrunOffers) {
  const StartMeans means{{}, {"none", "pmix", "site_own", "pmix_v4"}};
  const auto chosen = ChooseStart(StartChoiceOf("site_own"), Mpi::kMpich, means);
  EXPECT_EQ(chosen->by.Way(), "srun --mpi=site_own");
  EXPECT_EQ(chosen->by.mpi, Mpi::kMpich);
  EXPECT_EQ(chosen->reason, "launch.slurm.start asks for it");
  EXPECT_FALSE(IsUsualPairing(chosen->by));
  EXPECT_EQ(ChooseStart(StartChoiceOf("cray_shasta"), {}, {})->by.mpi, Mpi::kMpich) << "no srun is here to ask";
  const auto version = ChooseStart(StartChoiceOf("pmix_v4"), {}, means);
  EXPECT_EQ(version->by.mpi, Mpi::kOpenMpi);
  EXPECT_TRUE(IsUsualPairing(version->by));
}

NoSuchStart Refused(const StartChoice& asked, const StartMeans& means) {
  try {
    ChooseStart(asked, {}, means);
  } catch (const NoSuchStart& error) {
    return error;
  }
  return {ErrorKind::kInternal, "accepted", ""};
}

TEST(ChooseStart, RefusesAnInterfaceThatSrunDoesNotOffer) {
  const StartMeans means{{}, {"none", "pmix", "site_own"}};
  const auto typo = Refused(StartChoiceOf("pmxi"), means);
  EXPECT_THAT(typo.message(), HasSubstr("srun has no MPI interface 'pmxi'"));
  EXPECT_THAT(typo.next_step(), HasSubstr("one of: none, pmix, site_own"));
  const auto whose = Refused(StartChoiceOf("site_own"), means);
  EXPECT_THAT(whose.message(), HasSubstr("which MPI uses the interface 'site_own'"));
  EXPECT_THAT(whose.next_step(), HasSubstr("launch.mpi"));
}

TEST(ChooseStart, DoubtsAnInterfaceThatOnlyTheNodesMayHave) {
  StartMeans means{{}, {"none", "pmi2"}};
  EXPECT_THAT(Refused(StartChoiceOf("pmix"), means).message(), HasSubstr("has no MPI interface 'pmix'"));
  means.seen_from = SeenFrom::kOtherHost;
  const auto chosen = ChooseStart(StartChoiceOf("pmix"), {}, means);
  EXPECT_EQ(chosen->by.Way(), "srun --mpi=pmix");
  EXPECT_THAT(chosen->doubt, HasSubstr("srun on this host has no MPI interface 'pmix' (it has: none, pmi2)"));
  EXPECT_EQ(ChooseStart(StartChoiceOf("pmi2"), {}, means)->doubt, "");
  EXPECT_THAT(Refused(StartChoiceOf("pmxi"), means).message(), HasSubstr("has no MPI interface 'pmxi'"));
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
              ElementsAre("pmix", "none", "pmi2", "pmix_v4"));
  EXPECT_THAT(InterfacesIn("srun: MPI types are...\nsrun: none\nsrun: pmi2\n"), ElementsAre("none", "pmi2"));
  EXPECT_THAT(InterfacesIn("srun: error: Unable to contact slurm controller\n"), IsEmpty());
}

}  // namespace
}  // namespace slipway::launcher
