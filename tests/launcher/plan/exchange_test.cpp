// How the ranks will exchange gradients, from the environment and the spec.

#include "launcher/plan/exchange.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files.h"
#include "core/install.h"
#include "launcher/spec/gpu_exchange.h"
#include "runtime/exchange/cpu_work.h"
#include "runtime/selection/measured_ways.h"
#include "tests/support/temp_directory.h"

namespace slipway::launcher {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr auto kTuned =
    R"({"schema":"slipway.algorithms/1","rules":[{"ranks":4,"nodes":1,"table":"recursive_doubling:0-99"}]})";

class Exchange : public testing::Test {
 protected:
  Exchange() {
    ::setenv("XDG_CONFIG_HOME", (directory_ / "config").c_str(), 1);
    for (const char* name : {"SLIPWAY_ALGORITHMS", "SLIPWAY_ALGORITHM_TABLE", "SLIPWAY_WAYS", "SLIPWAY_RANKS_PER_NODE",
                             "SLIPWAY_GPU_EXCHANGE"}) {
      ::unsetenv(name);
    }
    spec_.launch.ranks_per_node = 4;
    spec_.launch.slurm.gpu_type = "a100";  // whatever is on this node
  }

  std::filesystem::path Write(const std::string& name, const std::string& content) const {
    MakeDirectories((directory_ / name).parent_path());
    WriteFile(directory_ / name, content);
    return directory_ / name;
  }

  std::string Algorithms() const { return PlanExchange(spec_).table.ToText(); }

  std::string Refusal() const {
    try {
      PlanExchange(spec_);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }

  test::TempDirectory directory_;
  Spec spec_;
};

TEST_F(Exchange, IsTheOneThatShips) {
  EXPECT_EQ(Algorithms(), "shared:0-max");
  EXPECT_TRUE(PlanExchange(spec_).tuned.empty());
}

TEST_F(Exchange, KnowsTheNodes) {
  spec_.launch.nodes = spec_.launch.nodes_per_job = 2;
  EXPECT_EQ(Algorithms(),
            "hierarchical_recursive_doubling:0-4095;hierarchical_rabenseifner:4096-131071;"
            "hierarchical_ring:131072-max");
  spec_.launch.ranks_per_node = 1;
  EXPECT_EQ(Algorithms(), "recursive_doubling:0-4095;rabenseifner:4096-131071;ring:131072-max");
}

TEST_F(Exchange, KnowsTheNetwork) {
  spec_.launch.nodes = spec_.launch.nodes_per_job = 64;
  spec_.gradients.network = "dragonfly";
  const auto dragonfly = Algorithms();
  spec_.gradients.network = "fat_tree";
  EXPECT_THAT(dragonfly, HasSubstr("hierarchical_torus"));
  EXPECT_THAT(Algorithms(), Not(HasSubstr("torus")));
}

TEST_F(Exchange, IsTunedByTheFileBesideTheUsersSettings) {
  const auto file = Write("config/slipway/algorithms.json", kTuned);
  EXPECT_EQ(Algorithms(), "recursive_doubling:0-99;shared:100-max");
  EXPECT_EQ(PlanExchange(spec_).tuned, file);
}

TEST_F(Exchange, IsTunedByTheFileThatTheEnvironmentNamesRather) {
  Write("config/slipway/algorithms.json", kTuned);
  const auto file = Write("other.json", R"({"schema":"slipway.algorithms/1","rules":[]})");
  ::setenv("SLIPWAY_ALGORITHM_TABLE", file.c_str(), 1);
  EXPECT_EQ(Algorithms(), "shared:0-max");
  EXPECT_EQ(PlanExchange(spec_).tuned, file);
}

TEST_F(Exchange, NamesAMissingOrWrongFile) {
  ::setenv("SLIPWAY_ALGORITHM_TABLE", (directory_ / "missing.json").c_str(), 1);
  EXPECT_THAT(Refusal(), HasSubstr("missing.json"));
  ::setenv("SLIPWAY_ALGORITHM_TABLE", Write("wrong.json", "{").c_str(), 1);
  EXPECT_THAT(Refusal(), HasSubstr("wrong.json"));
}

TEST_F(Exchange, LetsTheSpecWinOverTheFileAndTheEnvironmentOverTheSpec) {
  Write("config/slipway/algorithms.json", kTuned);
  spec_.gradients.algorithms = "ring:50-199";
  EXPECT_EQ(Algorithms(), "recursive_doubling:0-49;ring:50-199;shared:200-max");
  ::setenv("SLIPWAY_ALGORITHMS", "mpi:0-9", 1);
  EXPECT_EQ(Algorithms(), "mpi:0-9;recursive_doubling:10-49;ring:50-199;shared:200-max");
}

TEST_F(Exchange, ShowsTheWaysThatWereMeasuredOnSuchANode) {
  EXPECT_EQ(PlanExchange(spec_).measured, "");
  EXPECT_THAT(Describe(PlanExchange(spec_), spec_.gradients), Not(HasSubstr("as measured")));
  const auto kind = runtime::KindOfThisNode(4, true, Version());
  const auto file = Write("config/slipway/ways.json", runtime::RememberWays("", kind, "shared_direct:0-max"));
  const auto plan = PlanExchange(spec_);
  EXPECT_EQ(plan.ways, file);
  EXPECT_EQ(plan.table.ToText(), "shared:0-max");
  EXPECT_THAT(Describe(plan, spec_.gradients), HasSubstr("  shared, as measured    shared_direct:0-max\n"));
  EXPECT_EQ(ToJson(plan, spec_.gradients)["ways"], "shared_direct:0-max");
  spec_.launch.ranks_per_node = 3;
  EXPECT_EQ(PlanExchange(spec_).measured, "");
}

TEST_F(Exchange, LooksForMeasuredWaysWhereTheEnvironmentSays) {
  ::setenv("SLIPWAY_WAYS", Write("broken.json", "{").c_str(), 1);
  EXPECT_EQ(PlanExchange(spec_).measured, "");
  EXPECT_EQ(PlanExchange(spec_).ways, directory_ / "broken.json");
}

TEST_F(Exchange, NamesTheVariableThatIsWrong) {
  ::setenv("SLIPWAY_ALGORITHMS", "rign", 1);
  EXPECT_THAT(Refusal(), HasSubstr("SLIPWAY_ALGORITHMS"));
}

TEST_F(Exchange, MakesSmallerNodesWhenAsked) {
  ::setenv("SLIPWAY_RANKS_PER_NODE", "3", 1);
  EXPECT_EQ(PlanExchange(spec_).placement, (runtime::Placement{4, 2, true}));
  EXPECT_EQ(PlanExchange(spec_).bits.ranks_per_node, 3);
  for (const char* all : {"4", "99", ""}) {
    ::setenv("SLIPWAY_RANKS_PER_NODE", all, 1);
    EXPECT_EQ(PlanExchange(spec_).placement, (runtime::Placement{4, 1, true})) << all;
  }
  for (const std::string wrong : {"0", "-1", "many", "2x", "99999999999"}) {
    ::setenv("SLIPWAY_RANKS_PER_NODE", wrong.c_str(), 1);
    EXPECT_THAT(Refusal(), HasSubstr("SLIPWAY_RANKS_PER_NODE is '" + wrong + "', not a number of ranks from 1"));
  }
}

TEST_F(Exchange, SaysWhatIsUsedInsteadOfWhatCannotWork) {
  spec_.launch.nodes = spec_.launch.nodes_per_job = 2;
  spec_.gradients.algorithms = "shared";
  const auto text = Describe(PlanExchange(spec_), spec_.gradients);
  EXPECT_EQ(text,
            "exchange: 8 ranks on 2 nodes, sync, buckets of 4.19 MB, the same bits in every run\n"
            "  every size             hierarchical_rabenseifner\n"
            "  the table says         shared:0-max\n");
}

TEST_F(Exchange, ShowsWhatCanonicalBitsAndSixteenBitsNeed) {
  spec_.gradients.algorithms = "ring";
  spec_.gradients.compress = Compression::kBf16;
  EXPECT_THAT(Describe(PlanExchange(spec_), spec_.gradients), HasSubstr("every size             pairwise\n"));
  spec_.gradients.deterministic = Determinism::kCanonical;
  const auto plan = PlanExchange(spec_);
  EXPECT_THAT(Describe(plan, spec_.gradients), HasSubstr("every size             shared\n"));
  EXPECT_EQ(ToJson(plan, spec_.gradients)["ranges"][0]["algorithm"], "shared");
}

TEST_F(Exchange, SaysWhatBecomesOfGpuMemory) {
  const auto said = [&] { return Describe(PlanExchange(spec_).gpu); };
  EXPECT_THAT(Describe(PlanExchange(spec_), spec_.gradients), Not(HasSubstr("GPU memory")));
  spec_.launch.gpus_per_rank = 1;
  EXPECT_THAT(Describe(PlanExchange(spec_), spec_.gradients),
              HasSubstr("\n  GPU memory             direct where NVIDIA GPUs reach each other, else staged\n"
                        "  bits of its sums       those of the exchange in CPU memory\n"));
  spec_.launch.nodes = spec_.launch.nodes_per_job = 2;
  EXPECT_EQ(said(),
            "staged, because the ranks are on several nodes; with deterministic: false the fastest way is measured");
  spec_.gradients.gpu_exchange = GpuExchange::kDirect;
  EXPECT_EQ(said(),
            "direct, as gpu_exchange says; an error: direct refuses tensors in GPU memory of ranks on several "
            "nodes");
  ::setenv("SLIPWAY_GPU_EXCHANGE", "staged", 1);
  EXPECT_EQ(said(), "staged, as SLIPWAY_GPU_EXCHANGE says");
  ::unsetenv("SLIPWAY_GPU_EXCHANGE");
  spec_.gradients.gpu_exchange = GpuExchange::kAuto;
  spec_.gradients.deterministic = Determinism::kOff;
  EXPECT_EQ(said(), "the fastest way, measured at the start; nccl_in_nodes is one of them");
  spec_.launch.ranks_per_node = 1;
  EXPECT_EQ(said(), "the fastest way, measured at the start");
  spec_.gradients.clip_norm = 1;
  spec_.trace.sums = 5;
  EXPECT_EQ(said(), "staged, because of clip_norm, trace.sums");
}

/// Whether a GPU has memory left is not to decide the bits.
TEST_F(Exchange, SaysWhatBecomesOfGpuMemoryWhereTheCpuAddsUpInARing) {
  const auto said = [&] { return Describe(PlanExchange(spec_), spec_.gradients); };
  spec_.launch.gpus_per_rank = 1;
  spec_.gradients.algorithms = "ring:200000-max";
  const auto by_auto = ToJson(PlanExchange(spec_), spec_.gradients);
  EXPECT_THAT(said(),
              AllOf(HasSubstr("GPU memory             staged, because the CPU does not add up in rank order, by "
                              "the table of algorithms\n"),
                    HasSubstr("bits of its sums       those of the exchange in CPU memory\n")));
  spec_.gradients.gpu_exchange = GpuExchange::kDirect;
  EXPECT_THAT(said(), AllOf(HasSubstr("the same bits in every run"),
                            HasSubstr("bits of its sums       those of sums in rank order, not those of the exchange "
                                      "in CPU memory\n")));
  EXPECT_EQ(ToJson(PlanExchange(spec_), spec_.gradients)["gpu_bits"], "rank_order");
  EXPECT_THAT(ChangesOfBits(by_auto, PlanExchange(spec_)), ElementsAre(R"(gpu_bits was "cpu", now "rank_order")"));
  spec_.gradients.gpu_exchange = GpuExchange::kAuto;
  spec_.gradients.deterministic = Determinism::kOff;
  EXPECT_THAT(said(), HasSubstr("the fastest way, measured at the start"));
  spec_.gradients.deterministic = Determinism::kCanonical;
  EXPECT_THAT(said(), HasSubstr("direct where NVIDIA GPUs reach each other, else staged")) << "it does without a table";
}

TEST_F(Exchange, SaysWhatBecomesOfTheMemoryOfAmdsGpus) {
  const auto said = [&] { return Describe(PlanExchange(spec_).gpu); };
  spec_.launch.gpus_per_rank = 1;
  spec_.launch.slurm.gpu_type = "mi250";
  EXPECT_EQ(said(), "staged, because the kernel of the sums is PTX, which AMD's GPUs cannot run");
  spec_.gradients.deterministic = Determinism::kOff;
  EXPECT_EQ(said(), "the fastest way but direct, measured at the start");
  spec_.gradients.gpu_exchange = GpuExchange::kDirect;
  EXPECT_THAT(said(), HasSubstr("an error: direct refuses these GPUs: the kernel of the sums is PTX"));
}

TEST_F(Exchange, KnowsAmdsGpusByTypeAndDriver) {
  const auto maker = [&](const char* type) {
    LaunchSpec launch;
    launch.slurm.gpu_type = type;
    return MakerOfGpus(launch, directory_.path());
  };
  for (const char* type : {"mi250", "MI300X", "amd_instinct"}) EXPECT_EQ(maker(type), GpuMaker::kAmd) << type;
  Write("dev/kfd", "");
  for (const char* type : {"a100", "mig-1g.5gb", "mi"}) EXPECT_EQ(maker(type), GpuMaker::kUnknown) << type;
  EXPECT_EQ(maker(""), GpuMaker::kAmd);
  Write("dev/nvidia0", "");
  EXPECT_EQ(maker(""), GpuMaker::kUnknown);
}

TEST_F(Exchange, SaysThatNcclMayAddUpWithinNodes) {
  const auto said = [&] { return Describe(PlanExchange(spec_).gpu); };
  spec_.launch.gpus_per_rank = 1;
  spec_.gradients.gpu_exchange = GpuExchange::kNccl;
  EXPECT_EQ(said(), "nccl, as gpu_exchange says");
  spec_.launch.nodes = spec_.launch.nodes_per_job = 2;
  EXPECT_EQ(said(), "nccl or nccl_in_nodes, the faster one at the start, as gpu_exchange says");
  spec_.launch.ranks_per_node = 1;
  EXPECT_EQ(said(), "nccl, as gpu_exchange says");
}

/// A spec and a team whose CPU has this work and no other.
struct BothSides {
  Spec spec;
  runtime::TeamSettings settings;
  bool check_sums = false;
};

BothSides With(CpuWork work) {
  BothSides both;
  auto& gradients = both.spec.gradients;
  switch (work) {
    case CpuWork::kDelay: gradients.mode = GradientMode::kDelayed, both.settings.lag = 1; break;
    case CpuWork::kClipNorm: gradients.clip_norm = both.settings.clip_norm = 1; break;
    case CpuWork::kCheckFinite: gradients.check_finite = both.settings.check_finite = true; break;
    case CpuWork::kCompress: gradients.compress = Compression::kBf16, both.settings.wire = SLIPWAY_BFLOAT16; break;
    case CpuWork::kAccumulate: gradients.accumulate = both.settings.accumulate = 2; break;
    case CpuWork::kCheckSums: both.spec.trace.sums = 5, both.check_sums = true; break;
  }
  return both;
}

TEST(WorkOfTheCpu, IsTheSameForThePlanAndForTheRanks) {
  for (const auto& entry : kCpuWork) {
    const auto both = With(entry.work);
    EXPECT_THAT(FieldsForTheCpu(both.spec), ElementsAre(entry.field));
    EXPECT_EQ(runtime::FirstCpuWork(both.settings, both.check_sums), entry.work) << entry.field;
    EXPECT_STREQ(ReasonOf(entry.work), entry.reason);
  }
  EXPECT_THAT(FieldsForTheCpu(Spec()), IsEmpty());
  EXPECT_FALSE(runtime::FirstCpuWork({}, false));
}

TEST(WorkOfTheCpu, LeavesSumsOverSeveralPassesToTheRanks) {
  auto both = With(CpuWork::kAccumulate);
  both.settings.op = SLIPWAY_SUM;
  EXPECT_FALSE(runtime::FirstCpuWork(both.settings, false));
}

TEST_F(Exchange, OfOneRankIsNone) {
  spec_.launch.ranks_per_node = 1;
  EXPECT_EQ(Describe(PlanExchange(spec_), spec_.gradients), "exchange: none, there is one rank\n");
}

TEST_F(Exchange, RefusesAnUnknownWayOfGpuMemory) {
  ::setenv("SLIPWAY_GPU_EXCHANGE", "drect", 1);
  EXPECT_THAT(Refusal(), HasSubstr("SLIPWAY_GPU_EXCHANGE is 'drect'"));
  EXPECT_THAT(Refusal(), HasSubstr("did you mean 'direct'?"));
  ::setenv("SLIPWAY_GPU_EXCHANGE", "", 1);
  EXPECT_EQ(Refusal(), "no error");
}

// ----------------------------------------------------------------------------------------------------------- bits

TEST_F(Exchange, RemembersItsBits) {
  const auto exchange = PlanExchange(spec_);
  EXPECT_THAT(ChangesOfBits(ToJson(exchange, spec_.gradients), exchange), IsEmpty());
}

TEST_F(Exchange, TellsWhatChangesTheBits) {
  const auto stored = ToJson(PlanExchange(spec_), spec_.gradients);
  ::setenv("SLIPWAY_ALGORITHMS", "ring", 1);
  EXPECT_THAT(ChangesOfBits(stored, PlanExchange(spec_)),
              ElementsAre(R"(algorithms was "shared:0-max", now "ring:0-max")"));
}

TEST_F(Exchange, TellsThatALibraryAddsUpNow) {
  spec_.launch.gpus_per_rank = 1;
  const auto stored = ToJson(PlanExchange(spec_), spec_.gradients);
  ::setenv("SLIPWAY_GPU_EXCHANGE", "nccl", 1);
  EXPECT_THAT(ChangesOfBits(stored, PlanExchange(spec_)), ElementsAre(R"(gpu_exchange was "auto", now "nccl")"));
  spec_.launch.gpus_per_rank = 0;
  EXPECT_THAT(ChangesOfBits(stored, PlanExchange(spec_)), IsEmpty()) << "tensors are in CPU memory";
}

TEST_F(Exchange, PromisesNoBitsWithoutDeterminism) {
  spec_.gradients.deterministic = Determinism::kOff;
  const auto stored = ToJson(PlanExchange(spec_), spec_.gradients);
  EXPECT_TRUE(stored["bits"].is_null());
  ::setenv("SLIPWAY_ALGORITHMS", "ring", 1);
  EXPECT_THAT(ChangesOfBits(stored, PlanExchange(spec_)), IsEmpty());
}

TEST_F(Exchange, PromisesNoBitsOfNcclAndMpi) {
  for (const auto way : {GpuExchange::kNccl, GpuExchange::kMpi}) {
    spec_.gradients.gpu_exchange = way;
    const std::string word = way == GpuExchange::kNccl ? "nccl" : "mpi";
    const auto plan = PlanExchange(spec_);
    EXPECT_TRUE(ToJson(plan, spec_.gradients)["bits"].is_null());
    EXPECT_EQ(ToJson(plan, spec_.gradients)["gpu_exchange"], word);
    EXPECT_THAT(Describe(plan, spec_.gradients), HasSubstr("buckets of 4.19 MB, GPU memory " + word + "\n"));
  }
}

TEST_F(Exchange, PromisesBitsInCpuMemoryWhereAVariableOfTheSiteChoosesALibrary) {
  ::setenv("SLIPWAY_GPU_EXCHANGE", "nccl", 1);
  const auto plan = PlanExchange(spec_);
  const auto stored = ToJson(plan, spec_.gradients);
  EXPECT_THAT(Describe(plan, spec_.gradients),
              HasSubstr("GPU memory nccl, the same bits in every run (CPU memory only)\n"));
  EXPECT_TRUE(stored["bits"].is_object());
  EXPECT_THAT(ChangesOfBits(stored, plan), IsEmpty());
  spec_.gradients.gpu_exchange = GpuExchange::kNccl;
  EXPECT_TRUE(ToJson(PlanExchange(spec_), spec_.gradients)["bits"].is_null()) << "the experiment says so, too";
  EXPECT_THAT(ChangesOfBits(stored, PlanExchange(spec_)), ElementsAre(HasSubstr("gpu_exchange was")));
}

TEST_F(Exchange, PromisesTheBitsOfTheWayThatTheVariableChooses) {
  spec_.launch.gpus_per_rank = 1;
  ::setenv("SLIPWAY_GPU_EXCHANGE", "nccl", 1);
  auto plan = PlanExchange(spec_);
  EXPECT_THAT(Describe(plan, spec_.gradients), Not(HasSubstr("the same bits")));
  EXPECT_TRUE(ToJson(plan, spec_.gradients)["bits"].is_null());
  EXPECT_EQ(ToJson(plan, spec_.gradients)["gpu_exchange"], "nccl");
  spec_.gradients.gpu_exchange = GpuExchange::kNccl;
  ::setenv("SLIPWAY_GPU_EXCHANGE", "staged", 1);
  plan = PlanExchange(spec_);
  EXPECT_THAT(Describe(plan, spec_.gradients), HasSubstr("the same bits in every run"));
  EXPECT_TRUE(ToJson(plan, spec_.gradients)["bits"].is_object());
  EXPECT_EQ(ToJson(plan, spec_.gradients)["gpu_exchange"], "staged");
}

TEST_F(Exchange, SaysWhatBitsSumsInGpuMemoryHave) {
  const auto bits = [&] { return ToJson(PlanExchange(spec_), spec_.gradients)["gpu_bits"]; };
  EXPECT_TRUE(bits().is_null()) << "the ranks have no GPUs of their own";
  spec_.launch.gpus_per_rank = 1;
  for (const auto& [way, word] : {std::pair(GpuExchange::kAuto, "cpu"), std::pair(GpuExchange::kStaged, "cpu"),
                                  std::pair(GpuExchange::kDirect, "cpu"), std::pair(GpuExchange::kNccl, "library"),
                                  std::pair(GpuExchange::kMpi, "mpi")}) {
    spec_.gradients.gpu_exchange = way;
    EXPECT_EQ(bits(), word);
  }
  EXPECT_THAT(Describe(PlanExchange(spec_), spec_.gradients),
              HasSubstr("bits of its sums       they depend on the MPI"));
  spec_.gradients.gpu_exchange = GpuExchange::kAuto;
  spec_.gradients.deterministic = Determinism::kOff;
  EXPECT_EQ(bits(), "measured");
  spec_.gradients.clip_norm = 1;
  EXPECT_EQ(bits(), "cpu");
}

TEST_F(Exchange, InCanonicalOrderDependsOnNoAlgorithm) {
  spec_.gradients.deterministic = Determinism::kCanonical;
  const auto stored = ToJson(PlanExchange(spec_), spec_.gradients);
  ::setenv("SLIPWAY_ALGORITHMS", "ring", 1);
  EXPECT_THAT(ChangesOfBits(stored, PlanExchange(spec_)), IsEmpty());
}

TEST_F(Exchange, TakesARunWithoutRecordAsItIs) {
  for (const char* stored : {"null", "7", "{}", R"({"bits":null})", R"({"bits":[1]})"}) {
    EXPECT_THAT(ChangesOfBits(Json::parse(stored), PlanExchange(spec_)), IsEmpty()) << stored;
  }
}

}  // namespace
}  // namespace slipway::launcher
