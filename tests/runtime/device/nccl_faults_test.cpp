// What a job is told about NCCL, and when NCCL fails in a step: one test for each process, on two ranks.

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "tests/runtime/device/fake_nccl/fake_nccl.h"
#include "tests/runtime/device/gpu_job.h"

namespace slipway::test {
namespace {

using namespace fake_gpu;  // the entries that the program calls

constexpr int kUnhandledCudaError = 1;
constexpr int kRemoteError = 6;
constexpr int kInProgress = 7;

class NcclJob : public GpuJob {
 protected:
  /// NCCL is a candidate, and no rank is so slow that the others would do without it.
  void BeginWithAnyBits() {
    stall_after_s_ = 40;
    Begin({{"deterministic", false}});
  }
};

TEST_F(NcclJob, TheReportNamesTheWay) {
  Begin({{"gpu_exchange", "nccl"}});
  ASSERT_EQ(Register(), SLIPWAY_OK) << slipway_error_message();
  ASSERT_EQ(slipway_gradients("net"), SLIPWAY_OK) << slipway_error_message();
  const auto team = ReportAfterEnd();
  if (rank_ != 0) return;
  EXPECT_EQ(team["way"], "nccl");
  EXPECT_EQ(team["bits"], Json()) << "NCCL's are its own";
  EXPECT_EQ(fake_nccl_communicators(), 0u);
}

TEST_F(NcclJob, AutoMeasuresWhereAnyBitsAreGood) {
  BeginWithAnyBits();
  ASSERT_EQ(Register(), SLIPWAY_OK) << slipway_error_message();
  ASSERT_EQ(slipway_gradients("net"), SLIPWAY_OK) << slipway_error_message();
  const auto team = ReportAfterEnd();
  if (rank_ != 0) return;
  const std::string usual = IsHip() ? "staged" : "direct";
  ASSERT_EQ(team["measured_ms"].size(), 2u) << team.dump();
  const bool by_nccl = team["measured_ms"]["nccl"] < team["measured_ms"][usual];
  EXPECT_EQ(team["way"], by_nccl ? "nccl" : usual) << team.dump();
}

/// One rank cannot make what a sample needs: all keep to the usual way.
TEST_F(NcclJob, AutoDoesWithoutASample) {
  BeginWithAnyBits();
  if (rank_ == 1) fake_gpu_fail_call("cuStreamCreate", 2, kOutOfMemory);  // the first is of the usual way
  ASSERT_EQ(Register(), SLIPWAY_OK) << slipway_error_message();
  ASSERT_EQ(slipway_gradients("net"), SLIPWAY_OK) << slipway_error_message();
  const auto team = ReportAfterEnd();
  if (rank_ != 0) return;
  EXPECT_EQ(team["way"], "direct");
  EXPECT_NE(team["without_nccl"].get<std::string>().find("rank 1: cuStreamCreate failed"), std::string::npos)
      << team.dump();
}

/// It was faster, and then there is no memory for a second communicator.
TEST_F(NcclJob, AutoKeepsTheUsualWayWhereTheFasterOneFails) {
  BeginWithAnyBits();
  Gpu::DelayKernels(std::chrono::milliseconds(200));  // those of direct sums
  if (rank_ == 1) fake_nccl_fail_call("ncclCommInitRankConfig", 2, kUnhandledCudaError);
  ASSERT_EQ(Register(), SLIPWAY_OK) << slipway_error_message();
  Gpu::DelayKernels(std::chrono::milliseconds(0));
  ASSERT_EQ(slipway_gradients("net"), SLIPWAY_OK) << slipway_error_message();
  EXPECT_EQ(Gpu::Violations(), "");
  const auto team = ReportAfterEnd();
  if (rank_ != 0) return;
  EXPECT_EQ(team["way"], "direct");
  EXPECT_LT(team["measured_ms"]["nccl"], team["measured_ms"]["direct"]);
  EXPECT_NE(team["without_nccl"].get<std::string>().find("ncclCommInitRankConfig"), std::string::npos) << team.dump();
}

/// Two communicators at once could hang, as each has a thread of its own.
TEST_F(NcclJob, AutoGivesItToOneTeam) {
  BeginWithAnyBits();
  const auto connected = [] { return fake_nccl_calls("ncclCommInitRankConfig"); };
  GpuBuffer second(kCount * sizeof(float));
  GpuBuffer third(kCount * sizeof(float));
  Gpu::DelayKernels(std::chrono::milliseconds(200));  // those of direct sums, so that NCCL is taken
  ASSERT_EQ(Register(), SLIPWAY_OK) << slipway_error_message();
  const auto of_the_first = connected();
  EXPECT_EQ(of_the_first, 2u) << "to be measured, and to be used";
  ASSERT_EQ(Register("second", second), SLIPWAY_OK) << slipway_error_message();
  EXPECT_EQ(connected(), of_the_first);
  for (const char* team : {"net", "second"}) EXPECT_EQ(slipway_gradients(team), SLIPWAY_OK) << slipway_error_message();
  ASSERT_EQ(slipway_unregister("net"), SLIPWAY_OK) << slipway_error_message();
  ASSERT_EQ(Register("third", third), SLIPWAY_OK) << slipway_error_message();
  EXPECT_GT(connected(), of_the_first) << "the first team has ended";
  Gpu::DelayKernels(std::chrono::milliseconds(0));
  const auto report = CommAfterEnd();
  if (rank_ != 0) return;
  std::map<std::string, Json> teams;
  for (const auto& team : report["teams"]) teams[team["team"]] = team;
  EXPECT_EQ(teams["second"]["way"], "direct");
  EXPECT_NE(teams["second"]["without_nccl"].get<std::string>().find("another team or group"), std::string::npos)
      << teams["second"].dump();
  EXPECT_EQ(teams["third"]["way"], "nccl") << teams["third"].dump();
}

/// NCCL leaves the others in their calls. What has failed is said, and not that they have waited.
TEST_F(NcclJob, AutoDoesWithoutWhereARankFailsSilently) {
  stall_after_s_ = 12;
  Begin({{"deterministic", false}});
  if (rank_ == 1) {
    fake_nccl_fail_silently();
    fake_nccl_fail_call("ncclCommInitRankConfig", 1, kUnhandledCudaError);
  }
  ASSERT_EQ(Register(), SLIPWAY_OK) << slipway_error_message();
  EXPECT_EQ(fake_nccl_communicators(), 0u);
  ASSERT_EQ(slipway_gradients("net"), SLIPWAY_OK) << slipway_error_message();
  const auto team = ReportAfterEnd();
  if (rank_ != 0) return;
  EXPECT_EQ(fake_nccl_calls("ncclCommAbort"), 1u);
  EXPECT_EQ(team["way"], "direct");
  EXPECT_NE(team["without_nccl"].get<std::string>().find("rank 1: ncclCommInitRankConfig failed"), std::string::npos)
      << team.dump();
}

TEST_F(NcclJob, AutoDoesWithoutWhereRanksDoNotConnect) {
  stall_after_s_ = 12;
  Begin({{"deterministic", false}});
  fake_nccl_set_state(kInProgress);
  ASSERT_EQ(Register(), SLIPWAY_OK) << slipway_error_message();
  EXPECT_EQ(fake_nccl_communicators(), 0u);
  ASSERT_EQ(slipway_gradients("net"), SLIPWAY_OK) << slipway_error_message();
  const auto team = ReportAfterEnd();
  if (rank_ != 0) return;
  EXPECT_EQ(team["way"], "direct");
  EXPECT_NE(team["without_nccl"].get<std::string>().find("NCCL did not connect the ranks within 6 s: set NCCL_DEBUG"),
            std::string::npos)
      << team.dump();
}

/// There is no other way, so they have all the time of the watch.
TEST_F(NcclJob, RanksThatDoNotConnectAreAStallWhereItIsNamed) {
  together_ = false;
  Begin({{"gpu_exchange", "nccl"}});
  fake_nccl_set_state(kInProgress);
  EXPECT_EQ(Register(), SLIPWAY_ERROR_STALLED) << slipway_error_message();
  EXPECT_EQ(fake_nccl_calls("ncclCommAbort"), 1u);
}

TEST_F(NcclJob, NoRankFreesASampleThatAnotherHasMapped) {
  BeginWithAnyBits();
  if (rank_ == 1) fake_gpu_delay_closes(200);
  ASSERT_EQ(Register(), SLIPWAY_OK) << slipway_error_message();
  EXPECT_EQ(Gpu::Violations(), "");
}

/// While they are in it: they must not go on without the rank.
TEST_F(NcclJob, AnErrorInASampleIsThatOfTheOthers) {
  together_ = false;
  Begin({{"deterministic", false}});
  if (rank_ == 1) fake_gpu_fail_call("cuLaunchKernel", 3, kInvalidValue);  // the team and the sample try sums first
  EXPECT_EQ(Register(), rank_ == 1 ? SLIPWAY_ERROR_DEVICE : SLIPWAY_ERROR_STALLED);
  const std::string message = slipway_error_message();
  EXPECT_NE(message.find(rank_ == 1 ? "cuLaunchKernel failed" : "rank 1"), std::string::npos) << message;
  EXPECT_EQ(slipway_barrier(SLIPWAY_ALL), SLIPWAY_ERROR_STATE);
}

TEST_F(NcclJob, AutoKeepsItsBits) {
  Begin(Json::object());
  ASSERT_EQ(Register(), SLIPWAY_OK) << slipway_error_message();
  EXPECT_EQ(fake_nccl_calls("ncclGetVersion"), 0u) << "nobody has asked for NCCL";
  const auto team = ReportAfterEnd();
  if (rank_ != 0) return;
  EXPECT_EQ(team["way"], "direct");
}

TEST_F(NcclJob, AllreducesGoByNccl) {
  ::setenv("SLIPWAY_GPU_EXCHANGE", "nccl", 1);
  Begin(Json::object());
  GpuBuffer there(kCount * sizeof(float));
  GpuStream stream;
  for (const auto op : {SLIPWAY_SUM, SLIPWAY_MEAN, SLIPWAY_MAX}) {
    auto here = RandomBytes(SLIPWAY_FLOAT32, kCount, 7 + static_cast<unsigned>(rank_));
    there.Fill(here.data(), stream.handle());
    const auto before = fake_nccl_calls("ncclAllReduce");
    ASSERT_EQ(slipway_allreduce_on_stream(there.data(), kCount, SLIPWAY_FLOAT32, op, SLIPWAY_ALL, stream.handle()),
              SLIPWAY_OK)
        << slipway_error_message();
    EXPECT_EQ(fake_nccl_calls("ncclAllReduce") - before, op == SLIPWAY_MAX ? 0u : 1u);
    ASSERT_EQ(slipway_allreduce(here.data(), kCount, SLIPWAY_FLOAT32, op, SLIPWAY_ALL), SLIPWAY_OK);
    EXPECT_TRUE(there.Read(stream.handle()) == here) << "op " << op;
  }
  EXPECT_EQ(Gpu::Violations(), "");
  const auto calls = CallsByWayAfterEnd();
  if (rank_ != 0) return;
  EXPECT_EQ(calls, (std::map<std::string, int>{{"cpu", 3}, {"nccl", 2}, {"staged", 1}})) << "NCCL was named";
}

/// It takes longer than a rank may be late.
TEST_F(NcclJob, AllreducesWaitForLongWorkOfTheProgram) {
  stall_after_s_ = 3;
  ::setenv("SLIPWAY_GPU_EXCHANGE", "nccl", 1);
  Begin(Json::object());
  GpuBuffer there(kCount * sizeof(float));
  const std::vector<float> ones(kCount, 1);
  HeldStream held;
  there.Fill(ones.data(), held.handle());
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::seconds(5));
    held.LetGo();
  });
  EXPECT_EQ(slipway_allreduce_on_stream(there.data(), kCount, SLIPWAY_FLOAT32, SLIPWAY_SUM, SLIPWAY_ALL, held.handle()),
            SLIPWAY_OK)
      << slipway_error_message();
  later.join();
  const std::vector<float> sums(kCount, static_cast<float>(slipway_size()));
  EXPECT_EQ(std::memcmp(there.Read(held.handle()).data(), sums.data(), kCount * sizeof(float)), 0);
}

/// On three ranks. All are in the call: the others wait for the values of one, and each other rank is as late as it is.
TEST_F(NcclJob, ARankWhoseGpuIsLateIsNamed) {
  together_ = false;
  fake_gpu_use_bandwidth(0);
  ::setenv("SLIPWAY_GPU_EXCHANGE", "nccl", 1);
  Begin(Json::object());
  int first = ::getpid();
  MPI_Bcast(&first, 1, MPI_INT, 0, MPI_COMM_WORLD);
  GpuBuffer there(kCount * sizeof(float));
  if (rank_ == 1) {
    HeldStream held;
    std::thread([first] {
      while (::kill(first, 0) == 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
      ::_exit(0);
    }).detach();
    slipway_allreduce_on_stream(there.data(), kCount, SLIPWAY_FLOAT32, SLIPWAY_SUM, SLIPWAY_ALL, held.handle());
    FAIL() << "it waits for its GPU without a limit: " << slipway_error_message();
  }
  GpuStream stream;
  EXPECT_EQ(
      slipway_allreduce_on_stream(there.data(), kCount, SLIPWAY_FLOAT32, SLIPWAY_SUM, SLIPWAY_ALL, stream.handle()),
      SLIPWAY_ERROR_STALLED);
  const std::string message = slipway_error_message();
  EXPECT_NE(message.find("s for slipway_allreduce: rank 1 on host"), std::string::npos) << message;
  EXPECT_NE(message.find("is in slipway_allreduce and waits for its GPU"), std::string::npos) << message;
  EXPECT_EQ(message.find(rank_ == 0 ? "rank 2" : "rank 0"), std::string::npos) << message;
}

/// Ranks of several nodes share no memory in which they would meet: NCCL would wait for one that does not come.
TEST_F(NcclJob, MemoryOfTheCpuIsRefusedBetweenNodes) {
  Begin({{"gpu_exchange", "nccl"}});
  GpuBuffer there(kCount * sizeof(float));
  std::vector<float> here(kCount);
  there.Fill(here.data(), nullptr);
  const auto sum = [](void* data) {
    return slipway_allreduce(data, kCount, SLIPWAY_FLOAT32, SLIPWAY_SUM, SLIPWAY_ALL);
  };
  for (int turn = 0; turn < 2; ++turn) {
    EXPECT_EQ(sum(rank_ == 1 ? here.data() : there.data()), SLIPWAY_ERROR_MISMATCH);
    const std::string message = slipway_error_message();
    EXPECT_NE(message.find("rank 1 calls an allreduce of 100000 float32 (sum), but rank 0 an allreduce of 100000 "
                           "float32 (sum, its GPU number 1): the data lies in GPU memory on all ranks, or on none"),
              std::string::npos)
        << message;
    ASSERT_EQ(sum(there.data()), SLIPWAY_OK) << slipway_error_message();
    ASSERT_EQ(sum(here.data()), SLIPWAY_OK) << slipway_error_message();
  }
}

/// It has nothing to exchange.
TEST_F(NcclJob, ALoneRankDoesWithoutIt) {
  ::setenv("SLIPWAY_GPU_EXCHANGE", "nccl", 1);
  ::setenv("SLIPWAY_NCCL", "/nonexistent/libnccl.so.2", 1);
  Begin({{"deterministic", false}});
  GpuBuffer there(kCount * sizeof(float));
  GpuStream stream;
  const auto here = RandomBytes(SLIPWAY_FLOAT32, kCount, 7);
  there.Fill(here.data(), stream.handle());
  ASSERT_EQ(
      slipway_allreduce_on_stream(there.data(), kCount, SLIPWAY_FLOAT32, SLIPWAY_SUM, SLIPWAY_ALL, stream.handle()),
      SLIPWAY_OK)
      << slipway_error_message();
  EXPECT_TRUE(there.Read(stream.handle()) == here);
  ASSERT_EQ(Register(), SLIPWAY_OK) << slipway_error_message();
  ASSERT_EQ(slipway_gradients("net"), SLIPWAY_OK) << slipway_error_message();
  EXPECT_EQ(ReportAfterEnd()["way"], "none");
  EXPECT_EQ(fake_nccl_calls("ncclGetVersion"), 0u);
}

TEST_F(NcclJob, RanksThatShareAGpuAreNamed) {
  fake_gpu_share_devices();
  Begin({{"gpu_exchange", "nccl"}});
  ExpectRefusal(SLIPWAY_ERROR_DEVICE, "ranks 0 and 1 share GPU 00000000:01:00.0 of ");
}

/// Ranks 1 and 2 of three. Messages have the numbers of the job.
class GroupOfNcclJob : public NcclJob {
 protected:
  /// What this rank says in an allreduce of the group; nothing where it has no part.
  std::string SaidInAnAllreduce() {
    Begin({{"gpu_exchange", "nccl"}});
    const int members[] = {1, 2};
    int group = 0;
    EXPECT_EQ(slipway_group_create(members, 2, &group), SLIPWAY_OK) << slipway_error_message();
    if (rank_ == 0) return "";
    if (rank_ == 2) fake_nccl_fail_call("ncclCommInitRankConfig", 1, kUnhandledCudaError);
    GpuBuffer there(kCount * sizeof(float));
    const std::vector<char> zeros(kCount * sizeof(float));
    there.Fill(zeros.data(), nullptr);
    testing::internal::CaptureStderr();
    EXPECT_EQ(slipway_allreduce(there.data(), kCount, SLIPWAY_FLOAT32, SLIPWAY_SUM, group), SLIPWAY_OK)
        << slipway_error_message();
    return testing::internal::GetCapturedStderr();
  }
};

/// The first one of the group says it.
TEST_F(GroupOfNcclJob, NamesRanksThatShareAGpu) {
  fake_gpu_share_devices();
  const auto said = SaidInAnAllreduce();
  EXPECT_EQ(said.find("ranks 1 and 2 share GPU 00000000:01:00.0 of ") != std::string::npos, rank_ == 1) << said;
}

/// It says so itself, too: others may wait for it.
TEST_F(GroupOfNcclJob, NamesARankThatCannotConnect) {
  const auto said = SaidInAnAllreduce();
  EXPECT_EQ(said.find("slipway: rank 2: ncclCommInitRankConfig failed") != std::string::npos, rank_ == 2) << said;
  EXPECT_EQ(said.find("rank 0: "), std::string::npos) << said;
  if (rank_ != 1) return;
  // Its own error, that the other has gone, may come first.
  const bool is_named =
      said.find("memory of GPUs here: rank 2: ncclCommInitRankConfig failed") != std::string::npos ||
      said.find("memory of GPUs here: rank 1: ncclCommInitRankConfig failed: remote process exited") !=
          std::string::npos;
  EXPECT_TRUE(is_named) << said;
}

TEST_F(NcclJob, AutoDoesWithoutWhereRanksShareAGpu) {
  fake_gpu_share_devices();
  Begin({{"deterministic", false}});
  ASSERT_EQ(Register(), SLIPWAY_OK) << slipway_error_message();
  ASSERT_EQ(slipway_gradients("net"), SLIPWAY_OK) << slipway_error_message();
  const auto team = ReportAfterEnd();
  if (rank_ != 0) return;
  EXPECT_EQ(team["way"], "direct");
  EXPECT_NE(team["without_nccl"].get<std::string>().find("ranks 0 and 1 share GPU"), std::string::npos) << team.dump();
}

TEST_F(NcclJob, CanonicalBitsAreRefused) {
  Begin({{"gpu_exchange", "nccl"}, {"deterministic", "canonical"}});
  ExpectRefusal(SLIPWAY_ERROR_ARGUMENT, "not with deterministic: canonical");
}

TEST_F(NcclJob, AnOldLibraryIsRefused) {
  ::setenv("SLIPWAY_FAKE_NCCL_VERSION", "2803", 1);
  Begin({{"gpu_exchange", "nccl"}});
  ExpectRefusal(SLIPWAY_ERROR_DEVICE, "NCCL 2.8.3 is too old: set gpu_exchange to auto");
}

TEST_F(NcclJob, ALibraryWithoutAFunctionIsRefused) {
  Begin({{"gpu_exchange", "nccl"}});
  ExpectRefusal(SLIPWAY_ERROR_DEVICE, "NCCL has no function ncclCommAbort");
}

/// The GPU hangs, as it does when a link breaks; NCCL sees it.
TEST_F(NcclJob, AnAsynchronousErrorEndsTheTeam) {
  fake_gpu_use_bandwidth(0);
  Begin({{"gpu_exchange", "nccl"}});
  ASSERT_EQ(Register(), SLIPWAY_OK) << slipway_error_message();
  fake_nccl_hang();
  fake_nccl_set_state(kRemoteError);
  EXPECT_EQ(slipway_gradients("net"), SLIPWAY_ERROR_DEVICE);
  const std::string message = slipway_error_message();
  EXPECT_NE(message.find("remote process exited or there was a network error (ncclResult_t 6)"), std::string::npos)
      << message;
  EXPECT_EQ(fake_nccl_calls("ncclCommAbort"), 1u);
  EXPECT_EQ(slipway_gradients("net"), SLIPWAY_ERROR_STATE);
}

/// NCCL sees nothing, the watch does. The end of a communicator does not come back.
TEST_F(NcclJob, AHangIsEndedByForce) {
  ::alarm(60);  // ends a wait without a limit
  fake_nccl_never_end_aborts();
  fake_gpu_use_bandwidth(0);
  Begin({{"gpu_exchange", "nccl"}});
  ASSERT_EQ(Register(), SLIPWAY_OK) << slipway_error_message();
  fake_nccl_hang();
  EXPECT_EQ(slipway_gradients("net"), SLIPWAY_ERROR_STALLED);
  EXPECT_NE(std::string(slipway_error_message()).find("rank "), std::string::npos) << slipway_error_message();
  EXPECT_EQ(fake_nccl_calls("ncclCommAbort"), 1u);
  EXPECT_EQ(fake_nccl_ends_in_global_mode(), 0u);
}

/// In the middle of an exchange: the other rank's GPU waits for ever.
TEST_F(NcclJob, ARankThatDiesIsNamed) {
  together_ = false;
  stall_after_s_ = 30;
  fake_gpu_use_bandwidth(0);
  Begin({{"gpu_exchange", "nccl"}});
  ASSERT_EQ(Register(), SLIPWAY_OK) << slipway_error_message();
  if (rank_ == 1) {
    fake_nccl_hang();
    std::thread([] {
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      ::_exit(0);
    }).detach();
  }
  EXPECT_EQ(slipway_gradients("net"), SLIPWAY_ERROR_STALLED);
  const std::string message = slipway_error_message();
  EXPECT_NE(message.find("rank 1"), std::string::npos) << message;
  EXPECT_NE(message.find("is dead"), std::string::npos) << message;
  EXPECT_EQ(fake_nccl_calls("ncclCommAbort"), 1u);
}

/// In memory that all ranks see. It stays until this process ends. Collective.
std::atomic<int>& CounterOfAllRanks() {
  const MPI_Aint bytes = slipway_rank() == 0 ? sizeof(std::atomic<int>) : 0;
  void* memory = nullptr;
  MPI_Win window = MPI_WIN_NULL;
  MPI_Win_allocate_shared(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, static_cast<void*>(&memory), &window);
  if (bytes > 0) new (memory) std::atomic<int>(0);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Aint size = 0;
  int unit = 0;
  MPI_Win_shared_query(window, 0, &size, &unit, static_cast<void*>(&memory));
  return *static_cast<std::atomic<int>*>(memory);
}

class NcclJobOnNodes : public NcclJob {
 protected:
  /// By NCCL within nodes: between all ranks it is slower, also where four ranks share two cores.
  void BeginWithin() {
    together_ = false;
    stall_after_s_ = 8;
    fake_gpu_use_bandwidth(0);
    fake_nccl_delay(4, 300);
    Begin({{"gpu_exchange", "nccl"}});
  }
  int Sum() { return slipway_allreduce(there_.data(), kCount, SLIPWAY_FLOAT32, SLIPWAY_SUM, SLIPWAY_ALL); }
  /// Rank 1 ends when all ranks are in `exchange`, whose sums within its node never come.
  template <class Exchange>
  void ExpectRank1IsNamed(Exchange exchange) {
    if (rank_ == 1) fake_nccl_hang();
    const auto scattered = fake_nccl_calls("ncclReduceScatter");
    std::thread([scattered, &all = CounterOfAllRanks(), dies = rank_ == 1, ranks = slipway_size()] {
      const auto nap = [] { std::this_thread::sleep_for(std::chrono::milliseconds(1)); };
      while (fake_nccl_calls("ncclReduceScatter") == scattered) nap();
      for (++all; dies && all < ranks;) nap();
      if (dies) ::_exit(0);
    }).detach();
    EXPECT_EQ(exchange(), SLIPWAY_ERROR_STALLED);
    const std::string message = slipway_error_message();
    EXPECT_GT(fake_nccl_calls("ncclReduceScatter"), scattered) << "not within nodes";
    EXPECT_NE(message.find("rank 1"), std::string::npos) << message;
    EXPECT_EQ(exchange(), SLIPWAY_ERROR_STATE);
  }

  GpuBuffer there_{kCount * sizeof(float)};
};

/// The same on two nodes of two ranks, which NCCL connects within each: also the other node is told.
TEST_F(NcclJobOnNodes, ARankThatDiesIsNamed) {
  BeginWithin();
  ASSERT_EQ(Register(), SLIPWAY_OK) << slipway_error_message();
  ExpectRank1IsNamed([] { return slipway_gradients("net"); });
}

TEST_F(NcclJobOnNodes, ARankThatDiesInAnAllreduceIsNamed) {
  BeginWithin();
  ASSERT_EQ(Sum(), SLIPWAY_OK) << slipway_error_message();  // chooses
  ExpectRank1IsNamed([this] { return Sum(); });
}

TEST_F(NcclJobOnNodes, AutoMeasuresAllreducesWhereAnyBitsAreGood) {
  BeginWithAnyBits();
  const std::vector<float> ones(kCount, 1);
  there_.Fill(ones.data(), nullptr);
  ASSERT_EQ(Sum(), SLIPWAY_OK) << slipway_error_message();
  const std::vector<float> sums(kCount, 4);  // of four ranks
  EXPECT_EQ(std::memcmp(there_.Read(nullptr).data(), sums.data(), kCount * sizeof(float)), 0);
  const auto comm = CommAfterEnd();
  EXPECT_EQ(fake_nccl_communicators(), 0u);
  if (rank_ != 0) return;
  const auto& group = comm["gpu_allreduce"][0];
  for (const char* way : {"staged", "nccl_in_nodes", "nccl"}) {
    EXPECT_TRUE(group["measured_ms"].back().contains(way)) << group.dump();
  }
}

}  // namespace
}  // namespace slipway::test
