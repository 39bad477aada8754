// A process of its own, without any launcher: a job of one rank, which needs no MPI and may join again and again.

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <mpi.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/checkpoint.h"
#include "core/files.h"
#include "runtime/slipway.hpp"
#include "tests/support/temp_directory.h"

extern "C" int CallFromC(void);  // header_in_c.c

namespace slipway {
namespace {

constexpr auto kInt64Max = std::numeric_limits<std::int64_t>::max();

void ExpectError(int result, slipway_status status, const std::string& text) {
  EXPECT_EQ(result, status);
  EXPECT_NE(std::string(slipway_error_message()).find(text), std::string::npos) << slipway_error_message();
}

/// Not part of a job yet; nothing of a launcher in the environment.
class Outside : public testing::Test {
 protected:
  Outside() {
    for (const char* name :
         {"SLIPWAY_CONFIG", "SLIPWAY_CHECKPOINT_DIR", "SLIPWAY_RESUME_FROM", "SLIPWAY_METRICS", "SLIPWAY_STOP_FILE"}) {
      ::unsetenv(name);
    }
  }
};

class Alone : public Outside {
 protected:
  Alone() { EXPECT_EQ(slipway_init(nullptr), SLIPWAY_OK) << slipway_error_message(); }
  ~Alone() override { slipway_finalize(); }
};

/// Every call that needs a job, with good arguments.
std::vector<std::pair<const char*, int>> ResultsOfAllCalls() {
  static float value = 0;
  static double number = 0;
  static int requested = 0;
  static std::int64_t lead = 0;
  static char path[4096];
  const slipway_tensor tensor{"x", SLIPWAY_FLOAT32, 0, nullptr, &value};
  return {{"register", slipway_register("team", &tensor, 1, 0)},
          {"broadcast", slipway_broadcast(&tensor, 1, 0, SLIPWAY_ALL)},
          {"allreduce", slipway_allreduce(&value, 1, SLIPWAY_FLOAT32, SLIPWAY_SUM, SLIPWAY_ALL)},
          {"gradients", slipway_gradients("team")},
          {"average", slipway_average(&number, 1)},
          {"server_create", slipway_server_create("server", &tensor, 1, 0.1, 0)},
          {"server_push", slipway_server_push("server", &tensor, 1)},
          {"server_pull", slipway_server_pull("server")},
          {"server_set_rate", slipway_server_set_rate("server", 0.2)},
          {"server_lead", slipway_server_lead("server", &lead)},
          {"server_free", slipway_server_free("server")},
          {"barrier", slipway_barrier(SLIPWAY_ALL)},
          {"check_match", slipway_check_match(&tensor, 1)},
          {"report", slipway_report(1, "loss", 1)},
          {"report_epoch", slipway_report_epoch(1, 1, "loss", 1)},
          {"mllog", slipway_mllog(SLIPWAY_MLLOG_POINT, "key", nullptr, nullptr)},
          {"stop_requested", slipway_stop_requested(&requested)},
          {"checkpoint_begin", slipway_checkpoint_begin(1, path, sizeof path)},
          {"checkpoint_commit", slipway_checkpoint_commit(1, 1)},
          {"resume_from", slipway_resume_from(path, sizeof path)},
          {"finalize", slipway_finalize()}};
}

void ExpectNoJob() {
  for (const auto& [name, result] : ResultsOfAllCalls()) EXPECT_EQ(result, SLIPWAY_ERROR_STATE) << name;
  ExpectError(slipway_barrier(SLIPWAY_ALL), SLIPWAY_ERROR_STATE, "slipway_barrier: call slipway_init first");
  EXPECT_EQ(slipway_rank(), -1);
  EXPECT_EQ(slipway_size(), -1);
  EXPECT_EQ(slipway_local_rank(), -1);
}

TEST_F(Outside, CallsBeforeInitAndAfterFinalizeAreRefused) {
  ExpectNoJob();
  ASSERT_EQ(slipway_init(nullptr), SLIPWAY_OK) << slipway_error_message();
  ASSERT_EQ(slipway_finalize(), SLIPWAY_OK);
  ExpectNoJob();
}

TEST_F(Outside, ChecksumsNeedNoJobAndContinue) {
  EXPECT_EQ(slipway_crc32c("123456789", 9, 0), 0xe3069283u);
  EXPECT_EQ(slipway_crc32c("56789", 5, slipway_crc32c("1234", 4, 0)), 0xe3069283u);
  EXPECT_EQ(slipway_crc32c(nullptr, 0, 7), 7u);
}

TEST_F(Outside, ALoneProcessNeedsNoMpiAndMayJoinAgain) {
  for (int life = 0; life < 2; ++life) {
    ASSERT_EQ(slipway_init(nullptr), SLIPWAY_OK) << slipway_error_message();
    EXPECT_EQ(slipway_rank(), 0);
    EXPECT_EQ(slipway_size(), 1);
    EXPECT_EQ(slipway_local_rank(), 0);
    int initialized = 1;
    MPI_Initialized(&initialized);
    EXPECT_EQ(initialized, 0);
    ASSERT_EQ(slipway_finalize(), SLIPWAY_OK) << slipway_error_message();
  }
}

TEST_F(Outside, AMalformedConfigurationIsRefusedAndAnotherMayBeTried) {
  for (const char* config :
       {"{", "[]", "7", R"({"checkpoint":{"keep":"two"}})", R"({"checkpoint":{"keep":0}})",
        R"({"checkpoint":{"keep":-1}})", R"({"checkpoint":{"keep":1.5}})", R"({"checkpoint":{"keep":9999999999}})",
        R"({"checkpoint":3})", R"({"spec_hash":5})", "\xff", "{\"a\":"}) {
    ExpectError(slipway_init(config), SLIPWAY_ERROR_ARGUMENT, "the configuration is");
    EXPECT_EQ(slipway_rank(), -1);
  }
  ::setenv("SLIPWAY_CONFIG", "nonsense", 1);
  ExpectError(slipway_init(nullptr), SLIPWAY_ERROR_ARGUMENT, "the configuration is");
  EXPECT_EQ(slipway_init("{}"), SLIPWAY_OK) << slipway_error_message();  // in place of the variable
  EXPECT_EQ(slipway_finalize(), SLIPWAY_OK);
}

TEST_F(Outside, AMetricsFileThatCannotBeOpenedIsNamed) {
  ::setenv("SLIPWAY_METRICS", "/nonexistent/metrics.jsonl", 1);
  ExpectError(slipway_init(nullptr), SLIPWAY_ERROR_IO, "/nonexistent/metrics.jsonl");
}

/// Training is over: the job ends, and says what it could not write.
TEST_F(Outside, AReportThatCannotBeWrittenDoesNotKeepTheProgramInTheJob) {
  {
    test::TempDirectory folder;
    ::setenv("SLIPWAY_METRICS", (folder.path() / "metrics.jsonl").c_str(), 1);
    ASSERT_EQ(slipway_init(nullptr), SLIPWAY_OK) << slipway_error_message();
  }
  float value = 1;
  const slipway_tensor tensor{"x", SLIPWAY_FLOAT32, 0, nullptr, &value};
  ASSERT_EQ(slipway_register("team", &tensor, 1, 0), SLIPWAY_OK);
  ExpectError(slipway_finalize(), SLIPWAY_ERROR_IO, "comm.json");
  EXPECT_EQ(slipway_rank(), -1);
  ::unsetenv("SLIPWAY_METRICS");
  EXPECT_EQ(slipway_init(nullptr), SLIPWAY_OK) << slipway_error_message();
  EXPECT_EQ(slipway_finalize(), SLIPWAY_OK) << slipway_error_message();
}

TEST_F(Outside, TheHeaderIsC) { EXPECT_EQ(CallFromC(), 0); }

TEST_F(Alone, InitTwiceIsRefused) { ExpectError(slipway_init(nullptr), SLIPWAY_ERROR_STATE, "called twice"); }

TEST_F(Alone, MemoryOfAGpuNeedsADriver) {
  if (::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD) != nullptr) GTEST_SKIP() << "another test has loaded CUDA";
  void* memory = nullptr;
  ExpectError(slipway_alloc_on_device(8, 0, &memory), SLIPWAY_ERROR_DEVICE, "has loaded no driver of a GPU");
}

/// Neither at the first exchange nor when the loader has loaded another library. Its log says what it looks for.
TEST_F(Outside, WithoutADriverNoFileOfOneIsLookedFor) {
  if (::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD) != nullptr) GTEST_SKIP() << "another test has loaded CUDA";
  test::TempDirectory folder;
  const auto log = (folder / "loader").string();
  const pid_t child = ::fork();
  if (child == 0) {
    ::setenv("LD_DEBUG", "libs", 1);
    ::setenv("LD_DEBUG_OUTPUT", log.c_str(), 1);
    ::execl("/proc/self/exe", "alone", "--gtest_filter=Alone.AReductionLeavesTheValues", nullptr);
    ::_exit(127);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  const auto searches = ReadFile(log + "." + std::to_string(child));
  EXPECT_NE(searches.find("find library=libc.so.6"), std::string::npos) << "no log of the loader: " << searches;
  for (const char* name : {"libcuda", "libamdhip64", "libnccl", "librccl"}) {
    EXPECT_EQ(searches.find(name), std::string::npos) << name << " is looked for: " << searches;
  }
}

TEST_F(Alone, EveryCallWorks) {
  test::TempDirectory folder;
  slipway_finalize();
  ::setenv("SLIPWAY_CHECKPOINT_DIR", folder.path().c_str(), 1);
  ASSERT_EQ(slipway_init(nullptr), SLIPWAY_OK);
  for (const auto& [name, result] : ResultsOfAllCalls()) EXPECT_EQ(result, SLIPWAY_OK) << name;
}

TEST_F(Outside, AParameterServerOfOneRankIsPlainSgd) {
  client::Session session;
  std::vector<float> weights{1, 2, 3};
  std::vector<float> gradients{1, 0, -1};
  const std::vector<client::Tensor> parameters{{"w", {3}, weights.data()}};
  for (const std::int64_t staleness : {0, 2}) {
    weights = {1, 2, 3};
    client::ParameterServer server("alone", parameters, 0.5, staleness);
    for (int step = 0; step < 2; ++step) {
      server.Push(std::vector<client::Tensor>{{"w", {3}, gradients.data()}});
      server.Pull();
      EXPECT_EQ(server.Lead(), 0);
      server.SetRate(1);
    }
    EXPECT_EQ(weights, (std::vector<float>{-0.5, 2, 4.5}));
    EXPECT_THROW(server.SetRate(-1), client::Failure);
  }
}

TEST_F(Alone, AReductionLeavesTheValues) {
  for (const auto op : {SLIPWAY_SUM, SLIPWAY_MEAN, SLIPWAY_MIN, SLIPWAY_MAX}) {
    double values[] = {1.5, -2};
    ASSERT_EQ(slipway_allreduce(values, 2, SLIPWAY_FLOAT64, op, SLIPWAY_ALL), SLIPWAY_OK);
    EXPECT_EQ(values[0], 1.5);
    EXPECT_EQ(values[1], -2);
  }
}

TEST_F(Alone, ReductionsRefuseBadArguments) {
  float value = 0;
  const auto call = [&](void* data, std::int64_t count, int dtype, int op) {
    return slipway_allreduce(data, count, static_cast<slipway_dtype>(dtype), static_cast<slipway_op>(op), SLIPWAY_ALL);
  };
  ExpectError(call(nullptr, 1, 0, 0), SLIPWAY_ERROR_ARGUMENT, "null pointer");
  ExpectError(call(&value, -1, 0, 0), SLIPWAY_ERROR_ARGUMENT, "the count is negative: -1");
  ExpectError(call(&value, kInt64Max, 0, 0), SLIPWAY_ERROR_ARGUMENT, "the count is too large");
  for (const int unknown : {-1, 7, 99}) {
    ExpectError(call(&value, 1, unknown, 0), SLIPWAY_ERROR_ARGUMENT, "unknown dtype");
    ExpectError(call(&value, 1, 0, unknown), SLIPWAY_ERROR_ARGUMENT, "unknown operation");
  }
  ExpectError(slipway_average(nullptr, 1), SLIPWAY_ERROR_ARGUMENT, "null pointer");
}

TEST_F(Alone, TensorsWithBadFieldsAreRefusedByName) {
  float value = 0;
  const std::int64_t negative[] = {2, -2};
  const std::int64_t huge[] = {kInt64Max / 2, 3};
  const std::int64_t one[] = {1};
  const auto unknown = static_cast<slipway_dtype>(99);
  const std::pair<slipway_tensor, const char*> cases[] = {
      {{nullptr, SLIPWAY_FLOAT32, 1, one, &value}, "tensor 0 has no name"},
      {{"w", unknown, 1, one, &value}, "tensor 'w' has an unknown dtype"},
      {{"w", SLIPWAY_FLOAT32, -1, one, &value}, "tensor 'w' has -1 dimensions"},
      {{"w", SLIPWAY_FLOAT32, 1, nullptr, &value}, "tensor 'w' has no shape"},
      {{"w", SLIPWAY_FLOAT32, 2, negative, &value}, "tensor 'w' has a negative extent: -2"},
      {{"w", SLIPWAY_FLOAT32, 2, huge, &value}, "tensor 'w' has more elements than"},
      {{"w", SLIPWAY_FLOAT32, 1, one, nullptr}, "tensor 'w' has no memory"},
  };
  for (const auto& [tensor, text] : cases) {
    ExpectError(slipway_register("team", &tensor, 1, 0), SLIPWAY_ERROR_ARGUMENT, text);
    ExpectError(slipway_broadcast(&tensor, 1, 0, SLIPWAY_ALL), SLIPWAY_ERROR_ARGUMENT, text);
    ExpectError(slipway_check_match(&tensor, 1), SLIPWAY_ERROR_ARGUMENT, text);
  }
}

TEST_F(Alone, OtherBadArgumentsAreRefused) {
  char path[4096];
  ExpectError(slipway_register(nullptr, nullptr, 0, 0), SLIPWAY_ERROR_ARGUMENT, "the team has no name");
  ExpectError(slipway_register("", nullptr, 0, 0), SLIPWAY_ERROR_ARGUMENT, "the team has no name");
  ExpectError(slipway_register("t", nullptr, 0, -1), SLIPWAY_ERROR_ARGUMENT, "the number of steps is negative: -1");
  ExpectError(slipway_register("t", nullptr, -1, 0), SLIPWAY_ERROR_ARGUMENT, "the number of tensors is negative: -1");
  ExpectError(slipway_register("t", nullptr, 1, 0), SLIPWAY_ERROR_ARGUMENT, "the list of tensors is a null pointer");
  ExpectError(slipway_gradients(nullptr), SLIPWAY_ERROR_ARGUMENT, "the team has no name");
  ExpectError(slipway_gradients("t"), SLIPWAY_ERROR_STATE, "team 't' is not registered");
  for (const int root : {-1, 1}) {
    ExpectError(slipway_broadcast(nullptr, 0, root, SLIPWAY_ALL), SLIPWAY_ERROR_ARGUMENT, "there is no rank");
  }
  ExpectError(slipway_report(1, nullptr, 0), SLIPWAY_ERROR_ARGUMENT, "the metric has no name");
  ExpectError(slipway_report(1, "", 0), SLIPWAY_ERROR_ARGUMENT, "the metric has no name");
  ExpectError(slipway_report(1, "a\nb", 0), SLIPWAY_ERROR_ARGUMENT,
              "the name of the metric 'a b' has a control character");
  ExpectError(slipway_mllog(0, nullptr, "1", "{}"), SLIPWAY_ERROR_ARGUMENT, "the line has no key");
  ExpectError(slipway_mllog(3, "key", "1", "{}"), SLIPWAY_ERROR_ARGUMENT, "there is no event 3");
  ExpectError(slipway_mllog(0, "key", "one", "{}"), SLIPWAY_ERROR_ARGUMENT, "the value of 'key' is not JSON: one");
  ExpectError(slipway_mllog(0, "key", "1", "[]"), SLIPWAY_ERROR_ARGUMENT, "the metadata of 'key' is no JSON object");
  ExpectError(slipway_stop_requested(nullptr), SLIPWAY_ERROR_ARGUMENT, "null pointer");
  ExpectError(slipway_checkpoint_begin(1, path, sizeof path), SLIPWAY_ERROR_STATE, "SLIPWAY_CHECKPOINT_DIR is not set");
  ExpectError(slipway_resume_from(nullptr, 10), SLIPWAY_ERROR_ARGUMENT, "null");
  ExpectError(slipway_resume_from(path, 0), SLIPWAY_ERROR_ARGUMENT, "too small");
}

/// A driver that lacks cuStreamWaitEvent. Tensors in CPU memory go on as before.
TEST_F(Alone, ADriverThatIsTooOldIsNamedWithWhatItLacks) {
  float here[4] = {1, 2, 3, 4};
  ASSERT_EQ(slipway_allreduce(here, 4, SLIPWAY_FLOAT32, SLIPWAY_SUM, SLIPWAY_ALL),
            SLIPWAY_OK);  // looks for a driver: none
  void* driver = ::dlopen(SLIPWAY_FAKE_OLD_DRIVER, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(driver, nullptr) << ::dlerror();
  const auto call = [&](const char* name, auto... arguments) {
    const auto function = reinterpret_cast<int (*)(decltype(arguments)...)>(::dlsym(driver, name));
    ASSERT_EQ(function(arguments...), 0) << name;
  };
  void* context = nullptr;
  std::uintptr_t memory = 0;
  call("cuInit", 0U);
  call("cuDevicePrimaryCtxRetain", &context, 0);
  call("cuCtxSetCurrent", context);
  call("cuMemAlloc_v2", &memory, std::size_t{16});
  auto* device = reinterpret_cast<float*>(memory);
  EXPECT_EQ(slipway_allreduce(here, 4, SLIPWAY_FLOAT32, SLIPWAY_SUM, SLIPWAY_ALL), SLIPWAY_OK)
      << slipway_error_message();
  ExpectError(slipway_allreduce(device, 4, SLIPWAY_FLOAT32, SLIPWAY_SUM, SLIPWAY_ALL), SLIPWAY_ERROR_DEVICE,
              "has no function cuStreamWaitEvent");
  const std::int64_t shape[] = {4};
  const slipway_tensor weight{"weight", SLIPWAY_FLOAT32, 1, shape, device};
  ExpectError(slipway_register("t", &weight, 1, 0), SLIPWAY_ERROR_DEVICE, "update the driver");
}

/// A program that uses HIP, in a process where no other test has loaded a driver.
class AloneOnAmd : public Alone {
 protected:
  void SetUp() override {
    Alone::SetUp();
    for (const char* driver : {"libcuda.so.1", "libamdhip64.so.5", "libamdhip64.so"}) {
      if (::dlopen(driver, RTLD_LAZY | RTLD_NOLOAD) != nullptr) GTEST_SKIP() << "another test has loaded a driver";
    }
  }
  void Open(const char* library) {
    driver_ = ::dlopen(library, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(driver_, nullptr) << ::dlerror();
  }
  void Load(const char* library) {
    ASSERT_NO_FATAL_FAILURE(Open(library));
    Call("hipInit", 0U);
    Call("hipMalloc", &memory_, sizeof(float[2]));
  }
  /// By a team of one rank.
  void ExpectGradientsAreClipped() {
    float values[] = {3, 4};
    Call("hipMemcpyHtoD", memory_, static_cast<const void*>(values), sizeof values);
    const std::int64_t shape[] = {2};
    const slipway_tensor weight{"weight", SLIPWAY_FLOAT32, 1, shape, memory_};
    ASSERT_EQ(slipway_register("amd", &weight, 1, 0), SLIPWAY_OK) << slipway_error_message();
    ASSERT_EQ(slipway_configure_team("amd", R"({"clip_norm": 1})"), SLIPWAY_OK) << slipway_error_message();
    ASSERT_EQ(slipway_gradients("amd"), SLIPWAY_OK) << slipway_error_message();
    Call("hipMemcpyDtoH", static_cast<void*>(values), memory_, sizeof values);
    EXPECT_FLOAT_EQ(values[0], 0.6F);
    EXPECT_FLOAT_EQ(values[1], 0.8F);
  }
  template <class... Arguments>
  int Ask(const char* name, Arguments... arguments) {
    const auto function = reinterpret_cast<int (*)(Arguments...)>(::dlsym(driver_, name));
    EXPECT_NE(function, nullptr) << name;
    return function(arguments...);
  }
  template <class... Arguments>
  void Call(const char* name, Arguments... arguments) {
    EXPECT_EQ(Ask(name, arguments...), 0) << name;
  }

  void* driver_ = nullptr;
  void* memory_ = nullptr;  ///< of two floats
};

/// The same exchange by the functions of HIP.
TEST_F(AloneOnAmd, MemoryOfAGpuIsExchangedThroughTheCpu) {
  ASSERT_NO_FATAL_FAILURE(Load(SLIPWAY_FAKE_HIP));
  ExpectGradientsAreClipped();
}

/// MPI or the image of a cluster brings it. No program has started it, so no memory is CUDA's.
TEST_F(AloneOnAmd, TheLibraryOfTheOtherMakerMayBeLoadedToo) {
  ASSERT_NE(::dlopen(SLIPWAY_FAKE_OLD_DRIVER, RTLD_NOW | RTLD_LOCAL), nullptr) << ::dlerror();
  float here[2] = {1, 2};
  EXPECT_EQ(slipway_allreduce(here, 2, SLIPWAY_FLOAT32, SLIPWAY_SUM, SLIPWAY_ALL), SLIPWAY_OK);  // looks for a driver
  ASSERT_NO_FATAL_FAILURE(Load(SLIPWAY_FAKE_HIP));
  ExpectGradientsAreClipped();
}

/// The library may be there because another one needs it.
TEST_F(AloneOnAmd, WithoutAGpuTheDriverIsNotAskedAboutTensors) {
  ASSERT_NO_FATAL_FAILURE(Open(SLIPWAY_FAKE_HIP));
  reinterpret_cast<void (*)(int, std::size_t)>(::dlsym(driver_, "fake_gpu_set_devices"))(0, 0);
  float here[2] = {1, 2};
  EXPECT_EQ(slipway_allreduce(here, 2, SLIPWAY_FLOAT32, SLIPWAY_SUM, SLIPWAY_ALL), SLIPWAY_OK)
      << slipway_error_message();
  void* memory = nullptr;
  ExpectError(slipway_alloc_on_device(8, 0, &memory), SLIPWAY_ERROR_DEVICE, "has loaded no driver of a GPU");
  EXPECT_EQ(Ask("hipGetLastError"), 0) << "an error is left to the program";
}

/// Debian's package, on a machine without a GPU of AMD's.
TEST_F(AloneOnAmd, TheRealLibraryWithoutAGpuIsNoDriver) {
  constexpr const char* kOfDebian = "libamdhip64.so.5";
  driver_ = ::dlopen(kOfDebian, RTLD_NOW | RTLD_LOCAL);
  if (driver_ == nullptr) GTEST_SKIP() << "this machine has no " << kOfDebian;
  int gpus = 0;
  if (Ask("hipGetDeviceCount", &gpus) == 0) GTEST_SKIP() << "this machine has a GPU of AMD's";
  float here[2] = {1, 2};
  EXPECT_EQ(slipway_allreduce(here, 2, SLIPWAY_FLOAT32, SLIPWAY_SUM, SLIPWAY_ALL), SLIPWAY_OK)
      << slipway_error_message();
  void* memory = nullptr;
  ExpectError(slipway_alloc_on_device(8, 0, &memory), SLIPWAY_ERROR_DEVICE, "has loaded no driver of a GPU");
}

/// HIP keeps an error for the program, which asks for it after a kernel of its own.
TEST_F(AloneOnAmd, AnExchangeOfCpuMemoryLeavesNoErrorToTheProgram) {
  ASSERT_NO_FATAL_FAILURE(Load(SLIPWAY_FAKE_HIP));
  constexpr int kInvalidDevice = 101;
  float here[2] = {1, 2};
  const std::int64_t shape[] = {2};
  const slipway_tensor weight{"weight", SLIPWAY_FLOAT32, 1, shape, here};
  EXPECT_EQ(slipway_allreduce(here, 2, SLIPWAY_FLOAT32, SLIPWAY_SUM, SLIPWAY_ALL), SLIPWAY_OK);
  EXPECT_EQ(slipway_broadcast(&weight, 1, 0, SLIPWAY_ALL), SLIPWAY_OK) << slipway_error_message();
  EXPECT_EQ(slipway_register("cpu", &weight, 1, 0), SLIPWAY_OK) << slipway_error_message();
  Call("hipPeekAtLastError");
  EXPECT_EQ(Ask("hipSetDevice", 99), kInvalidDevice);
  EXPECT_EQ(slipway_broadcast(&weight, 1, 0, SLIPWAY_ALL), SLIPWAY_OK) << slipway_error_message();
  EXPECT_NE(Ask("hipPeekAtLastError"), 0) << "the program's own error is gone";
}

/// Its numbers for the types of memory are others.
TEST_F(AloneOnAmd, ARocmBefore6IsRefused) {
  ASSERT_NO_FATAL_FAILURE(Load(SLIPWAY_FAKE_OLD_HIP));
  ExpectError(slipway_allreduce(static_cast<float*>(memory_), 2, SLIPWAY_FLOAT32, SLIPWAY_SUM, SLIPWAY_ALL),
              SLIPWAY_ERROR_DEVICE, "has no function hipGetDevicePropertiesR0600: it is too old; use ROCm 6 or later");
  float here[2] = {1, 2};
  EXPECT_EQ(slipway_allreduce(here, 2, SLIPWAY_FLOAT32, SLIPWAY_SUM, SLIPWAY_ALL), SLIPWAY_OK)
      << slipway_error_message();
}

TEST_F(Alone, AnErrorIsForgottenByTheNextCallAndSeenByItsThreadOnly) {
  EXPECT_NE(slipway_gradients(nullptr), SLIPWAY_OK);
  std::string elsewhere = "unset";
  std::thread([&] { elsewhere = slipway_error_message(); }).join();
  EXPECT_EQ(elsewhere, "");
  EXPECT_STRNE(slipway_error_message(), "");
  EXPECT_EQ(slipway_barrier(SLIPWAY_ALL), SLIPWAY_OK);
  EXPECT_STREQ(slipway_error_message(), "");
}

TEST_F(Alone, WithoutALauncherNothingIsAskedForAndReportsGoNowhere) {
  char path[16] = "unset";
  int requested = 1;
  EXPECT_EQ(slipway_resume_from(path, sizeof path), SLIPWAY_OK);
  EXPECT_STREQ(path, "");
  EXPECT_EQ(slipway_stop_requested(&requested), SLIPWAY_OK);
  EXPECT_EQ(requested, 0);
  EXPECT_EQ(slipway_report(1, "loss", 1), SLIPWAY_OK);
}

TEST_F(Alone, AChildMadeByForkIsNotPartOfTheJob) {
  const pid_t child = ::fork();
  if (child == 0) {
    for (const auto& [name, result] : ResultsOfAllCalls()) {
      if (result != SLIPWAY_ERROR_STATE) ::_exit(1);
    }
    if (slipway_init(nullptr) != SLIPWAY_ERROR_STATE) ::_exit(2);
    ::_exit(0);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(slipway_barrier(SLIPWAY_ALL), SLIPWAY_OK) << slipway_error_message();  // the parent still is
}

TEST_F(Outside, TheSessionOfCppRunsAWholeLife) {
  test::TempDirectory folder;
  ::setenv("SLIPWAY_CHECKPOINT_DIR", folder.path().c_str(), 1);
  {
    client::Session session;
    std::vector<float> weights(6, 1.0f);
    const client::Tensor tensors[] = {{"weights", {2, 3}, weights.data()}};
    session.Register("net", tensors, 10);
    session.Broadcast(tensors);
    session.Gradients("net");
    session.CheckMatch(tensors);
    double values[] = {1, 2};
    session.Sum(values);
    session.Average(values);
    session.Barrier();
    session.Report(1, "loss", 0.5);
    session.Report(1, 0.1, "loss", 0.5);
    EXPECT_FALSE(session.StopRequested());
    EXPECT_EQ(session.ResumeFrom(), "");
    WriteFile(std::filesystem::path(session.BeginCheckpoint(3)) / "weights.bin", "weights");
    session.CommitCheckpoint(3, 0.5);
    EXPECT_EQ(NewestCheckpoint(folder.path())->step, 3u);
    EXPECT_EQ(session.size(), 1);
  }
  EXPECT_EQ(slipway_rank(), -1);
}

TEST_F(Outside, TheSessionOfCppThrowsWhatACallAnswers) {
  client::Session session;
  try {
    session.Gradients("nobody");
    FAIL() << "nothing was thrown";
  } catch (const client::Failure& failure) {
    EXPECT_EQ(failure.status(), SLIPWAY_ERROR_STATE);
    EXPECT_NE(std::string(failure.what()).find("nobody"), std::string::npos);
  }
}

}  // namespace
}  // namespace slipway
