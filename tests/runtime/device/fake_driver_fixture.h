#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "tests/runtime/device/fake_driver/driver_api.h"
#include "tests/runtime/device/fake_driver/fake_gpu.h"

namespace slipway::fake_gpu {

/// A fresh fake driver with the context of device 0 current in this thread. Lazy order.
class FakeDriver : public testing::Test {
 protected:
  FakeDriver() {
    fake_gpu_reset();
    fake_gpu_set_order(FAKE_GPU_LAZY, 0);
    EXPECT_EQ(cuInit(0), kSuccess);
    context_ = Retain(0);
    EXPECT_EQ(cuCtxSetCurrent(context_), kSuccess);
  }

  static ContextHandle Retain(Device device) {
    ContextHandle context = nullptr;
    EXPECT_EQ(cuDevicePrimaryCtxRetain(&context, device), kSuccess);
    return context;
  }
  static DevicePointer OnDevice(std::size_t bytes) {
    DevicePointer pointer = 0;
    EXPECT_EQ(cuMemAlloc_v2(&pointer, bytes), kSuccess);
    return pointer;
  }
  /// Device memory with these values. It is there at once.
  static DevicePointer Holding(const std::vector<int>& values) {
    const auto pointer = OnDevice(values.size() * sizeof(int));
    std::memcpy(fake_gpu_shadow(pointer, values.size() * sizeof(int), FAKE_GPU_WRITE), values.data(),
                values.size() * sizeof(int));
    return pointer;
  }
  static std::vector<int> Read(DevicePointer pointer, std::size_t count) {
    std::vector<int> values(count);
    std::memcpy(values.data(), fake_gpu_shadow(pointer, count * sizeof(int), FAKE_GPU_READ), count * sizeof(int));
    return values;
  }
  static int* Pinned(std::size_t count, int value = 0) {
    void* pointer = nullptr;
    EXPECT_EQ(cuMemAllocHost_v2(&pointer, count * sizeof(int)), kSuccess);
    std::fill_n(static_cast<int*>(pointer), count, value);
    return static_cast<int*>(pointer);
  }
  static StreamHandle NewStream(unsigned flags = kStreamNonBlocking) {
    StreamHandle stream = nullptr;
    EXPECT_EQ(cuStreamCreate(&stream, flags), kSuccess);
    return stream;
  }
  static EventHandle NewEvent(unsigned flags = kEventDisableTiming) {
    EventHandle event = nullptr;
    EXPECT_EQ(cuEventCreate(&event, flags), kSuccess);
    return event;
  }
  static std::string Violations() {
    std::string text(fake_gpu_violations(nullptr, 0) + 1, '\0');
    fake_gpu_violations(text.data(), text.size());
    text.pop_back();
    return text;
  }

  ContextHandle context_ = nullptr;
};

inline constexpr std::size_t kInt = sizeof(int);
inline constexpr int kPoisoned = static_cast<int>(0xA5A5A5A5);
inline constexpr int kFresh = static_cast<int>(0xC5C5C5C5);

}  // namespace slipway::fake_gpu
