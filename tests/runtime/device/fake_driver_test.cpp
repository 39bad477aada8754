#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>

#include "tests/runtime/device/fake_driver_fixture.h"

namespace slipway::fake_gpu {
namespace {

TEST_F(FakeDriver, ExportsEveryEntryUnderTheDriversName) {
  void* library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  ASSERT_NE(library, nullptr);
#define SLIPWAY_CHECK_ENTRY(name, ...) EXPECT_EQ(::dlsym(library, #name), reinterpret_cast<void*>(&name)) << #name;
  SLIPWAY_FAKE_GPU_ENTRIES(SLIPWAY_CHECK_ENTRY)
#undef SLIPWAY_CHECK_ENTRY
}

TEST_F(FakeDriver, OfAnOldVersionLacksEntries) {
  void* library = ::dlopen(SLIPWAY_FAKE_OLD_DRIVER, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << ::dlerror();
  EXPECT_NE(::dlsym(library, "cuInit"), nullptr);
  EXPECT_EQ(::dlsym(library, "cuStreamWaitEvent"), nullptr);
  EXPECT_EQ(::dlsym(library, "cuLaunchHostFunc"), nullptr);
}

TEST_F(FakeDriver, DeviceMemoryFaultsOnTheHost) {
  const auto pointer = OnDevice(64);
  EXPECT_DEATH((void)*reinterpret_cast<volatile int*>(pointer), "");
  EXPECT_DEATH(*reinterpret_cast<volatile int*>(pointer) = 1, "");
}

TEST_F(FakeDriver, ManagedMemoryIsReadByTheHost) {
  DevicePointer pointer = 0;
  ASSERT_EQ(cuMemAllocManaged(&pointer, 64, 1), kSuccess);
  *reinterpret_cast<int*>(pointer) = 7;
  EXPECT_EQ(Read(pointer, 1), std::vector<int>{7});
  unsigned char managed = 0;
  EXPECT_EQ(cuPointerGetAttribute(&managed, kAttributeIsManaged, pointer), kSuccess);
  EXPECT_EQ(managed, 1);
}

TEST_F(FakeDriver, AnswersWhatAnAddressIs) {
  const auto first = OnDevice(100);
  const auto second = OnDevice(100);
  unsigned type = 0;
  EXPECT_EQ(cuPointerGetAttribute(&type, kAttributeMemoryType, first + 99), kSuccess);
  EXPECT_EQ(type, kDeviceMemory);
  EXPECT_EQ(cuPointerGetAttribute(&type, kAttributeMemoryType, first + 100), kInvalidValue);
  unsigned long long ids[2] = {};
  EXPECT_EQ(cuPointerGetAttribute(&ids[0], kAttributeBufferId, first), kSuccess);
  EXPECT_EQ(cuPointerGetAttribute(&ids[1], kAttributeBufferId, second), kSuccess);
  EXPECT_NE(ids[0], ids[1]);
  DevicePointer base = 0;
  std::size_t bytes = 0;
  EXPECT_EQ(cuMemGetAddressRange_v2(&base, &bytes, second + 50), kSuccess);
  EXPECT_EQ(base, second);
  EXPECT_EQ(bytes, 100u);
  int on_stack = 0;
  EXPECT_EQ(cuPointerGetAttribute(&type, kAttributeMemoryType, reinterpret_cast<DevicePointer>(&on_stack)),
            kInvalidValue);
  EXPECT_EQ(cuPointerGetAttribute(&type, kAttributeMemoryType, reinterpret_cast<DevicePointer>(Pinned(1))), kSuccess);
  EXPECT_EQ(type, kHostMemory);
}

TEST_F(FakeDriver, AFreedAddressComesBackWithAnotherBufferId) {
  const auto first = OnDevice(100);
  unsigned long long ids[2] = {};
  EXPECT_EQ(cuPointerGetAttribute(&ids[0], kAttributeBufferId, first), kSuccess);
  EXPECT_EQ(cuMemFree_v2(first), kSuccess);
  EXPECT_EQ(cuPointerGetAttribute(&ids[1], kAttributeBufferId, first), kInvalidValue);
  EXPECT_EQ(OnDevice(200), first);
  EXPECT_EQ(cuPointerGetAttribute(&ids[1], kAttributeBufferId, first), kSuccess);
  EXPECT_NE(ids[0], ids[1]);
}

TEST_F(FakeDriver, ACopyRunsWhenItIsWaitedFor) {
  const auto device = Holding({1, 2, 3});
  int* host = Pinned(3, 9);
  const auto stream = NewStream();
  EXPECT_EQ(cuMemcpyDtoHAsync_v2(host, device, 3 * kInt, stream), kSuccess);
  EXPECT_EQ(fake_gpu_pending(), 1u);
  EXPECT_EQ(host[0], kPoisoned);
  EXPECT_EQ(host[2], kPoisoned);
  EXPECT_EQ(cuStreamSynchronize(stream), kSuccess);
  EXPECT_EQ(std::vector<int>(host, host + 3), (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(fake_gpu_count(FAKE_GPU_DEVICE_SYNCHRONISATIONS), 0u);
  EXPECT_EQ(fake_gpu_count(FAKE_GPU_HOST_WAITS), 1u);
  EXPECT_EQ(fake_gpu_count(FAKE_GPU_BYTES_TO_HOST), 3 * kInt);
  EXPECT_EQ(Violations(), "");
}

TEST_F(FakeDriver, ACopyReadsItsSourceWhenItRuns) {
  const auto device = Holding({0});
  int* host = Pinned(1, 1);
  const auto stream = NewStream();
  EXPECT_EQ(cuMemcpyHtoDAsync_v2(device, host, kInt, stream), kSuccess);
  host[0] = 2;
  EXPECT_EQ(cuStreamSynchronize(stream), kSuccess);
  EXPECT_EQ(Read(device, 1), std::vector<int>{2});
  EXPECT_EQ(fake_gpu_violation_count(FAKE_GPU_HOST_RACE), 1u);
}

TEST_F(FakeDriver, EagerCopiesRunAtOnce) {
  fake_gpu_set_order(FAKE_GPU_EAGER, 0);
  const auto device = Holding({0});
  int* host = Pinned(1, 1);
  EXPECT_EQ(cuMemcpyHtoDAsync_v2(device, host, kInt, NewStream()), kSuccess);
  EXPECT_EQ(fake_gpu_pending(), 0u);
  EXPECT_EQ(Read(device, 1), std::vector<int>{1});
}

TEST_F(FakeDriver, AHostThatWritesTheDestinationOfAQueuedCopyIsFound) {
  const auto device = Holding({1});
  int* host = Pinned(1);
  const auto stream = NewStream();
  EXPECT_EQ(cuMemcpyDtoHAsync_v2(host, device, kInt, stream), kSuccess);
  host[0] = 5;
  EXPECT_EQ(cuStreamSynchronize(stream), kSuccess);
  EXPECT_EQ(fake_gpu_violation_count(FAKE_GPU_HOST_RACE), 1u);
}

TEST_F(FakeDriver, ABufferIsNotPoisonedWhileEarlierWorkOfTheStreamReadsIt) {
  const auto first = Holding({0});
  const auto second = Holding({2});
  int* host = Pinned(1, 1);
  const auto stream = NewStream();
  EXPECT_EQ(cuMemcpyHtoDAsync_v2(first, host, kInt, stream), kSuccess);
  EXPECT_EQ(cuMemcpyDtoHAsync_v2(host, second, kInt, stream), kSuccess);
  EXPECT_EQ(host[0], 1);
  EXPECT_EQ(fake_gpu_step(), 1);
  EXPECT_EQ(host[0], kPoisoned);
  EXPECT_EQ(cuStreamSynchronize(stream), kSuccess);
  EXPECT_EQ(host[0], 2);
  EXPECT_EQ(Read(first, 1), std::vector<int>{1});
  EXPECT_EQ(Violations(), "");
}

TEST_F(FakeDriver, TheHostSaysWhatItTouches) {
  int* host = Pinned(1);
  const auto stream = NewStream();
  fake_gpu_set_order(FAKE_GPU_EAGER, 0);
  EXPECT_EQ(cuMemcpyDtoHAsync_v2(host, Holding({1}), kInt, stream), kSuccess);
  fake_gpu_host_access(host, kInt, FAKE_GPU_READ);
  EXPECT_EQ(fake_gpu_violation_count(FAKE_GPU_HOST_RACE), 1u);
  EXPECT_EQ(cuStreamSynchronize(stream), kSuccess);
  fake_gpu_host_access(host, kInt, FAKE_GPU_READ);
  EXPECT_EQ(fake_gpu_violation_count(FAKE_GPU_HOST_RACE), 1u);
}

TEST_F(FakeDriver, PageableCopiesAreCountedAndAsTheDriverDoesThem) {
  const auto device = Holding({3});
  const auto stream = NewStream();
  int to = 0;
  EXPECT_EQ(cuMemcpyDtoHAsync_v2(&to, device, kInt, stream), kSuccess);
  EXPECT_EQ(to, 3);
  int from = 4;
  EXPECT_EQ(cuMemcpyHtoDAsync_v2(device, &from, kInt, stream), kSuccess);
  EXPECT_EQ(fake_gpu_pending(), 1u);
  from = 5;
  EXPECT_EQ(cuStreamSynchronize(stream), kSuccess);
  EXPECT_EQ(Read(device, 1), std::vector<int>{4});
  EXPECT_EQ(fake_gpu_count(FAKE_GPU_PAGEABLE_COPIES), 2u);
}

TEST_F(FakeDriver, CopiesOutsideOfMemoryAreRefusedAndFound) {
  const auto device = OnDevice(2 * kInt);
  int* host = Pinned(2);
  EXPECT_EQ(cuMemcpyDtoHAsync_v2(host, device + kInt, 2 * kInt, nullptr), kInvalidValue);
  EXPECT_EQ(cuMemcpyHtoDAsync_v2(device, host + 1, 2 * kInt, nullptr), kInvalidValue);
  EXPECT_EQ(fake_gpu_violation_count(FAKE_GPU_OUT_OF_BOUNDS), 2u);
  EXPECT_EQ(cuMemFree_v2(device), kSuccess);
  EXPECT_EQ(cuMemcpyDtoHAsync_v2(host, device, kInt, nullptr), kInvalidValue);
  EXPECT_EQ(cuMemFree_v2(device), kInvalidValue);
  EXPECT_EQ(fake_gpu_violation_count(FAKE_GPU_STALE_HANDLE), 2u);
}

TEST_F(FakeDriver, HostMemoryIsRegisteredOnceAndNotGivenBackInUse) {
  std::vector<int> host(1024);
  const auto stream = NewStream();
  EXPECT_EQ(cuMemHostRegister_v2(host.data(), 4096, 0), kSuccess);
  EXPECT_EQ(cuMemHostRegister_v2(host.data() + 1, 8, 0), kHostMemoryAlreadyRegistered);
  EXPECT_EQ(cuMemcpyDtoHAsync_v2(host.data(), Holding({1}), kInt, stream), kSuccess);
  EXPECT_EQ(cuMemHostUnregister(host.data()), kSuccess);
  EXPECT_EQ(fake_gpu_violation_count(FAKE_GPU_FREED_IN_USE), 1u);
  EXPECT_EQ(fake_gpu_pending(), 0u);
  EXPECT_EQ(cuMemHostUnregister(host.data()), kHostMemoryNotRegistered);
}

TEST_F(FakeDriver, FreeingDeviceMemoryWaitsForAllWork) {
  const auto device = Holding({1});
  int* host = Pinned(1);
  EXPECT_EQ(cuMemcpyDtoHAsync_v2(host, device, kInt, NewStream()), kSuccess);
  EXPECT_EQ(cuMemFree_v2(device), kSuccess);
  EXPECT_EQ(host[0], 1);
  EXPECT_EQ(fake_gpu_count(FAKE_GPU_DEVICE_SYNCHRONISATIONS), 1u);
  EXPECT_EQ(cuCtxSynchronize(), kSuccess);
  EXPECT_EQ(fake_gpu_count(FAKE_GPU_DEVICE_SYNCHRONISATIONS), 2u);
}

TEST_F(FakeDriver, AWaitIsForTheRecordBeforeIt) {
  const auto device = Holding({1, 2});
  int* host = Pinned(2);
  const auto first = NewStream();
  const auto second = NewStream();
  const auto event = NewEvent();
  EXPECT_EQ(cuMemcpyDtoHAsync_v2(host, device, kInt, first), kSuccess);
  EXPECT_EQ(cuEventRecord(event, first), kSuccess);
  EXPECT_EQ(cuStreamWaitEvent(second, event, 0), kSuccess);
  EXPECT_EQ(cuMemcpyDtoHAsync_v2(host + 1, device + kInt, kInt, first), kSuccess);
  EXPECT_EQ(cuEventRecord(event, first), kSuccess);
  EXPECT_EQ(cuStreamSynchronize(second), kSuccess);
  EXPECT_EQ(host[0], 1);
  EXPECT_EQ(host[1], kPoisoned);
  EXPECT_EQ(cuEventSynchronize(event), kSuccess);
  EXPECT_EQ(host[1], 2);
}

TEST_F(FakeDriver, AnEventThatWasNeverRecordedIsDone) {
  const auto event = NewEvent();
  EXPECT_EQ(cuEventQuery(event), kSuccess);
  EXPECT_EQ(cuEventSynchronize(event), kSuccess);
  EXPECT_EQ(cuStreamWaitEvent(NewStream(), event, 0), kSuccess);
  EXPECT_EQ(fake_gpu_pending(), 0u);
}

TEST_F(FakeDriver, AStreamAndAnEventMayBeDestroyedWithWorkQueued) {
  int* host = Pinned(1);
  const auto first = NewStream();
  const auto second = NewStream();
  const auto event = NewEvent();
  EXPECT_EQ(cuMemcpyDtoHAsync_v2(host, Holding({1}), kInt, first), kSuccess);
  EXPECT_EQ(cuEventRecord(event, first), kSuccess);
  EXPECT_EQ(cuStreamWaitEvent(second, event, 0), kSuccess);
  EXPECT_EQ(cuEventDestroy_v2(event), kSuccess);
  EXPECT_EQ(cuStreamDestroy_v2(first), kSuccess);
  EXPECT_EQ(cuStreamSynchronize(second), kSuccess);
  EXPECT_EQ(host[0], 1);
  EXPECT_EQ(Violations(), "");
  EXPECT_EQ(cuStreamSynchronize(first), kInvalidHandle);
  EXPECT_EQ(cuEventQuery(event), kInvalidHandle);
  EXPECT_EQ(fake_gpu_violation_count(FAKE_GPU_STALE_HANDLE), 2u);
}

TEST_F(FakeDriver, QueriesEndByThemselves) {
  int* host = Pinned(1);
  const auto stream = NewStream();
  EXPECT_EQ(cuMemcpyDtoHAsync_v2(host, Holding({1}), kInt, stream), kSuccess);
  int queries = 0;
  while (cuStreamQuery(stream) == kNotReady) ++queries;
  EXPECT_GE(queries, 0);
  EXPECT_LT(queries, 1000);
  EXPECT_EQ(host[0], 1);
}

TEST_F(FakeDriver, TheLegacyStreamOrdersBlockingStreamsOnly) {
  const auto device = Holding({1, 2});
  int* host = Pinned(2);
  EXPECT_EQ(cuMemcpyDtoHAsync_v2(host, device, kInt, NewStream(0)), kSuccess);
  EXPECT_EQ(cuMemcpyDtoHAsync_v2(host + 1, device + kInt, kInt, NewStream()), kSuccess);
  const auto event = NewEvent();
  EXPECT_EQ(cuEventRecord(event, nullptr), kSuccess);
  EXPECT_EQ(cuEventSynchronize(event), kSuccess);
  EXPECT_EQ(host[0], 1);
  EXPECT_EQ(host[1], kPoisoned);
}

TEST_F(FakeDriver, BlockingStreamsFollowTheLegacyStream) {
  const auto device = Holding({0});
  const auto per_thread = reinterpret_cast<StreamHandle>(kPerThreadStream);
  for (const auto stream : {NewStream(0), per_thread}) {
    EXPECT_EQ(cuMemsetD32Async(device, 7, 1, nullptr), kSuccess);
    EXPECT_EQ(cuMemsetD32Async(device, 8, 1, stream), kSuccess);
  }
  EXPECT_EQ(cuStreamSynchronize(per_thread), kSuccess);
  EXPECT_EQ(Read(device, 1), std::vector<int>{8});
  EXPECT_EQ(Violations(), "");
}

TEST_F(FakeDriver, WorkInNoOrderOnTheSameMemoryIsARaceInEveryOrder) {
  for (const auto order : {FAKE_GPU_LAZY, FAKE_GPU_EAGER, FAKE_GPU_RANDOM}) {
    fake_gpu_reset();
    fake_gpu_set_order(order, 1);
    ASSERT_EQ(cuInit(0), kSuccess);
    ASSERT_EQ(cuCtxSetCurrent(Retain(0)), kSuccess);
    const auto device = Holding({0, 0});
    EXPECT_EQ(cuMemsetD32Async(device, 1, 2, NewStream()), kSuccess);
    EXPECT_EQ(cuMemsetD32Async(device + kInt, 2, 1, NewStream()), kSuccess);
    EXPECT_EQ(fake_gpu_violation_count(FAKE_GPU_RACE), 1u) << order;
  }
}

TEST_F(FakeDriver, WorkOfANonBlockingStreamThatReliesOnTheLegacyStreamIsARace) {
  const auto device = OnDevice(kInt);
  EXPECT_EQ(cuMemsetD32Async(device, 1, 1, nullptr), kSuccess);
  EXPECT_EQ(cuMemsetD32Async(device, 2, 1, NewStream()), kSuccess);
  EXPECT_EQ(fake_gpu_violation_count(FAKE_GPU_RACE), 1u);
}

TEST_F(FakeDriver, AWaitOfTheHostOrdersWork) {
  const auto device = Holding({0});
  const auto first = NewStream();
  EXPECT_EQ(cuMemsetD32Async(device, 1, 1, first), kSuccess);
  EXPECT_EQ(cuStreamSynchronize(first), kSuccess);
  EXPECT_EQ(cuMemsetD32Async(device, 2, 1, NewStream()), kSuccess);
  EXPECT_EQ(Violations(), "");
}

TEST_F(FakeDriver, MemoryOfAPoolHasNoContext) {
  fake_gpu_allocate_in_pools(1);
  const auto device = OnDevice(kInt);
  ContextHandle context = context_;
  EXPECT_EQ(cuPointerGetAttribute(&context, kAttributeContext, device), kSuccess);
  EXPECT_EQ(context, nullptr);
  IpcHandle handle{};
  EXPECT_EQ(cuIpcGetMemHandle(&handle, device), kInvalidValue);
  EXPECT_EQ(cuMemFree_v2(device), kSuccess);
  EXPECT_EQ(Violations(), "");
}

TEST_F(FakeDriver, ACaptureByAnotherThreadForbidsWhatTheModeOfThisOneForbids) {
  const auto event = NewEvent();
  const auto known = OnDevice(kInt);
  DevicePointer memory = 0;
  fake_gpu_capture_elsewhere(1);
  EXPECT_EQ(cuEventQuery(event), kStreamCaptureUnsupported);
  EXPECT_EQ(cuMemAlloc_v2(&memory, kInt), kStreamCaptureUnsupported);
  EXPECT_EQ(cuMemFree_v2(known), kStreamCaptureUnsupported);
  int mode = kCaptureModeThreadLocal;
  EXPECT_EQ(cuThreadExchangeStreamCaptureMode(&mode), kSuccess);
  EXPECT_EQ(mode, kCaptureModeGlobal);
  EXPECT_EQ(cuEventQuery(event), kSuccess);
  EXPECT_EQ(cuMemFree_v2(known), kSuccess);
  EXPECT_EQ(cuCtxSynchronize(), kStreamCaptureUnsupported) << "in any mode";
  EXPECT_EQ(cuThreadExchangeStreamCaptureMode(&mode), kSuccess);
  EXPECT_EQ(mode, kCaptureModeThreadLocal);
  EXPECT_EQ(cuEventQuery(event), kStreamCaptureUnsupported);
  fake_gpu_capture_elsewhere(0);
  EXPECT_EQ(cuEventQuery(event), kSuccess);
}

TEST_F(FakeDriver, FreshMemoryIsNotZero) { EXPECT_EQ(Read(OnDevice(kInt), 1), std::vector<int>{kFresh}); }

}  // namespace
}  // namespace slipway::fake_gpu
