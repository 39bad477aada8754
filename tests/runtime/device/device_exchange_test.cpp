// Tensors in the memory of a GPU: the bits that the CPU gives, in every order that a GPU may work in.

#include <cstring>
#include <limits>
#include <ostream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "runtime/reduction/reduction.h"
#include "tests/runtime/device/gpu_program.h"
#include "tests/runtime/device/twin_teams.h"

namespace slipway::test {
namespace {

using namespace fake_gpu;  // the entries that the program calls

TEST_F(OnDevice, AnAllreduceHasTheBitsOfTheCpu) {
  for (const auto dtype :
       {SLIPWAY_FLOAT32, SLIPWAY_FLOAT64, SLIPWAY_FLOAT16, SLIPWAY_BFLOAT16, SLIPWAY_INT32, SLIPWAY_INT64}) {
    for (const auto op : {SLIPWAY_SUM, SLIPWAY_MEAN, SLIPWAY_MIN, SLIPWAY_MAX, SLIPWAY_PRODUCT}) {
      for (const std::int64_t count : {0, 1, 1000, 40000}) {
        auto here = RandomBytes(dtype, count, Seed(0, 0));
        GpuBuffer there(here.size());
        GpuStream stream;
        there.Fill(here.data(), stream.handle());
        ASSERT_EQ(slipway_allreduce(here.data(), count, dtype, op, SLIPWAY_ALL), SLIPWAY_OK) << slipway_error_message();
        ASSERT_EQ(slipway_allreduce_on_stream(there.data(), count, dtype, op, SLIPWAY_ALL, stream.handle()), SLIPWAY_OK)
            << slipway_error_message();
        EXPECT_EQ(there.Read(stream.handle()), here) << runtime::NameOf(dtype) << " op " << op << " of " << count;
      }
    }
  }
}

/// Longer than the memory that it travels through.
TEST_F(OnDevice, ALongAllreduceGoesPartByPart) {
  // By the GPUs where they are named or faster, and by the CPU.
  for (const auto& [op, count] : {std::pair(SLIPWAY_SUM, 8'500'007), std::pair(SLIPWAY_MAX, 3'000'007)}) {
    auto here = RandomBytes(SLIPWAY_FLOAT32, count, Seed(1, 1));
    GpuBuffer there(here.size());
    GpuView again(there.data(), here.size());  // its numbers do not come from where those of the first turn still lie
    GpuStream stream;
    for (auto* turn : {static_cast<GpuView*>(&there), &again}) {  // begins before the copies of the last have ended
      turn->Fill(here.data(), stream.handle());
      ASSERT_EQ(slipway_allreduce_on_stream(there.data(), count, SLIPWAY_FLOAT32, op, SLIPWAY_ALL, stream.handle()),
                SLIPWAY_OK)
          << slipway_error_message();
      ASSERT_EQ(slipway_allreduce(here.data(), count, SLIPWAY_FLOAT32, op, SLIPWAY_ALL), SLIPWAY_OK);
    }
    EXPECT_TRUE(there.Read(stream.handle()) == here) << "op " << op;
  }
}

/// Memory of the library is neither copied nor mapped again; also where another rank has memory of its own.
TEST_F(OnDevice, MemoryOfTheLibraryIsCombinedWhereItLies) {
  if (!DirectIsNamed()) GTEST_SKIP() << "the times may choose the CPU";
  constexpr std::int64_t kCount = 400'000;
  void* ours = nullptr;
  ASSERT_EQ(slipway_alloc_on_device(3 * kCount * 4, 0, &ours), SLIPWAY_OK) << slipway_error_message();
  GpuBuffer ordinary(kCount * sizeof(float));
  GpuStream stream;
  for (const auto order : {FAKE_GPU_LAZY, FAKE_GPU_EAGER, FAKE_GPU_RANDOM}) {
    fake_gpu_set_order(order, 3);
    for (int round = 0; round < 4; ++round) {
      const bool mixed = round >= 2 && Rank() == 0;
      auto here = RandomBytes(SLIPWAY_FLOAT32, kCount, Seed(round, 0));
      // Another place on each rank.
      GpuView there(mixed ? ordinary.data() : static_cast<float*>(ours) + 1000 * Rank() + kCount * (round % 2),
                    here.size());
      there.Fill(here.data(), stream.handle());
      const auto copies = fake_gpu_calls("cuMemcpyDtoDAsync_v2");
      const auto maps = fake_gpu_calls("cuIpcOpenMemHandle_v2");
      ASSERT_EQ(slipway_allreduce_on_stream(there.data(), kCount, SLIPWAY_FLOAT32, SLIPWAY_MEAN, SLIPWAY_ALL,
                                            stream.handle()),
                SLIPWAY_OK)
          << slipway_error_message();
      EXPECT_EQ(fake_gpu_calls("cuMemcpyDtoDAsync_v2") - copies, mixed && Ranks() > 1 ? 2u : 0u);
      if (round > 0) {
        EXPECT_EQ(fake_gpu_calls("cuIpcOpenMemHandle_v2"), maps);
      }
      ASSERT_EQ(slipway_allreduce(here.data(), kCount, SLIPWAY_FLOAT32, SLIPWAY_MEAN, SLIPWAY_ALL), SLIPWAY_OK);
      EXPECT_TRUE(there.Read(stream.handle()) == here) << "round " << round << ", order " << order;
    }
  }
  EXPECT_EQ(slipway_free(ours), SLIPWAY_OK) << slipway_error_message();
}

TEST_F(OnDevice, MemoryOfTheLibraryIsZeroedAndUsedAgain) {
  void* first = nullptr;
  void* second = nullptr;
  ASSERT_EQ(slipway_alloc_on_device(1000, 0, &first), SLIPWAY_OK) << slipway_error_message();
  ASSERT_EQ(slipway_alloc_on_device(1000, 0, &second), SLIPWAY_OK) << slipway_error_message();
  EXPECT_NE(first, second);
  GpuView view(first, 1000);
  EXPECT_EQ(view.Read(nullptr), std::vector<char>(1000));
  const std::vector<char> ones(1000, 1);
  view.Fill(ones.data(), nullptr);
  EXPECT_EQ(slipway_free(first), SLIPWAY_OK);
  EXPECT_EQ(slipway_free(first), SLIPWAY_ERROR_ARGUMENT);
  void* again = nullptr;
  ASSERT_EQ(slipway_alloc_on_device(1000, 0, &again), SLIPWAY_OK) << slipway_error_message();
  EXPECT_EQ(again, first);
  EXPECT_EQ(view.Read(nullptr), std::vector<char>(1000));
  EXPECT_EQ(slipway_free(again), SLIPWAY_OK);
  EXPECT_EQ(slipway_free(second), SLIPWAY_OK);
}

TEST_F(OnDevice, MemoryThatTheDriverDoesNotGiveIsAnError) {
  void* memory = nullptr;
  EXPECT_EQ(slipway_alloc_on_device(-1, 0, &memory), SLIPWAY_ERROR_ARGUMENT);
  EXPECT_EQ(slipway_alloc_on_device(8, 0, nullptr), SLIPWAY_ERROR_ARGUMENT);
  EXPECT_EQ(slipway_alloc_on_device(8, 99, &memory), SLIPWAY_ERROR_ARGUMENT);
  EXPECT_NE(std::string(slipway_error_message()).find("this process sees no GPU 99"), std::string::npos)
      << slipway_error_message();
  fake_gpu_fail_call("cuDevicePrimaryCtxRetain", 1, kNotInitialized);
  EXPECT_EQ(slipway_alloc_on_device(8, 98, &memory), SLIPWAY_ERROR_STATE);
  EXPECT_NE(std::string(slipway_error_message()).find("use CUDA before this call"), std::string::npos)
      << slipway_error_message();
  fake_gpu_fail_call("cuDevicePrimaryCtxRetain", 1, kOutOfMemory);
  EXPECT_EQ(slipway_alloc_on_device(8, 98, &memory), SLIPWAY_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(slipway_alloc_on_device(std::int64_t{1} << 50, 0, &memory), SLIPWAY_ERROR_OUT_OF_MEMORY);
  fake_gpu_fail_call("cuIpcGetMemHandle", 1, kNotSupported);
  EXPECT_EQ(slipway_alloc_on_device(std::int64_t{9} << 20, 0, &memory), SLIPWAY_ERROR_DEVICE);
}

TEST_F(OnDevice, OtherCollectivesGoThroughTheCpu) {
  constexpr std::int64_t kCount = 3000;
  const auto own = RandomBytes(SLIPWAY_FLOAT32, kCount, Seed(2, 0));
  const auto of_root = RandomBytes(SLIPWAY_FLOAT32, kCount, 7);
  GpuBuffer buffer(own.size());
  buffer.Fill(Rank() == 0 ? of_root.data() : own.data(), nullptr);
  const std::int64_t shape[] = {kCount};
  const slipway_tensor tensor{"weight", SLIPWAY_FLOAT32, 1, shape, buffer.data()};
  if (Ranks() > 1) ExpectRefused(slipway_check_match(&tensor, 1), SLIPWAY_ERROR_MISMATCH, "weight");
  ASSERT_EQ(slipway_broadcast(&tensor, 1, 0, SLIPWAY_ALL), SLIPWAY_OK) << slipway_error_message();
  EXPECT_EQ(buffer.Read(nullptr), of_root);
  EXPECT_EQ(slipway_check_match(&tensor, 1), SLIPWAY_OK) << slipway_error_message();

  const auto ranks = static_cast<std::size_t>(Ranks());
  const std::vector<std::int64_t> counts(ranks, kCount);
  std::vector<char> wanted(own.size() * ranks);
  GpuBuffer gathered(wanted.size());
  buffer.Fill(own.data(), nullptr);
  ASSERT_EQ(slipway_allgather(own.data(), wanted.data(), counts.data(), SLIPWAY_FLOAT32, SLIPWAY_ALL), SLIPWAY_OK);
  ASSERT_EQ(slipway_allgather(buffer.data(), gathered.data(), counts.data(), SLIPWAY_FLOAT32, SLIPWAY_ALL), SLIPWAY_OK)
      << slipway_error_message();
  EXPECT_EQ(gathered.Read(nullptr), wanted);

  std::vector<char> own_part(own.size());
  ASSERT_EQ(
      slipway_reduce_scatter(wanted.data(), own_part.data(), counts.data(), SLIPWAY_FLOAT32, SLIPWAY_SUM, SLIPWAY_ALL),
      SLIPWAY_OK);
  ASSERT_EQ(
      slipway_reduce_scatter(gathered.data(), buffer.data(), counts.data(), SLIPWAY_FLOAT32, SLIPWAY_SUM, SLIPWAY_ALL),
      SLIPWAY_OK)
      << slipway_error_message();
  EXPECT_EQ(buffer.Read(nullptr), own_part);
}

constexpr std::int64_t kSteps = 7;

struct Case {
  const char* name;
  const char* settings;
  slipway_dtype dtype = SLIPWAY_FLOAT32;
  std::int64_t total_steps = 0;  ///< unknown
};
std::ostream& operator<<(std::ostream& out, const Case& each) { return out << each.name; }

class TeamsOnDevice : public OnDevice, public testing::WithParamInterface<Case> {};

TEST_P(TeamsOnDevice, HaveTheBitsOfTheCpu) {
  for (const auto order : {FAKE_GPU_LAZY, FAKE_GPU_EAGER, FAKE_GPU_RANDOM}) {
    fake_gpu_set_order(order, 5);
    TwinTeams teams("twins", {7, 30000, 0, 1, 2500, 9001}, GetParam().settings, GetParam().dtype,
                    GetParam().total_steps);
    GpuStream streams[2];
    for (int step = 0; step < kSteps; ++step) {
      void* stream = streams[step % 2].handle();
      for (int tensor = 0; tensor < teams.tensors(); ++tensor) {
        teams.Fill(tensor, Seed(step, tensor), stream);
        if (tensor % 3 == 0) {
          ASSERT_EQ(slipway_submit_on_stream(teams.on_gpu().c_str(), tensor, stream), SLIPWAY_OK)
              << slipway_error_message();
        }
      }
      ASSERT_EQ(slipway_gradients(teams.cpu().c_str()), SLIPWAY_OK) << slipway_error_message();
      ASSERT_EQ(slipway_wait_on_stream(teams.on_gpu().c_str(), stream), SLIPWAY_OK) << slipway_error_message();
      int delivered[2] = {};
      slipway_delivered(teams.cpu().c_str(), &delivered[0]);
      slipway_delivered(teams.on_gpu().c_str(), &delivered[1]);
      EXPECT_EQ(delivered[0], delivered[1]);
      EXPECT_EQ(teams.Differences(stream), "") << "step " << step << ", order " << order;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Settings, TeamsOnDevice,
                         testing::Values(Case{"auto", R"({"bucket_bytes": 20000})"},
                                         Case{"direct", R"({"bucket_bytes": 20000, "op": "sum"})"},
                                         Case{"by_mpi", R"({"bucket_bytes": 20000, "gpu_exchange": "mpi"})"},
                                         Case{"staged", R"({"bucket_bytes": 20000, "gpu_exchange": "staged"})"},
                                         Case{"clipped", R"({"bucket_bytes": 20000, "clip_norm": 3})"},
                                         Case{"checked", R"({"check_finite": true})"},
                                         Case{"accumulated", R"({"accumulate": 2})"},
                                         Case{"narrow", R"({"compress": "bf16", "bucket_bytes": 20000})"},
                                         Case{"delayed", R"({"mode": "delayed", "lag": 2, "bucket_bytes": 20000})"},
                                         Case{"late", R"({"mode": "delayed", "sync_first": 2})"},
                                         Case{"not_at_the_end",
                                              R"({"mode": "delayed", "lag": 2, "sync_last": 2, "bucket_bytes": 20000})",
                                              SLIPWAY_FLOAT32, kSteps},
                                         Case{"bfloat16", R"({"bucket_bytes": 20000})", SLIPWAY_BFLOAT16},
                                         Case{"staged_float16", R"({"gpu_exchange": "staged"})", SLIPWAY_FLOAT16},
                                         Case{"integers", R"({"op": "sum"})", SLIPWAY_INT64}),
                         [](const auto& each) { return std::string(each.param.name); });

/// Steps of a team, of which the first ones may make what the others use.
struct HotPath {
  const char* settings;
  int first_steps = 0;
};
constexpr HotPath kHotPaths[] = {{R"({"gpu_exchange": "staged", "bucket_bytes": 20000})"},
                                 {R"({"bucket_bytes": 20000})"},
                                 {R"({"bucket_bytes": 20000, "clip_norm": 3})", 1},
                                 {R"({"bucket_bytes": 20000, "check_finite": true})", 1},
                                 {R"({"bucket_bytes": 20000, "accumulate": 2})", 2},
                                 {R"({"bucket_bytes": 20000, "compress": "fp16"})", 1},
                                 {R"({"bucket_bytes": 20000, "compress": "bf16", "clip_norm": 3})", 1},
                                 {R"({"bucket_bytes": 20000, "mode": "delayed"})", 2},
                                 {R"({"bucket_bytes": 20000, "mode": "delayed", "lag": 2})", 3}};

/// Then nothing is allocated or pinned, nothing waits for the whole GPU, all memory is pinned.
TEST_F(OnDevice, AStepNeverStopsTheGpu) {
  for (const auto& [settings, first_steps] : kHotPaths) {
    TwinTeams teams("hot", {7, 30000, 2500}, settings);
    GpuStream stream;
    for (int step = 0; step < first_steps + 4; ++step) {
      for (int tensor = 0; tensor < teams.tensors(); ++tensor) teams.Fill(tensor, Seed(step, tensor), stream.handle());
      const auto before = StopsOfTheGpu();
      ASSERT_EQ(slipway_submit_on_stream(teams.on_gpu().c_str(), 1, stream.handle()), SLIPWAY_OK);
      ASSERT_EQ(slipway_wait_on_stream(teams.on_gpu().c_str(), stream.handle()), SLIPWAY_OK) << slipway_error_message();
      if (step >= first_steps) {
        EXPECT_EQ(StopsOfTheGpu(), before) << settings << ", step " << step;
      }
      ASSERT_EQ(slipway_gradients(teams.cpu().c_str()), SLIPWAY_OK);
      EXPECT_EQ(teams.Differences(stream.handle()), "") << settings << ", step " << step;
    }
  }
}

/// Numbers with all the digits of a float: sums of their squares depend on how they are divided.
std::vector<char> ManyDigits(std::int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<char> bytes(static_cast<std::size_t>(count) * sizeof(float));
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(float)) {
    const float value = static_cast<float>(random() >> 8) / 16'777'216 - 0.5F;
    std::memcpy(bytes.data() + at, &value, sizeof value);
  }
  return bytes;
}

void StepOf(TwinTeams& teams, unsigned seed, void* stream) {
  for (int tensor = 0; tensor < teams.tensors(); ++tensor) {
    teams.Fill(tensor, ManyDigits(teams.CountOf(tensor), seed + 50 * static_cast<unsigned>(tensor)), stream);
  }
  ASSERT_EQ(slipway_gradients(teams.cpu().c_str()), SLIPWAY_OK) << slipway_error_message();
  ASSERT_EQ(slipway_wait_on_stream(teams.on_gpu().c_str(), stream), SLIPWAY_OK) << slipway_error_message();
  EXPECT_EQ(teams.Differences(stream), "");
}

/// A tensor of several buckets, which travels in parts where nothing looks at the whole.
const std::vector<std::int64_t> kWithALargeOne = {7, 30000, 0, 1, 2500, 9001};

TEST_F(OnDevice, ANormHasTheBitsOfTheCpu) {
  TwinTeams teams("norms", kWithALargeOne, R"({"bucket_bytes": 20000, "clip_norm": 3})");
  GpuStream stream;
  for (int step = 0; step < 7; ++step) {
    StepOf(teams, Seed(step, 0), stream.handle());
    double here = 0;
    double there = 0;
    ASSERT_EQ(slipway_gradient_norm(teams.cpu().c_str(), &here), SLIPWAY_OK) << slipway_error_message();
    ASSERT_EQ(slipway_gradient_norm(teams.on_gpu().c_str(), &there), SLIPWAY_OK) << slipway_error_message();
    EXPECT_GT(here, 3);
    EXPECT_EQ(here, there) << "step " << step;
  }
}

std::vector<char> StateOf(const std::string& team) {
  std::size_t size = 0;
  EXPECT_EQ(slipway_state_save(team.c_str(), nullptr, &size), SLIPWAY_OK) << slipway_error_message();
  std::vector<char> state(size);
  EXPECT_EQ(slipway_state_save(team.c_str(), state.data(), &size), SLIPWAY_OK) << slipway_error_message();
  return state;
}

/// So a job may go on without GPUs, and with them.
TEST_F(OnDevice, DelayedGradientsOfACheckpointAreThoseOfTheCpu) {
  constexpr auto kDelayed = R"({"mode": "delayed", "lag": 2, "bucket_bytes": 20000})";
  GpuStream stream;
  std::vector<char> state;
  {
    TwinTeams teams("before", kWithALargeOne, kDelayed);
    for (int step = 0; step < 4; ++step) StepOf(teams, Seed(step, 0), stream.handle());
    state = StateOf(teams.on_gpu());
    EXPECT_GT(state.size(), 2 * sizeof(float[41'509])) << "no gradients of two steps";
    EXPECT_TRUE(state == StateOf(teams.cpu()));
  }
  TwinTeams teams("after", kWithALargeOne, kDelayed);
  for (const auto& team : {teams.on_gpu(), teams.cpu()}) {
    ASSERT_EQ(slipway_state_load(team.c_str(), state.data(), state.size()), SLIPWAY_OK) << slipway_error_message();
  }
  for (int step = 4; step < 8; ++step) {
    StepOf(teams, Seed(step, 0), stream.handle());
    int delivered = 0;
    EXPECT_EQ(slipway_delivered(teams.on_gpu().c_str(), &delivered), SLIPWAY_OK);
    EXPECT_EQ(delivered, 1) << "step " << step;
  }
}

/// The program adds up the passes itself, so nothing but the exchange changes the values.
TEST_F(OnDevice, PassesAreSummedWhereTheGpusCombine) {
  TwinTeams teams("passes", {7, 30000, 2500}, R"({"accumulate": 2, "op": "sum", "gpu_exchange": "direct"})");
  GpuStream stream;
  for (int pass = 0; pass < 6; ++pass) {
    const auto kernels = fake_gpu_calls("cuLaunchKernel");
    StepOf(teams, Seed(pass, 0), stream.handle());
    EXPECT_EQ(fake_gpu_calls("cuLaunchKernel") - kernels, pass % 2 == 1 && Ranks() > 1 ? 1u : 0u) << "pass " << pass;
  }
}

/// Each tensor is made by the default stream of another thread. A third stream reads both.
TEST_F(OnDevice, APassWithoutExchangeWaitsForTheStreamsOfAllThreads) {
  TwinTeams teams("threads", {700, 700}, R"({"accumulate": 2, "op": "sum"})");
  GpuStream stream;
  for (int pass = 0; pass < 4; ++pass) {
    const auto submit = [&](int tensor) {
      teams.Fill(tensor, Seed(pass, tensor), StreamOfThread());
      EXPECT_EQ(slipway_submit_on_stream(teams.on_gpu().c_str(), tensor, StreamOfThread()), SLIPWAY_OK)
          << slipway_error_message();
    };
    submit(0);
    InAnotherThread([&] { submit(1); });
    ASSERT_EQ(slipway_gradients(teams.cpu().c_str()), SLIPWAY_OK) << slipway_error_message();
    ASSERT_EQ(slipway_wait_on_stream(teams.on_gpu().c_str(), stream.handle()), SLIPWAY_OK) << slipway_error_message();
    EXPECT_EQ(teams.Differences(stream.handle()), "");
  }
}

TEST_F(OnDevice, ATensorThatIsNotFiniteIsNamed) {
  const std::int64_t shape[] = {4};
  float values[] = {1, 2, 3, 4};
  GpuBuffer buffer(sizeof values);
  const slipway_tensor tensor{"bias", SLIPWAY_FLOAT32, 1, shape, buffer.data()};
  ASSERT_EQ(slipway_register("finite", &tensor, 1, 0), SLIPWAY_OK) << slipway_error_message();
  ASSERT_EQ(slipway_configure_team("finite", R"({"check_finite": true})"), SLIPWAY_OK);
  if (Rank() == Ranks() - 1) values[2] = std::numeric_limits<float>::quiet_NaN();
  buffer.Fill(values, nullptr);
  ExpectRefused(slipway_gradients("finite"), SLIPWAY_ERROR_NOT_FINITE, "bias");
  values[2] = 3;
  buffer.Fill(values, nullptr);
  EXPECT_EQ(slipway_gradients("finite"), SLIPWAY_OK) << slipway_error_message();
  EXPECT_EQ(slipway_unregister("finite"), SLIPWAY_OK);
}

TEST_F(OnDevice, ATensorThatDoesNotFitThe16BitsItTravelsInIsNamed) {
  const std::int64_t shape[] = {4};
  float values[] = {1, 2, 3, 4};
  GpuBuffer buffer(sizeof values);
  const slipway_tensor tensor{"bias", SLIPWAY_FLOAT32, 1, shape, buffer.data()};
  ASSERT_EQ(slipway_register("narrow", &tensor, 1, 0), SLIPWAY_OK) << slipway_error_message();
  ASSERT_EQ(slipway_configure_team("narrow", R"({"compress": "fp16", "check_finite": true})"), SLIPWAY_OK)
      << slipway_error_message();
  if (Rank() == Ranks() - 1) values[2] = 70'000;  // 65504 is the largest
  buffer.Fill(values, nullptr);
  ExpectRefused(slipway_gradients("narrow"), SLIPWAY_ERROR_NOT_FINITE,
                "tensor 'bias' of team 'narrow' holds NaN or infinity, or more than 16 bits can hold, on rank " +
                    std::to_string(Ranks() - 1));
  values[2] = 3;
  buffer.Fill(values, nullptr);
  EXPECT_EQ(slipway_gradients("narrow"), SLIPWAY_OK) << slipway_error_message();
  EXPECT_EQ(slipway_unregister("narrow"), SLIPWAY_OK);
}

/// Only of one rank: the others must not go on without it.
TEST_F(OnDevice, MemoryOfDifferentKindsIsRefusedOnAllRanks) {
  const std::int64_t shape[] = {4};
  float here[4] = {};
  GpuBuffer buffer(sizeof here);
  const slipway_tensor mixed[] = {{"bias", SLIPWAY_FLOAT32, 1, shape, here},
                                  {"weight", SLIPWAY_FLOAT32, 1, shape, buffer.data()}};
  ExpectRefused(slipway_register("mixed", mixed, 2, 0), SLIPWAY_ERROR_DEVICE_MEMORY,
                "tensor 'bias' lies in CPU memory, and tensor 'weight' on GPU 0");
  ExpectRefused(slipway_server_create("server", mixed, 2, 0.1, 0), SLIPWAY_ERROR_DEVICE_MEMORY, "parameter 'weight'");
  if (Ranks() > 1) {
    ExpectRefused(slipway_register("mixed", &mixed[Rank() == 0 ? 0 : 1], 1, 0), SLIPWAY_ERROR_MISMATCH, "tensor 0");
  }
  slipway_tensor same = mixed[Rank() == 0 ? 0 : 1];
  same.name = "same";
  if (Ranks() > 1) {
    ExpectRefused(slipway_register("mixed", &same, 1, 0), SLIPWAY_ERROR_MISMATCH, "GPU memory");
  }
}

TEST_F(OnDevice, WhatTheGpusCannotCombineIsRefusedWhenAskedFor) {
  const std::int64_t shape[] = {4};
  GpuBuffer buffer(16);
  const slipway_tensor tensor{"bias", SLIPWAY_FLOAT32, 1, shape, buffer.data()};
  ASSERT_EQ(slipway_register("asked", &tensor, 1, 0), SLIPWAY_OK) << slipway_error_message();
  if (Ranks() > 1) {
    ExpectRefused(slipway_configure_team("asked", R"({"gpu_exchange": "direct", "clip_norm": 1})"),
                  SLIPWAY_ERROR_ARGUMENT, "within the memory of GPUs");
    EXPECT_NE(std::string(slipway_error_message()).find("but clip_norm is set"), std::string::npos)
        << slipway_error_message();
  }
  EXPECT_EQ(slipway_unregister("asked"), SLIPWAY_OK) << slipway_error_message();
}

/// Without memory for a stream or for pinning, on one rank. With auto, the CPU combines where the GPUs have none.
TEST_F(OnDevice, WhereADriverHasNoMemoryLeftATeamIsRefusedOnAllRanks) {
  const std::int64_t shape[] = {4};
  GpuBuffer buffer(16);
  const slipway_tensor tensor{"bias", SLIPWAY_FLOAT32, 1, shape, buffer.data()};
  if (Ranks() > 1) {
    ASSERT_EQ(slipway_register("full", &tensor, 1, 0), SLIPWAY_OK) << slipway_error_message();
    if (Rank() == 1) fake_gpu_fail_call("cuStreamCreate", 1, kOutOfMemory);
    ExpectRefused(slipway_configure_team("full", R"({"gpu_exchange": "staged"})"), SLIPWAY_ERROR_OUT_OF_MEMORY,
                  "CUDA_ERROR_OUT_OF_MEMORY");
    EXPECT_EQ(slipway_unregister("full"), SLIPWAY_OK) << slipway_error_message();
  }
  fake_gpu_fail_call("cuMemHostRegister_v2", 1, kOutOfMemory);
  ASSERT_EQ(slipway_register("unpinned", &tensor, 1, 0), SLIPWAY_OK) << slipway_error_message();
  ASSERT_EQ(slipway_configure_team("unpinned", R"({"gpu_exchange": "staged"})"), SLIPWAY_OK);
  const float values[] = {1, 2, 3, 4};
  buffer.Fill(values, nullptr);
  EXPECT_EQ(slipway_gradients("unpinned"), SLIPWAY_OK) << slipway_error_message();
  EXPECT_EQ(slipway_unregister("unpinned"), SLIPWAY_OK);
}

}  // namespace
}  // namespace slipway::test
