// GPUs of a node that add up: when one fails while they wait for each other by events. One test for each process, on
// two ranks.

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>

#include "tests/runtime/device/gpu_job.h"
#include "tests/support/rank_of_launcher.h"

namespace slipway::test {
namespace {

using namespace fake_gpu;  // the entries that the program calls

class EventsJob : public GpuJob {
 protected:
  EventsJob() {
    ::setenv("SLIPWAY_NCCL", "/nonexistent/libnccl.so.2", 1);  // not one of this machine
    ::setenv("SLIPWAY_GPU_WAIT", "events", 1);
    fake_gpu_set_order(FAKE_GPU_LAZY, 0);
  }
  /// A stream of which rank 1 never gets to the end; null on other ranks.
  std::unique_ptr<HeldStream> HeldByRank1() const { return rank_ == 1 ? std::make_unique<HeldStream>() : nullptr; }
  void BeginWithATeam() {
    Begin(Json::object());
    ASSERT_EQ(Register(), SLIPWAY_OK) << slipway_error_message();
  }
  /// Of a rank whose streams wait for one that has left. Slipway ends well; to free memory would wait for ever.
  static void EndAlone() {
    End();
    fake_gpu_lose_device(kUnknown);
  }
};

TEST_F(EventsJob, TheReportSaysWhoWaits) {
  BeginWithATeam();
  ASSERT_EQ(slipway_gradients("net"), SLIPWAY_OK) << slipway_error_message();
  const auto team = ReportAfterEnd();
  if (rank_ != 0) return;
  EXPECT_EQ(team["way"], "direct") << team.dump();
  EXPECT_EQ(team["waits"], "events") << team.dump();
}

TEST_F(EventsJob, TheTraceShowsTheSums) { ExpectSumsInTheTrace(); }

TEST_F(EventsJob, AllRanksHaveToAskForThem) {
  if (RankOfLauncher() == 1) ::setenv("SLIPWAY_GPU_WAIT", "cpu", 1);
  BeginWithATeam();
  ASSERT_EQ(slipway_gradients("net"), SLIPWAY_OK) << slipway_error_message();
  const auto team = ReportAfterEnd();
  if (rank_ != 0) return;
  EXPECT_EQ(team["waits"], "cpu") << team.dump();
}

TEST_F(EventsJob, AnUnknownWordIsRefused) {
  ::setenv("SLIPWAY_GPU_WAIT", "gpu", 1);
  EXPECT_EQ(slipway_init("{}"), SLIPWAY_ERROR_ARGUMENT);
  EXPECT_NE(std::string(slipway_error_message()).find("SLIPWAY_GPU_WAIT is 'gpu', not cpu or events"),
            std::string::npos)
      << slipway_error_message();
}

/// Between two calls: the step has ended for the CPU.
TEST_F(EventsJob, SumsThatFailLaterShowBeforeACheckpoint) {
  together_ = false;
  BeginWithATeam();
  if (rank_ == 1) fake_gpu_fail_operation(1, kLaunchFailed);
  ASSERT_EQ(slipway_wait_on_stream("net", nullptr), SLIPWAY_OK) << slipway_error_message();
  MPI_Barrier(MPI_COMM_WORLD);  // no GPU has begun so far
  char path[4096];
  EXPECT_EQ(slipway_checkpoint_begin(1, path, sizeof path), rank_ == 1 ? SLIPWAY_ERROR_DEVICE : SLIPWAY_ERROR_STALLED);
  const std::string message = slipway_error_message();
  EXPECT_NE(message.find(rank_ == 1 ? "CUDA_ERROR_LAUNCH_FAILED" : "rank 1"), std::string::npos) << message;
  EXPECT_EQ(slipway_gradients("net"), SLIPWAY_ERROR_STATE);
  EndAlone();
}

/// Its events are recorded, and no stream will reach them.
TEST_F(EventsJob, ARankThatDiesIsNamed) {
  together_ = false;
  BeginWithATeam();
  ASSERT_EQ(slipway_wait_on_stream("net", nullptr), SLIPWAY_OK) << slipway_error_message();
  if (rank_ == 1) ::_exit(0);
  EXPECT_EQ(slipway_wait_on_stream("net", nullptr), SLIPWAY_ERROR_STALLED);
  const std::string message = slipway_error_message();
  EXPECT_NE(message.find("rank 1"), std::string::npos) << message;
  EndAlone();
}

/// On three ranks. The program's stream waits for the sums of the dead one; the call comes to the others alone, and
/// would wait for the stream before it times anything.
TEST_F(EventsJob, ARankThatDiesIsNamedInAnotherGroup) {
  together_ = false;
  BeginWithATeam();
  ASSERT_EQ(slipway_gradients("net"), SLIPWAY_OK) << slipway_error_message();
  GpuBuffer there(kCount * sizeof(float));
  const int others[] = {0, 2};
  int group = 0;
  ASSERT_EQ(slipway_group_create(others, 2, &group), SLIPWAY_OK) << slipway_error_message();
  const auto values = HeldByRank1();
  ASSERT_EQ(slipway_wait_on_stream("net", values ? values->handle() : nullptr), SLIPWAY_OK) << slipway_error_message();
  if (rank_ == 1) ::_exit(0);
  EXPECT_EQ(slipway_allreduce(there.data(), kCount, SLIPWAY_FLOAT32, SLIPWAY_SUM, group), SLIPWAY_ERROR_STALLED);
  const std::string message = slipway_error_message();
  EXPECT_NE(message.find("rank 1"), std::string::npos) << message;
  EndAlone();
}

/// Of which copies to the CPU come after what the program's stream waits for.
class StagedTeams : public EventsJob {
 protected:
  /// The stream waits for sums of rank 1, which has died.
  void ExpectRank1IsNamed(Json gradients) {
    together_ = false;
    Begin({{"gpu_exchange", "direct"}});  // single allreduces, whatever their times are
    ASSERT_EQ(Register(), SLIPWAY_OK) << slipway_error_message();
    gradients["gpu_exchange"] = "staged";
    ASSERT_EQ(slipway_configure_team("net", gradients.dump().c_str()), SLIPWAY_OK) << slipway_error_message();
    ASSERT_EQ(slipway_gradients("net"), SLIPWAY_OK) << slipway_error_message();
    GpuBuffer there(kCount * sizeof(float));
    const auto combine = [&](void* stream) {
      return slipway_allreduce_on_stream(there.data(), kCount, SLIPWAY_FLOAT32, SLIPWAY_SUM, SLIPWAY_ALL, stream);
    };
    ASSERT_EQ(combine(nullptr), SLIPWAY_OK) << slipway_error_message();  // makes what frees memory of the GPU
    const auto kernels = fake_gpu_calls("cuLaunchKernel");
    const auto values = HeldByRank1();
    ASSERT_EQ(combine(values ? values->handle() : nullptr), SLIPWAY_OK) << slipway_error_message();
    ASSERT_GT(fake_gpu_calls("cuLaunchKernel"), kernels) << "the GPUs have not combined";
    if (rank_ == 1) ::_exit(0);
    EXPECT_EQ(slipway_wait_on_stream("net", nullptr), SLIPWAY_ERROR_STALLED);
    const std::string message = slipway_error_message();
    EXPECT_NE(message.find("rank 1"), std::string::npos) << message;
    EXPECT_EQ(slipway_wait_on_stream("net", nullptr), SLIPWAY_ERROR_STATE) << "the ranks are parted";
    EndAlone();
  }
};

TEST_F(StagedTeams, OfARankThatDiesNameIt) { ExpectRank1IsNamed({{"clip_norm", 1}}); }

TEST_F(StagedTeams, OfARankThatDiesNameItWhereTheyAreDelayed) {
  ExpectRank1IsNamed({{"mode", "delayed"}, {"sync_first", 1}});
}

/// Single ones, of GPU memory.
class AllreducesByEvents : public EventsJob {
 protected:
  AllreducesByEvents() { ::setenv("SLIPWAY_GPU_EXCHANGE", "direct", 1); }  // whatever the times are
  int Combine(void* stream = nullptr, int group = SLIPWAY_ALL, std::int64_t count = kCount) {
    return slipway_allreduce_on_stream(there_.data(), count, SLIPWAY_FLOAT32, SLIPWAY_SUM, group, stream);
  }
  /// No GPU has begun with it when this returns, and that of rank 1 will fail: in the copy to its block, the kernel or
  /// the copy back.
  void BeginWithOneThatFails(std::uint64_t operation) {
    together_ = false;
    Begin(Json::object());
    ASSERT_EQ(Combine(), SLIPWAY_OK) << slipway_error_message();
    if (rank_ == 1) fake_gpu_fail_operation(operation, kLaunchFailed);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  static int BeginCheckpoint() {
    char path[4096];
    return slipway_checkpoint_begin(1, path, sizeof path);
  }
  void ExpectNamed(int result) {
    EXPECT_EQ(result, rank_ == 1 ? SLIPWAY_ERROR_DEVICE : SLIPWAY_ERROR_STALLED);
    const std::string message = slipway_error_message();
    EXPECT_NE(message.find(rank_ == 1 ? "CUDA_ERROR_LAUNCH_FAILED" : "rank 1"), std::string::npos) << message;
  }

  GpuBuffer there_{kCount * sizeof(float)};
};

TEST_F(AllreducesByEvents, NeedAllRanksToAskForEvents) {
  if (RankOfLauncher() == 1) ::setenv("SLIPWAY_GPU_WAIT", "cpu", 1);
  Begin(Json::object());
  auto here = RandomBytes(SLIPWAY_FLOAT32, kCount, 7 + static_cast<unsigned>(rank_));
  for (int turn = 0; turn < 2; ++turn) {
    there_.Fill(here.data(), nullptr);
    const auto asked = fake_gpu_calls("cuEventQuery");
    ASSERT_EQ(Combine(), SLIPWAY_OK) << slipway_error_message();
    EXPECT_GT(fake_gpu_calls("cuEventQuery"), asked) << "no CPU has waited";
    ASSERT_EQ(slipway_allreduce(here.data(), kCount, SLIPWAY_FLOAT32, SLIPWAY_SUM, SLIPWAY_ALL), SLIPWAY_OK);
    EXPECT_TRUE(there_.Read(nullptr) == here) << "turn " << turn;
  }
}

TEST_F(AllreducesByEvents, ThatFailLaterShowBeforeACheckpoint) {
  BeginWithOneThatFails(1);
  ExpectNamed(BeginCheckpoint());
  EXPECT_EQ(Combine(), SLIPWAY_ERROR_STATE);
  EndAlone();
}

TEST_F(AllreducesByEvents, ThatFailAfterTheSumsShowBeforeACheckpoint) {
  BeginWithOneThatFails(3);
  ExpectNamed(BeginCheckpoint());
  EndAlone();
}

/// Where blocks are unmapped: the driver would wait for ever.
TEST_F(AllreducesByEvents, ThatFailLaterShowAtTheEnd) {
  BeginWithOneThatFails(1);
  ExpectNamed(slipway_finalize());
  EndAlone();
}

/// The stream of the other one waits for its values.
TEST_F(AllreducesByEvents, OfARankThatDiesNameItInTheNextOne) {
  together_ = false;
  Begin(Json::object());
  ASSERT_EQ(Combine(), SLIPWAY_OK) << slipway_error_message();
  if (rank_ == 1) ::_exit(0);
  EXPECT_EQ(Combine(), SLIPWAY_ERROR_STALLED);
  const std::string message = slipway_error_message();
  EXPECT_NE(message.find("rank 1"), std::string::npos) << message;
  EndAlone();
}

/// The copy to the CPU comes after the sums of the one before.
TEST_F(AllreducesByEvents, OfARankThatDiesNameItInOneThroughTheCpu) {
  together_ = false;
  Begin(Json::object());
  ASSERT_EQ(Combine(), SLIPWAY_OK) << slipway_error_message();  // makes what frees memory of the GPU
  const auto values = HeldByRank1();
  ASSERT_EQ(Combine(values ? values->handle() : nullptr), SLIPWAY_OK) << slipway_error_message();
  if (rank_ == 1) ::_exit(0);
  EXPECT_EQ(Combine(nullptr, SLIPWAY_ALL, 1), SLIPWAY_ERROR_STALLED);
  const std::string message = slipway_error_message();
  EXPECT_NE(message.find("rank 1"), std::string::npos) << message;
  EndAlone();
}

/// On rank 0, calls that the other one has no part in before they wait for this GPU: none may wait as the driver does.
class AfterARankThatDies : public AllreducesByEvents {
 protected:
  /// The default stream waits for sums of rank 1, which has died.
  void BeginWithOneThatDies() {
    together_ = false;
    Begin(Json::object());
    ASSERT_EQ(Combine(), SLIPWAY_OK) << slipway_error_message();  // makes what frees memory of the GPU
    const int first = 0;
    ASSERT_EQ(slipway_group_create(&first, 1, &alone_), SLIPWAY_OK) << slipway_error_message();
    const auto values = HeldByRank1();
    ASSERT_EQ(Combine(values ? values->handle() : nullptr), SLIPWAY_OK) << slipway_error_message();
    if (rank_ == 1) ::_exit(0);
  }
  void ExpectRank1IsNamed(int result) {
    EXPECT_EQ(result, SLIPWAY_ERROR_STALLED);
    const std::string message = slipway_error_message();
    EXPECT_NE(message.find("rank 1"), std::string::npos) << message;
    EXPECT_EQ(Combine(), SLIPWAY_ERROR_STATE) << "the ranks are parted";
    EndAlone();
  }

  int alone_ = 0;  ///< rank 0 as a group of its own
};

TEST_F(AfterARankThatDies, ABroadcastNamesIt) {
  BeginWithOneThatDies();
  const slipway_tensor tensor{"values", SLIPWAY_FLOAT32, 1, &kCount, there_.data()};
  ExpectRank1IsNamed(slipway_broadcast(&tensor, 1, 0, alone_));
}

TEST_F(AfterARankThatDies, AnAllgatherNamesIt) {
  BeginWithOneThatDies();
  const std::int64_t counts[] = {kCount / 4, kCount / 4};
  auto* const receive = static_cast<float*>(there_.data()) + kCount / 2;
  ExpectRank1IsNamed(slipway_allgather(there_.data(), receive, counts, SLIPWAY_FLOAT32, SLIPWAY_ALL));
}

/// Nothing is read from the GPU here; the result is written behind what its stream waits for.
TEST_F(AfterARankThatDies, AResultThatIsWrittenNamesIt) {
  BeginWithOneThatDies();
  const std::vector<float> values(kCount / 2, 1);
  const std::int64_t count = kCount / 2;
  ExpectRank1IsNamed(slipway_allgather(values.data(), there_.data(), &count, SLIPWAY_FLOAT32, alone_));
}

TEST_F(AfterARankThatDies, ManagedMemoryOfAnAllreduceNamesIt) {
  DevicePointer memory = 0;
  ASSERT_EQ(cuMemAllocManaged(&memory, 64, 1), kSuccess);
  BeginWithOneThatDies();
  ExpectRank1IsNamed(slipway_allreduce(reinterpret_cast<void*>(memory), 16, SLIPWAY_FLOAT32, SLIPWAY_SUM, alone_));
}

/// It takes longer than a rank may be late.
TEST_F(AllreducesByEvents, BehindLongWorkOfTheProgramAreWaitedFor) {
  stall_after_s_ = 3;
  Begin(Json::object());
  ASSERT_EQ(Combine(), SLIPWAY_OK) << slipway_error_message();  // makes what frees memory of the GPU
  HeldStream held;
  ASSERT_EQ(Combine(held.handle()), SLIPWAY_OK) << slipway_error_message();
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::seconds(5));
    held.LetGo();
  });
  EXPECT_EQ(slipway_finalize(), SLIPWAY_OK) << slipway_error_message();
  later.join();
}

/// The other GPU may still use the block.
TEST_F(AllreducesByEvents, OfAGroupThatEndsInAnErrorAreNotFreed) {
  together_ = false;
  Begin(Json::object());
  const int both[] = {0, 1};
  int group = 0;
  ASSERT_EQ(slipway_group_create(both, 2, &group), SLIPWAY_OK) << slipway_error_message();
  ASSERT_EQ(Combine(nullptr, group), SLIPWAY_OK) << slipway_error_message();
  if (rank_ == 1) fake_gpu_fail_call("cuEventQuery", 1, kInvalidValue);
  EXPECT_EQ(slipway_group_free(group), rank_ == 1 ? SLIPWAY_ERROR_DEVICE : SLIPWAY_ERROR_STALLED)
      << slipway_error_message();
  EXPECT_EQ(Gpu::Violations(), "");
  EndAlone();
}

/// While the GPUs try sums, before the team has any.
class FirstSums : public EventsJob {
 protected:
  void ExpectRank1IsNamed(const std::string& as) {
    together_ = false;
    Begin(Json::object());
    EXPECT_EQ(Register(), SLIPWAY_ERROR_STALLED);
    const std::string message = slipway_error_message();
    EXPECT_NE(message.find("rank 1"), std::string::npos) << message;
    EXPECT_NE(message.find(as), std::string::npos) << message;
    EndAlone();
  }
};

TEST_F(FirstSums, OfARankThatDiesNameIt) {
  constexpr std::size_t kParameters[] = {sizeof(DevicePointer), sizeof(int), sizeof(float), sizeof(double)};
  if (RankOfLauncher() == 1) {
    fake_gpu_register_kernel(
        "slipway_sum_float32", [](const fake_gpu_launch*, void**) { ::_exit(0); }, kParameters, 4);
  }
  stall_after_s_ = 30;
  ExpectRank1IsNamed("is dead");
}

TEST_F(FirstSums, OfAGpuThatHangsNameItsRank) {
  fake_gpu_use_bandwidth(0);  // kernels run beside the program
  if (RankOfLauncher() == 1) Gpu::DelayKernels(std::chrono::seconds(40));
  ExpectRank1IsNamed("slipway_register");
}

}  // namespace
}  // namespace slipway::test
