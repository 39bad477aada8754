#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "tests/runtime/device/fake_driver/driver_api.h"
#include "tests/runtime/device/fake_driver/fake_gpu.h"

namespace slipway::fake_gpu {

inline constexpr std::size_t kInt = sizeof(int);
inline constexpr int kPoisoned = static_cast<int>(0xA5A5A5A5);
inline constexpr int kFresh = static_cast<int>(0xC5C5C5C5);

/// Short ways to make what a test works with.
struct Makes {
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
  static void Write(DevicePointer pointer, const std::vector<int>& values) {
    const auto bytes = values.size() * kInt;
    std::memcpy(fake_gpu_shadow(pointer, bytes, FAKE_GPU_WRITE), values.data(), bytes);
  }
  static std::vector<int> Read(DevicePointer pointer, std::size_t count) {
    std::vector<int> values(count);
    std::memcpy(values.data(), fake_gpu_shadow(pointer, count * kInt, FAKE_GPU_READ), count * kInt);
    return values;
  }
  /// Device memory with these values.
  static DevicePointer Holding(const std::vector<int>& values) {
    const auto pointer = OnDevice(values.size() * kInt);
    Write(pointer, values);
    return pointer;
  }
  static int* Pinned(std::size_t count, int value = 0) {
    void* pointer = nullptr;
    EXPECT_EQ(cuMemAllocHost_v2(&pointer, count * kInt), kSuccess);
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
  static void Record(EventHandle event, StreamHandle stream) { EXPECT_EQ(cuEventRecord(event, stream), kSuccess); }
  static void Follow(StreamHandle stream, EventHandle event) {
    EXPECT_EQ(cuStreamWaitEvent(stream, event, 0), kSuccess);
  }
  static void WaitFor(EventHandle event) { EXPECT_EQ(cuEventSynchronize(event), kSuccess); }
  static std::string Violations() {
    std::string text(fake_gpu_violations(nullptr, 0) + 1, '\0');
    fake_gpu_violations(text.data(), text.size());
    text.pop_back();
    return text;
  }
};

/// A fresh fake driver with the context of device 0 current in this thread. Lazy order.
class FakeDriver : public testing::Test, protected Makes {
 protected:
  FakeDriver() {
    fake_gpu_reset();
    fake_gpu_set_order(FAKE_GPU_LAZY, 0);
    EXPECT_EQ(cuInit(0), kSuccess);
    context_ = Retain(0);
    EXPECT_EQ(cuCtxSetCurrent(context_), kSuccess);
  }

  ContextHandle context_ = nullptr;
};

}  // namespace slipway::fake_gpu
