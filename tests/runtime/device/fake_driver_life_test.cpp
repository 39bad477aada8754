#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <set>
#include <thread>

#include "tests/runtime/device/fake_driver_fixture.h"

namespace slipway::fake_gpu {
namespace {

/// Doubles `count` ints at `memory`.
void Double(const fake_gpu_launch* launch, void** parameters) {
  const auto memory = *static_cast<DevicePointer*>(parameters[0]);
  const auto count = *static_cast<unsigned*>(parameters[1]);
  EXPECT_EQ(launch->grid[0], 3u);
  auto* values = static_cast<int*>(fake_gpu_shadow(memory, count * kInt, FAKE_GPU_WRITE));
  for (unsigned i = 0; i < count; ++i) values[i] *= 2;
}

class FakeDriverKernels : public FakeDriver {
 protected:
  FakeDriverKernels() {
    constexpr std::size_t kSizes[] = {sizeof(DevicePointer), sizeof(unsigned)};
    fake_gpu_register_kernel("double", &Double, kSizes, 2);
    EXPECT_EQ(cuModuleLoadData(&module_, "any text"), kSuccess);
    EXPECT_EQ(cuModuleGetFunction(&function_, module_, "double"), kSuccess);
  }

  Code Launch(DevicePointer memory, unsigned count, StreamHandle stream) {
    void* parameters[] = {&memory, &count};
    return cuLaunchKernel(function_, 3, 1, 1, 32, 1, 1, 0, stream, parameters, nullptr);
  }

  ModuleHandle module_ = nullptr;
  FunctionHandle function_ = nullptr;
};

TEST_F(FakeDriverKernels, RunInTheirStream) {
  const auto device = Holding({1, 2});
  int* host = Pinned(2);
  const auto stream = NewStream();
  EXPECT_EQ(Launch(device, 2, stream), kSuccess);
  EXPECT_EQ(cuMemcpyDtoHAsync_v2(host, device, 2 * kInt, stream), kSuccess);
  EXPECT_EQ(Read(device, 2), (std::vector<int>{1, 2}));
  EXPECT_EQ(cuStreamSynchronize(stream), kSuccess);
  EXPECT_EQ(host[1], 4);
  EXPECT_EQ(Violations(), "");
}

TEST_F(FakeDriverKernels, TakePartInTheSearchForRaces) {
  const auto device = Holding({1, 2});
  const auto stream = NewStream();
  EXPECT_EQ(Launch(device, 2, stream), kSuccess);
  EXPECT_EQ(cuMemcpyDtoHAsync_v2(Pinned(2), device, 2 * kInt, NewStream()), kSuccess);
  EXPECT_EQ(cuStreamSynchronize(stream), kSuccess);
  EXPECT_EQ(fake_gpu_violation_count(FAKE_GPU_RACE), 1u);
}

TEST_F(FakeDriverKernels, AreFoundByName) {
  FunctionHandle function = nullptr;
  EXPECT_EQ(cuModuleGetFunction(&function, module_, "treble"), kNotFound);
  EXPECT_EQ(cuModuleUnload(module_), kSuccess);
  EXPECT_EQ(Launch(Holding({1}), 1, nullptr), kInvalidHandle);
}

TEST_F(FakeDriver, HostFunctionsRunInAThreadOfTheirOwnAndMayNotCall) {
  struct Seen {
    std::thread::id thread;
    Code code = kSuccess;
  } seen;
  const auto stream = NewStream();
  EXPECT_EQ(cuLaunchHostFunc(
                stream,
                [](void* argument) {
                  auto& here = *static_cast<Seen*>(argument);
                  here.thread = std::this_thread::get_id();
                  here.code = cuCtxSynchronize();
                },
                &seen),
            kSuccess);
  EXPECT_EQ(cuStreamSynchronize(stream), kSuccess);
  EXPECT_NE(seen.thread, std::this_thread::get_id());
  EXPECT_EQ(seen.code, kNotPermitted);
  EXPECT_EQ(fake_gpu_violation_count(FAKE_GPU_CALL_IN_HOST_FUNCTION), 1u);
}

TEST_F(FakeDriver, HostFunctionsRunWhileNoCallDrivesTheWork) {
  std::atomic<int> seen{0};
  struct Argument {
    int* host;
    std::atomic<int>* seen;
  } argument{Pinned(1), &seen};
  const auto stream = NewStream();
  EXPECT_EQ(cuMemcpyDtoHAsync_v2(argument.host, Holding({6}), kInt, stream), kSuccess);
  EXPECT_EQ(
      cuLaunchHostFunc(
          stream, [](void* of) { *static_cast<Argument*>(of)->seen = *static_cast<Argument*>(of)->host; }, &argument),
      kSuccess);
  while (seen == 0) std::this_thread::yield();
  EXPECT_EQ(seen, 6);
}

TEST_F(FakeDriver, HostFunctionsRunWhileTheHostAsksForOtherWork) {
  std::atomic<bool> ran{false};
  const auto other = NewStream();
  const auto device = OnDevice(kInt);
  EXPECT_EQ(cuLaunchHostFunc(
                NewStream(), [](void* flag) { *static_cast<std::atomic<bool>*>(flag) = true; }, &ran),
            kSuccess);
  while (!ran) {
    EXPECT_EQ(cuMemsetD32Async(device, 1, 1, other), kSuccess);
    while (cuStreamQuery(other) == kNotReady) continue;
  }
  EXPECT_EQ(Violations(), "");
}

TEST_F(FakeDriver, TracesTheOrderInWhichWorkRan) {
  const auto stream = NewStream();
  EXPECT_EQ(cuMemsetD32Async(OnDevice(kInt), 1, 1, stream), kSuccess);
  Record(NewEvent(), stream);
  EXPECT_EQ(fake_gpu_trace(nullptr, 0), 0u);
  EXPECT_EQ(cuStreamSynchronize(stream), kSuccess);
  char trace[200] = "";
  EXPECT_LT(fake_gpu_trace(trace, sizeof trace), sizeof trace);
  EXPECT_THAT(trace,
              testing::MatchesRegex("cuMemsetD32Async .stream .*, operation 1.\ncuEventRecord .*operation 2.\n"));
}

TEST_F(FakeDriver, RefusesThreadsWithoutAContext) {
  Code code = kSuccess;
  std::thread([&] { code = cuCtxSynchronize(); }).join();
  EXPECT_EQ(code, kInvalidContext);
  EXPECT_EQ(fake_gpu_violation_count(FAKE_GPU_NO_CONTEXT), 1u);
}

TEST_F(FakeDriver, RefusesHandlesOfAnOtherContext) {
  const auto stream = NewStream();
  const auto event = NewEvent();
  const auto other = Retain(1);
  EXPECT_EQ(cuCtxPushCurrent_v2(other), kSuccess);
  EXPECT_EQ(cuMemsetD32Async(Holding({0}), 1, 1, stream), kInvalidHandle);
  EXPECT_EQ(cuEventRecord(event, nullptr), kInvalidHandle);
  EXPECT_EQ(fake_gpu_violation_count(FAKE_GPU_WRONG_CONTEXT), 2u);
  EXPECT_EQ(cuStreamWaitEvent(NewStream(), event, 0), kSuccess);
  ContextHandle popped = nullptr;
  EXPECT_EQ(cuCtxPopCurrent_v2(&popped), kSuccess);
  EXPECT_EQ(popped, other);
  ContextHandle current = nullptr;
  EXPECT_EQ(cuCtxGetCurrent(&current), kSuccess);
  EXPECT_EQ(current, context_);
}

TEST_F(FakeDriver, AContextEndsWithItsLastRelease) {
  EXPECT_EQ(Retain(0), context_);
  const auto device = Holding({1});
  EXPECT_EQ(cuDevicePrimaryCtxRelease_v2(0), kSuccess);
  EXPECT_EQ(cuCtxSynchronize(), kSuccess);
  EXPECT_EQ(cuDevicePrimaryCtxRelease_v2(0), kSuccess);
  EXPECT_EQ(cuCtxSynchronize(), kContextIsDestroyed);
  unsigned type = 0;
  EXPECT_EQ(cuPointerGetAttribute(&type, kAttributeMemoryType, device), kInvalidValue);
}

TEST_F(FakeDriver, ACallFailsOnDemand) {
  DevicePointer pointer = 0;
  fake_gpu_fail_call("cuMemAlloc_v2", 2, kOutOfMemory);
  EXPECT_EQ(cuMemAlloc_v2(&pointer, 8), kSuccess);
  EXPECT_EQ(cuMemAlloc_v2(&pointer, 8), kOutOfMemory);
  EXPECT_EQ(cuMemAlloc_v2(&pointer, 8), kSuccess);
  EXPECT_EQ(fake_gpu_calls("cuMemAlloc_v2"), 3u);
}

TEST_F(FakeDriver, MemoryEnds) {
  fake_gpu_set_devices(1, 1 << 20);
  DevicePointer pointer = 0;
  EXPECT_EQ(cuMemAlloc_v2(&pointer, 2 << 20), kOutOfMemory);
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  OnDevice(4096);
  EXPECT_EQ(cuMemGetInfo_v2(&free_bytes, &total_bytes), kSuccess);
  EXPECT_EQ(total_bytes, std::size_t{1} << 20);
  EXPECT_EQ(free_bytes, total_bytes - 4096);
}

TEST_F(FakeDriver, ALostDeviceStaysLost) {
  const auto device = Holding({1});
  int* host = Pinned(1);
  const auto stream = NewStream();
  bool ran = false;
  fake_gpu_set_patience(60000);
  EXPECT_EQ(cuMemcpyDtoHAsync_v2(host, device, kInt, stream), kSuccess);
  EXPECT_EQ(cuLaunchHostFunc(
                stream, [](void* flag) { *static_cast<bool*>(flag) = true; }, &ran),
            kSuccess);
  fake_gpu_lose_device(kLaunchFailed);
  EXPECT_EQ(cuStreamSynchronize(stream), kLaunchFailed);
  EXPECT_EQ(cuStreamQuery(stream), kLaunchFailed);
  EXPECT_EQ(cuMemFree_v2(device), kLaunchFailed);
  EXPECT_EQ(cuCtxSetCurrent(context_), kSuccess);
  EXPECT_EQ(host[0], kPoisoned);
  EXPECT_FALSE(ran);
  fake_gpu_reset();
  EXPECT_EQ(cuInit(0), kSuccess);
}

TEST_F(FakeDriver, AnOperationLosesTheDeviceOnDemand) {
  const auto stream = NewStream();
  const auto device = Holding({0});
  fake_gpu_fail_operation(2, kUnknown);
  for (int i = 1; i <= 3; ++i) EXPECT_EQ(cuMemsetD32Async(device, static_cast<unsigned>(i), 1, stream), kSuccess);
  EXPECT_EQ(cuStreamSynchronize(stream), kUnknown);
  EXPECT_EQ(Read(device, 1), std::vector<int>{1});
}

TEST_F(FakeDriver, NeedsInitialisationAndADevice) {
  int count = 0;
  fake_gpu_reset();
  EXPECT_EQ(cuDeviceGetCount(&count), kNotInitialized);
  fake_gpu_set_devices(0, 0);
  EXPECT_EQ(cuInit(0), kNoDevice);
  fake_gpu_set_version(10020);
  int version = 0;
  EXPECT_EQ(cuDriverGetVersion(&version), kSuccess);
  EXPECT_EQ(version, 10020);
}

TEST_F(FakeDriver, AnOldVersionRefusesWhatCameLater) {
  fake_gpu_set_version(9020);
  ModuleHandle module = nullptr;
  EXPECT_EQ(cuModuleLoadData(&module, "// sums\n.version 6.3\n.target sm_60\n"), kUnsupportedPtxVersion);
  EXPECT_EQ(cuModuleLoadData(&module, "// sums\n.version 6.2\n.target sm_60\n"), kSuccess);
  constexpr int kSharedEvents = 125;
  int supported = 0;
  EXPECT_EQ(cuDeviceGetAttribute(&supported, kSharedEvents, 0), kInvalidValue);
  fake_gpu_set_version(12000);
  EXPECT_EQ(cuModuleLoadData(&module, "// sums\n.version 8.0\n.target sm_60\n"), kSuccess);
  EXPECT_EQ(cuModuleLoadData(&module, "// sums\n.version 8.1\n.target sm_60\n"), kUnsupportedPtxVersion);
  EXPECT_EQ(cuDeviceGetAttribute(&supported, kSharedEvents, 0), kSuccess);
  EXPECT_EQ(supported, 1);
}

TEST_F(FakeDriver, ACapturingStreamTakesNoWork) {
  const auto stream = NewStream();
  int status = 7;
  EXPECT_EQ(cuStreamIsCapturing(stream, &status), kSuccess);
  EXPECT_EQ(status, 0);
  fake_gpu_set_capturing(stream, 1);
  EXPECT_EQ(cuStreamIsCapturing(stream, &status), kSuccess);
  EXPECT_EQ(status, 1);
  EXPECT_EQ(cuStreamSynchronize(stream), kStreamCaptureUnsupported);
  EXPECT_EQ(cuMemsetD32Async(Holding({0}), 1, 1, stream), kStreamCaptureUnsupported);
  EXPECT_EQ(cuCtxSynchronize(), kStreamCaptureUnsupported);
  EXPECT_EQ(cuStreamSynchronize(nullptr), kSuccess);
}

TEST_F(FakeDriver, ABlockingStreamThatCapturesHoldsTheLegacyOne) {
  const auto stream = NewStream(0);
  const auto memory = Holding({0});
  int status = 0;
  fake_gpu_set_capturing(stream, 1);
  EXPECT_EQ(cuStreamIsCapturing(nullptr, &status), kStreamCaptureImplicit);
  EXPECT_EQ(cuStreamSynchronize(nullptr), kStreamCaptureImplicit);
  EXPECT_EQ(cuMemsetD32Async(memory, 1, 1, nullptr), kStreamCaptureImplicit);
  fake_gpu_set_capturing(stream, 0);
  EXPECT_EQ(cuMemsetD32Async(memory, 1, 1, nullptr), kSuccess);
}

TEST_F(FakeDriver, ErrorsHaveNames) {
  const char* name = nullptr;
  EXPECT_EQ(cuGetErrorName(kOutOfMemory, &name), kSuccess);
  EXPECT_STREQ(name, "CUDA_ERROR_OUT_OF_MEMORY");
  EXPECT_EQ(cuGetErrorString(12345, &name), kInvalidValue);
  EXPECT_EQ(name, nullptr);
}

TEST_F(FakeDriver, TimeBetweenEventsIsMeasured) {
  const auto stream = NewStream();
  const auto first = NewEvent(0);
  const auto second = NewEvent(0);
  EXPECT_EQ(cuEventRecord(first, stream), kSuccess);
  EXPECT_EQ(cuEventRecord(second, stream), kSuccess);
  float milliseconds = -1;
  EXPECT_EQ(cuEventElapsedTime(&milliseconds, first, second), kNotReady);
  EXPECT_EQ(cuEventSynchronize(second), kSuccess);
  EXPECT_EQ(cuEventElapsedTime(&milliseconds, first, second), kSuccess);
  EXPECT_GE(milliseconds, 0);
}

/// Seeds choose among the orders that CUDA allows, and only among those.
TEST_F(FakeDriver, SeedsChooseTheOrder) {
  std::set<std::vector<int>> seen;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    fake_gpu_set_order(FAKE_GPU_RANDOM, seed);
    int* host = Pinned(3);
    const auto waited = NewStream();
    const auto other = NewStream();
    const auto device = Holding({1, 2, 3});
    EXPECT_EQ(cuMemcpyDtoHAsync_v2(host, device, kInt, waited), kSuccess);
    EXPECT_EQ(cuMemcpyDtoHAsync_v2(host + 1, device + kInt, kInt, other), kSuccess);
    EXPECT_EQ(cuMemcpyDtoHAsync_v2(host + 2, device + 2 * kInt, kInt, other), kSuccess);
    EXPECT_EQ(cuStreamSynchronize(waited), kSuccess);
    EXPECT_EQ(host[0], 1);
    seen.insert(std::vector<int>(host, host + 3));
    EXPECT_EQ(cuStreamSynchronize(other), kSuccess);
  }
  EXPECT_EQ(seen, (std::set<std::vector<int>>{{1, kPoisoned, kPoisoned}, {1, 2, kPoisoned}, {1, 2, 3}}));
}

TEST_F(FakeDriver, ThreadsCopyBothWaysAtTheSameTime) {
  constexpr std::size_t kBytes = 1 << 20;
  fake_gpu_use_bandwidth(0.02);  // 52 ms each
  const auto device = OnDevice(2 * kBytes);
  auto* host = reinterpret_cast<char*>(Pinned(2 * kBytes / kInt));
  const auto out = NewStream();
  const auto in = NewStream();
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(cuMemcpyDtoHAsync_v2(host, device, kBytes, out), kSuccess);
  EXPECT_EQ(cuMemcpyHtoDAsync_v2(device + kBytes, host + kBytes, kBytes, in), kSuccess);
  EXPECT_EQ(cuStreamSynchronize(out), kSuccess);
  const std::chrono::duration<double> one = std::chrono::steady_clock::now() - start;
  EXPECT_GE(one.count(), 0.05);
  EXPECT_EQ(cuStreamSynchronize(in), kSuccess);
  const std::chrono::duration<double> both = std::chrono::steady_clock::now() - start;
  EXPECT_GE(both.count(), 0.05);
  EXPECT_LT(both.count() - one.count(), 0.05);  // one after the other would take as long again
}

/// Many threads, each with its own stream, in virtual time and in threads.
TEST_F(FakeDriver, ServesManyThreads) {
  for (const bool virtual_time : {true, false}) {
    if (virtual_time) {
      fake_gpu_set_order(FAKE_GPU_RANDOM, 3);
    } else {
      fake_gpu_use_bandwidth(0);
    }
    std::vector<std::thread> threads;
    std::atomic<int> right{0};
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        EXPECT_EQ(cuCtxSetCurrent(context_), kSuccess);
        const auto stream = NewStream();
        const auto device = Holding({0});
        int* host = Pinned(2);
        for (int i = 0; i < 50; ++i) {
          host[0] = t * 100 + i;
          EXPECT_EQ(cuMemcpyHtoDAsync_v2(device, host, kInt, stream), kSuccess);
          EXPECT_EQ(cuMemcpyDtoHAsync_v2(host + 1, device, kInt, stream), kSuccess);
          EXPECT_EQ(cuStreamSynchronize(stream), kSuccess);
          right += host[1] == host[0] ? 1 : 0;
        }
      });
    }
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(right, 200);
    EXPECT_EQ(Violations(), "");
  }
}

constexpr const char* kHandleVariable = "SLIPWAY_TEST_IPC_HANDLE";
constexpr const char* kEventVariable = "SLIPWAY_TEST_IPC_EVENT";

std::string Hex(const IpcHandle& handle) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const char byte : handle.bytes) {
    const auto value = static_cast<unsigned char>(byte);
    text += {kDigits[value >> 4], kDigits[value & 15]};
  }
  return text;
}

IpcHandle HandleOf(const std::string& hex) {
  IpcHandle handle{};
  for (std::size_t i = 0; i < sizeof handle.bytes; ++i) {
    handle.bytes[i] = static_cast<char>(std::stoi(hex.substr(2 * i, 2), nullptr, 16));
  }
  return handle;
}

/// One test in two processes.
class FakeDriverProcesses : public FakeDriver {
 protected:
  /// `event`: null: none.
  static int RunChild(const IpcHandle& handle, const IpcHandle* event = nullptr) {
    const auto filter =
        std::string("--gtest_filter=") + (event != nullptr ? "*.WaitForEachOthersEvents" : "*.ShareMemoryByHandle");
    const auto child = ::fork();
    if (child == 0) {
      ::setenv(kHandleVariable, Hex(handle).c_str(), 1);
      if (event != nullptr) ::setenv(kEventVariable, Hex(*event).c_str(), 1);
      ::execl("/proc/self/exe", "child", filter.c_str(), nullptr);
      ::_exit(127);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return WEXITSTATUS(status);
  }

  static void BeChild(const IpcHandle& handle) {
    DevicePointer pointer = 0;
    DevicePointer again = 0;
    ASSERT_EQ(cuIpcOpenMemHandle_v2(&pointer, handle, 1), kSuccess);
    EXPECT_EQ(cuIpcOpenMemHandle_v2(&again, handle, 1), kSuccess);
    EXPECT_EQ(again, pointer);
    int value = 0;
    EXPECT_EQ(cuMemcpyDtoH_v2(&value, pointer, kInt), kSuccess);
    EXPECT_EQ(value, 11);
    value = 12;
    EXPECT_EQ(cuMemcpyHtoD_v2(pointer, &value, kInt), kSuccess);
    EXPECT_EQ(cuIpcCloseMemHandle(pointer), kSuccess);
    EXPECT_EQ(cuIpcCloseMemHandle(pointer), kSuccess);
    EXPECT_EQ(cuIpcCloseMemHandle(pointer), kInvalidValue);
  }
  /// Leaves the event open.
  static void BeChildThatWaits(const IpcHandle& handle, const IpcHandle& of_event) {
    DevicePointer pointer = 0;
    EventHandle event = nullptr;
    ASSERT_EQ(cuIpcOpenMemHandle_v2(&pointer, handle, 1), kSuccess);
    ASSERT_EQ(cuIpcOpenEventHandle(&event, of_event), kSuccess);
    EXPECT_EQ(cuEventRecord(event, nullptr), kNotSupported);
    const auto stream = NewStream();
    int* host = Pinned(1);
    Follow(stream, event);
    EXPECT_EQ(cuMemcpyDtoHAsync_v2(host, pointer, kInt, stream), kSuccess);
    EXPECT_EQ(cuStreamSynchronize(stream), kSuccess);
    EXPECT_EQ(*host, 21);
    EXPECT_EQ(cuEventQuery(event), kSuccess);
  }
};

/// The parent exports memory that holds 11; the child reads that and writes 12.
TEST_F(FakeDriverProcesses, ShareMemoryByHandle) {
  if (const char* hex = std::getenv(kHandleVariable)) return BeChild(HandleOf(hex));
  const auto device = Holding({11});
  IpcHandle handle{};
  EXPECT_EQ(cuIpcGetMemHandle(&handle, device), kSuccess);
  DevicePointer own = 0;
  EXPECT_EQ(cuIpcOpenMemHandle_v2(&own, handle, 1), kInvalidContext);
  EXPECT_EQ(RunChild(handle), 0);
  EXPECT_EQ(Read(device, 1), std::vector<int>{12});
}

/// The parent has queued a copy and a record, and calls the driver no more: the child's wait makes them run.
TEST_F(FakeDriverProcesses, WaitForEachOthersEvents) {
  if (const char* hex = std::getenv(kEventVariable)) {
    return BeChildThatWaits(HandleOf(std::getenv(kHandleVariable)), HandleOf(hex));
  }
  const auto device = Holding({11});
  const auto event = NewEvent(kEventDisableTiming | kEventInterprocess);
  const auto stream = NewStream();
  EXPECT_EQ(cuMemcpyHtoDAsync_v2(device, Pinned(1, 21), kInt, stream), kSuccess);
  Record(event, stream);
  IpcHandle memory{};
  IpcHandle of_event{};
  EXPECT_EQ(cuIpcGetMemHandle(&memory, device), kSuccess);
  ASSERT_EQ(cuIpcGetEventHandle(&of_event, event), kSuccess);
  EventHandle own = nullptr;
  EXPECT_EQ(cuIpcOpenEventHandle(&own, of_event), kInvalidContext);
  EXPECT_EQ(cuIpcGetEventHandle(&of_event, NewEvent()), kInvalidValue);
  ASSERT_EQ(cuIpcGetEventHandle(&of_event, event), kSuccess);
  EXPECT_EQ(fake_gpu_pending(), 2u);
  EXPECT_EQ(RunChild(memory, &of_event), 0);
  EXPECT_EQ(fake_gpu_pending(), 0u);
  EXPECT_EQ(cuEventDestroy_v2(event), kSuccess);
  EXPECT_EQ(fake_gpu_violation_count(FAKE_GPU_FREED_IN_USE), 1u) << "the child has it open";
}

}  // namespace
}  // namespace slipway::fake_gpu
