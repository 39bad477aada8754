#include <dlfcn.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/runtime/device/fake_driver/fake_gpu.h"
#include "tests/runtime/device/fake_driver/hip_api.h"

namespace slipway::fake_gpu {
namespace {

/// The library of HIP's names, opened as a port would.
class FakeHip : public testing::Test {
 protected:
  template <class Entry>
  Entry* Get(const char* name) {
    auto* entry = reinterpret_cast<Entry*>(::dlsym(library_, name));
    EXPECT_NE(entry, nullptr) << name;
    return entry;
  }

  void* library_ = ::dlopen(SLIPWAY_FAKE_HIP, RTLD_NOW | RTLD_LOCAL);
};

TEST_F(FakeHip, HasEveryEntryAndNoneOfTheOtherDriver) {
  ASSERT_NE(library_, nullptr) << ::dlerror();
#define SLIPWAY_CHECK_ENTRY(name, ...) Get<Code(__VA_ARGS__)>(#name);
  SLIPWAY_FAKE_HIP_ENTRIES(SLIPWAY_CHECK_ENTRY)
#undef SLIPWAY_CHECK_ENTRY
  EXPECT_EQ(::dlsym(library_, "cuInit"), nullptr);
}

TEST_F(FakeHip, CopiesWithoutAContextOfTheProgram) {
  ASSERT_NE(library_, nullptr) << ::dlerror();
  const auto reset = Get<decltype(fake_gpu_reset)>("fake_gpu_reset");
  reset();
  Get<decltype(fake_gpu_set_order)>("fake_gpu_set_order")(FAKE_GPU_LAZY, 0);
  void* device = nullptr;
  void* pinned = nullptr;
  StreamHandle stream = nullptr;
  ASSERT_EQ(Get<decltype(hipMalloc)>("hipMalloc")(&device, sizeof(int)), kSuccess);
  ASSERT_EQ(Get<decltype(hipHostMalloc)>("hipHostMalloc")(&pinned, sizeof(int), 0), kSuccess);
  ASSERT_EQ(Get<decltype(hipStreamCreateWithFlags)>("hipStreamCreateWithFlags")(&stream, kStreamNonBlocking), kSuccess);
  auto& value = *static_cast<int*>(pinned);
  ASSERT_EQ(Get<decltype(hipMemsetD32Async)>("hipMemsetD32Async")(device, 7, 1, stream), kSuccess);
  ASSERT_EQ(Get<decltype(hipMemcpyDtoHAsync)>("hipMemcpyDtoHAsync")(pinned, device, sizeof(int), stream), kSuccess);
  EXPECT_EQ(value, static_cast<int>(0xA5A5A5A5));
  ASSERT_EQ(Get<decltype(hipStreamSynchronize)>("hipStreamSynchronize")(stream), kSuccess);
  EXPECT_EQ(value, 7);
  EXPECT_EQ(Get<decltype(fake_gpu_violations)>("fake_gpu_violations")(nullptr, 0), 0u);
  reset();
}

TEST_F(FakeHip, AnswersWhatAPointerIs) {
  ASSERT_NE(library_, nullptr) << ::dlerror();
  Get<decltype(fake_gpu_reset)>("fake_gpu_reset")();
  const auto attributes_of = Get<decltype(hipPointerGetAttributes)>("hipPointerGetAttributes");
  ASSERT_EQ(Get<decltype(hipSetDevice)>("hipSetDevice")(1), kSuccess);
  EXPECT_EQ(Get<decltype(hipSetDevice)>("hipSetDevice")(2), kInvalidDevice);
  void* device = nullptr;
  ASSERT_EQ(Get<decltype(hipMalloc)>("hipMalloc")(&device, 100), kSuccess);
  HipPointerAttributes attributes{};
  EXPECT_EQ(attributes_of(&attributes, static_cast<char*>(device) + 99), kSuccess);
  EXPECT_EQ(attributes.type, kHipDeviceMemory);
  EXPECT_EQ(attributes.device, 1);
  EXPECT_EQ(attributes.is_managed, 0);
  EXPECT_EQ(attributes_of(&attributes, &attributes), kSuccess);
  EXPECT_EQ(attributes.type, kHipUnregisteredMemory);
  ASSERT_EQ(Get<decltype(hipSetDevice)>("hipSetDevice")(0), kSuccess);
}

/// Other than the driver of CUDA.
TEST_F(FakeHip, KeepsAnErrorUntilItIsTaken) {
  ASSERT_NE(library_, nullptr) << ::dlerror();
  Get<decltype(fake_gpu_reset)>("fake_gpu_reset")();
  const auto peek = Get<decltype(hipPeekAtLastError)>("hipPeekAtLastError");
  const auto take = Get<decltype(hipGetLastError)>("hipGetLastError");
  int value = 0;
  EXPECT_EQ(peek(), kSuccess);
  EXPECT_NE(Get<decltype(hipPointerGetAttribute)>("hipPointerGetAttribute")(&value, kAttributeMemoryType, &value),
            kSuccess);
  EXPECT_EQ(Get<decltype(hipGetDevice)>("hipGetDevice")(&value), kSuccess);
  EXPECT_EQ(peek(), kInvalidValue);
  EXPECT_EQ(take(), kInvalidValue);
  EXPECT_EQ(take(), kSuccess);
}

TEST_F(FakeHip, SaysThatThereIsNoDevice) {
  ASSERT_NE(library_, nullptr) << ::dlerror();
  const auto reset = Get<decltype(fake_gpu_reset)>("fake_gpu_reset");
  reset();
  Get<decltype(fake_gpu_set_devices)>("fake_gpu_set_devices")(0, 0);
  int count = 0;
  EXPECT_EQ(Get<decltype(hipGetDeviceCount)>("hipGetDeviceCount")(&count), kNoDevice);
  EXPECT_STREQ(Get<decltype(hipGetErrorString)>("hipGetErrorString")(kNoDevice), "no CUDA-capable device is detected");
  reset();
}

}  // namespace
}  // namespace slipway::fake_gpu
