// What a job is told about MPI on memory of GPUs, and when it fails in a step: one test for each process, on two ranks.

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>

#include "tests/runtime/device/gpu_job.h"
#include "tests/runtime/device/gpu_mpi.h"
#include "tests/support/rank_of_launcher.h"

namespace slipway::test {
namespace {

using namespace fake_gpu;  // the entries that the program calls

class GpuMpiJob : public GpuJob {
 protected:
  GpuMpiJob() {
    ::setenv("SLIPWAY_WAYS", Ways().c_str(), 1);
    ::setenv("SLIPWAY_NCCL", "/nonexistent/libnccl.so.2", 1);  // not one of this machine
  }
  std::string Ways() const { return folder_.path() / "ways.json"; }
  /// As it is remembered.
  static std::string ThisMpi() {
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    MPI_Get_library_version(text, &length);
    std::string name(text);
    name.resize(name.find_first_of(",\n"));
    for (auto& letter : name) letter = letter == '\t' ? ' ' : letter;
    return name + ", one node";
  }
  /// After the end of the job. Of rank 0, which writes them.
  void ExpectRemembered(const Json& mpis) const {
    if (rank_ != 0) return;
    std::ifstream file(Ways());
    const auto ways = Json::parse(file);
    EXPECT_EQ(ways["gpu_mpi"], mpis) << ways.dump();
  }
  void WriteWays(const Json& mpis) const {
    std::ofstream(Ways()) << Json{{"schema", "slipway.ways/1"}, {"nodes", Json::array()}, {"gpu_mpi", mpis}};
  }
};

TEST_F(GpuMpiJob, TheReportNamesTheWayAndItIsRemembered) {
  WriteWays({"another"});
  Begin({{"gpu_exchange", "mpi"}});
  ASSERT_EQ(Register(), SLIPWAY_OK) << slipway_error_message();
  ASSERT_EQ(slipway_gradients("net"), SLIPWAY_OK) << slipway_error_message();
  const auto team = ReportAfterEnd();
  if (rank_ != 0) return;
  EXPECT_EQ(team["way"], "mpi");
  EXPECT_EQ(team["bits"], Json()) << "MPI's are its own";
  ExpectRemembered({"another", ThisMpi()});
  std::ifstream file(Ways());
  EXPECT_FALSE(Json::parse(file)["nodes"].empty()) << "the ways of shared memory are kept";
}

TEST_F(GpuMpiJob, AutoMeasuresMpiWhereItHasWorked) {
  WriteWays({ThisMpi()});
  Begin({{"deterministic", false}});
  ASSERT_EQ(Register(), SLIPWAY_OK) << slipway_error_message();
  ASSERT_EQ(slipway_gradients("net"), SLIPWAY_OK) << slipway_error_message();
  EXPECT_GT(fake_gpu_mpi_calls(), 0u);
  const auto team = ReportAfterEnd();
  if (rank_ != 0) return;
  ASSERT_TRUE(team["measured_ms"].contains("mpi")) << team.dump();
  double fastest = team["measured_ms"][team["way"].get<std::string>()];
  for (const auto& [way, milliseconds] : team["measured_ms"].items()) EXPECT_LE(fastest, milliseconds) << team.dump();
}

TEST_F(GpuMpiJob, AutoDoesNotTryMpiBefore) {
  WriteWays({"another"});
  Begin({{"deterministic", false}});
  ASSERT_EQ(Register(), SLIPWAY_OK) << slipway_error_message();
  EXPECT_EQ(fake_gpu_mpi_calls(), 0u);
  const auto team = ReportAfterEnd();
  if (rank_ != 0) return;
  EXPECT_FALSE(team["measured_ms"].contains("mpi")) << team.dump();
  EXPECT_NE(team["without_mpi"].get<std::string>().find("gpu_exchange mpi"), std::string::npos) << team.dump();
}

TEST_F(GpuMpiJob, AllreducesGoByMpi) {
  ::setenv("SLIPWAY_GPU_EXCHANGE", "mpi", 1);
  Begin(Json::object());
  GpuBuffer there(kCount * sizeof(float));
  GpuStream stream;
  for (const auto dtype : {SLIPWAY_FLOAT32, SLIPWAY_BFLOAT16}) {
    for (const auto op : {SLIPWAY_SUM, SLIPWAY_MEAN, SLIPWAY_MAX}) {
      auto here = RandomBytes(dtype, kCount, 7 + static_cast<unsigned>(rank_));
      GpuView view(there.data(), here.size());
      view.Fill(here.data(), stream.handle());
      const auto before = fake_gpu_mpi_calls();
      ASSERT_EQ(slipway_allreduce_on_stream(there.data(), kCount, dtype, op, SLIPWAY_ALL, stream.handle()), SLIPWAY_OK)
          << slipway_error_message();
      const bool by_mpi = dtype == SLIPWAY_FLOAT32 && op != SLIPWAY_MAX;
      EXPECT_EQ(fake_gpu_mpi_calls() > before, by_mpi) << "op " << op;
      ASSERT_EQ(slipway_allreduce(here.data(), kCount, dtype, op, SLIPWAY_ALL), SLIPWAY_OK);
      EXPECT_TRUE(view.Read(stream.handle()) == here) << "op " << op;
    }
  }
  EXPECT_EQ(Gpu::Violations(), "");
  End();
  ExpectRemembered(Json::array({ThisMpi()}));
}

/// Those of a group that has ended, without a team.
TEST_F(GpuMpiJob, AllreducesOfAGroupAreRemembered) {
  Begin({{"gpu_exchange", "mpi"}});
  const int both[] = {0, 1};
  int group = 0;
  ASSERT_EQ(slipway_group_create(both, 2, &group), SLIPWAY_OK) << slipway_error_message();
  GpuBuffer there(kCount * sizeof(float));
  const std::vector<char> zeros(kCount * sizeof(float));
  there.Fill(zeros.data(), nullptr);
  ASSERT_EQ(slipway_allreduce(there.data(), kCount, SLIPWAY_FLOAT32, SLIPWAY_SUM, group), SLIPWAY_OK)
      << slipway_error_message();
  ASSERT_EQ(slipway_group_free(group), SLIPWAY_OK) << slipway_error_message();
  End();
  ExpectRemembered(Json::array({ThisMpi()}));
}

/// A connection is no sum of the program.
TEST_F(GpuMpiJob, AllreducesThroughTheCpuAreNotRemembered) {
  WriteWays(Json::array());
  Begin({{"gpu_exchange", "mpi"}});
  GpuBuffer there(kCount * sizeof(float));
  const std::vector<char> zeros(kCount * sizeof(float));
  there.Fill(zeros.data(), nullptr);
  ASSERT_EQ(slipway_allreduce(there.data(), kCount, SLIPWAY_FLOAT16, SLIPWAY_SUM, SLIPWAY_ALL), SLIPWAY_OK)
      << slipway_error_message();
  End();
  ExpectRemembered(Json::array());
}

/// MPI was connected on the first one, although what came first was not for it.
TEST_F(GpuMpiJob, AnotherGpuThanTheFirstIsLeftToTheCpu) {
  ::setenv("SLIPWAY_GPU_EXCHANGE", "mpi", 1);
  Begin(Json::object());
  std::uint64_t calls = 0;
  for (const auto& [device, dtype] : {std::pair(0, SLIPWAY_FLOAT16), std::pair(1, SLIPWAY_FLOAT32)}) {
    const UsingGpu gpu(device);
    GpuStream stream;
    auto here = RandomBytes(dtype, kCount, 7 + static_cast<unsigned>(rank_));
    GpuBuffer there(here.size());
    there.Fill(here.data(), stream.handle());
    ASSERT_EQ(slipway_allreduce_on_stream(there.data(), kCount, dtype, SLIPWAY_SUM, SLIPWAY_ALL, stream.handle()),
              SLIPWAY_OK)
        << slipway_error_message();
    ASSERT_EQ(slipway_allreduce(here.data(), kCount, dtype, SLIPWAY_SUM, SLIPWAY_ALL), SLIPWAY_OK);
    EXPECT_TRUE(there.Read(stream.handle()) == here) << "GPU " << device;
    if (device == 0) calls = fake_gpu_mpi_calls();
  }
  EXPECT_EQ(fake_gpu_mpi_calls(), calls) << "MPI has the context of another GPU";
  EXPECT_EQ(Gpu::Violations(), "");
}

TEST_F(GpuMpiJob, WrongSumsAreRefused) {
  if (RankOfLauncher() == 1) fake_gpu_mpi_spoil();
  Begin({{"gpu_exchange", "mpi"}});
  ExpectRefusal(SLIPWAY_ERROR_DEVICE, "gives wrong sums of it: set gpu_exchange to auto");
}

/// As AMD's GPUs.
TEST_F(GpuMpiJob, AMeanNeedsAGpuThatCanDivide) {
  if (RankOfLauncher() == 1) fake_gpu_fail_call("cuModuleLoadData", 1, kNotSupported);
  Begin({{"gpu_exchange", "mpi"}});
  ExpectRefusal(SLIPWAY_ERROR_DEVICE, "rank 1: MPI gives sums, and this GPU cannot run the kernel");
}

TEST_F(GpuMpiJob, CanonicalBitsAreRefused) {
  Begin({{"gpu_exchange", "mpi"}, {"deterministic", "canonical"}});
  ExpectRefusal(SLIPWAY_ERROR_ARGUMENT, "not with deterministic: canonical");
}

/// The other one is not yet in MPI.
TEST_F(GpuMpiJob, ALateRankIsNamed) {
  together_ = false;
  fake_gpu_use_bandwidth(0);
  Begin({{"gpu_exchange", "mpi"}});
  ASSERT_EQ(Register(), SLIPWAY_OK) << slipway_error_message();
  if (rank_ == 1) {
    std::this_thread::sleep_for(std::chrono::seconds(14));
    ::_exit(0);
  }
  const auto before = fake_gpu_mpi_calls();
  EXPECT_EQ(slipway_gradients("net"), SLIPWAY_ERROR_STALLED);
  const std::string message = slipway_error_message();
  EXPECT_NE(message.find("rank 1"), std::string::npos) << message;
  EXPECT_EQ(fake_gpu_mpi_calls(), before);
}

/// MPI waits for it for ever.
TEST_F(GpuMpiJob, ARankThatDiesInTheCallIsNamed) {
  together_ = false;
  stall_after_s_ = 30;
  fake_gpu_use_bandwidth(0);
  Begin({{"gpu_exchange", "mpi"}});
  ASSERT_EQ(Register(), SLIPWAY_OK) << slipway_error_message();
  if (rank_ == 1) fake_gpu_mpi_die();
  EXPECT_EQ(slipway_gradients("net"), SLIPWAY_ERROR_STALLED);
  const std::string message = slipway_error_message();
  EXPECT_NE(message.find("rank 1"), std::string::npos) << message;
  EXPECT_NE(message.find("is dead"), std::string::npos) << message;
  EXPECT_EQ(slipway_gradients("net"), SLIPWAY_ERROR_STATE);
}

}  // namespace
}  // namespace slipway::test
