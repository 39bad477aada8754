#pragma once

/// A program with a GPU, on the fake driver: what it does to tensors there, by the driver's entries.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "tests/runtime/device/fake_driver/driver_api.h"
#include "tests/runtime/device/fake_driver/fake_gpu.h"
#include "tests/runtime/ranks.h"

namespace slipway::test {

/// The GPU of this process, with a context that is current in this thread. In any order, with any seed.
class Gpu {
 public:
  Gpu();
  /// All violations so far, one on each line.
  static std::string Violations();
  /// From now on each kernel takes so long in addition.
  static void DelayKernels(std::chrono::milliseconds delay);
  /// The process ends in its n-th kernel from now (1: the next one).
  static void DieInKernel(int nth);
};

/// A GPU's context, current in this thread while it lives.
class UsingGpu {
 public:
  explicit UsingGpu(int device);
  UsingGpu(const UsingGpu&) = delete;
  UsingGpu& operator=(const UsingGpu&) = delete;
  ~UsingGpu();
};

/// Memory on the GPU, and pinned memory of the CPU from which it is filled and to which it is read.
class GpuView {
 public:
  GpuView(void* data, std::size_t bytes);
  GpuView(const GpuView&) = delete;
  GpuView& operator=(const GpuView&) = delete;
  ~GpuView();

  void* data() const { return reinterpret_cast<void*>(device_); }
  /// Queues the copy of these bytes to the GPU.
  void Fill(const void* bytes, void* stream);
  /// Queues the copy back, and waits for `stream`.
  std::vector<char> Read(void* stream);

 protected:
  explicit GpuView(std::size_t bytes);
  fake_gpu::DevicePointer device_ = 0;

 private:
  std::size_t bytes_;
  void* source_ = nullptr;
  void* result_ = nullptr;
};

/// A buffer on the GPU.
class GpuBuffer : public GpuView {
 public:
  explicit GpuBuffer(std::size_t bytes);
  ~GpuBuffer();
};

/// A stream of the program.
class GpuStream {
 public:
  GpuStream();
  GpuStream(const GpuStream&) = delete;
  GpuStream& operator=(const GpuStream&) = delete;
  ~GpuStream();
  void* handle() const { return handle_; }

 private:
  void* handle_ = nullptr;
};

/// A handle that means another stream in each thread: the thread's own default stream.
void* StreamOfThread();

/// Runs `action` in a thread that uses the GPU, and waits for its end.
void InAnotherThread(const std::function<void()>& action);

/// A stream that does nothing until the program lets it.
class HeldStream {
 public:
  HeldStream();
  HeldStream(const HeldStream&) = delete;
  HeldStream& operator=(const HeldStream&) = delete;
  ~HeldStream();
  void* handle() const { return stream_.handle(); }
  void LetGo();

 private:
  std::atomic<bool> free_ = false;
  GpuStream stream_;
};

/// How often the GPU or the program has been stopped so far: by a wait for all work of the GPU or of a stream, memory
/// that is allocated or pinned, and copies from or to memory that is not pinned.
std::uint64_t StopsOfTheGpu();

/// Whether the fake driver has HIP's names, as for AMD's GPUs: libslipway uses these then.
bool IsHip();

/// Whether GPUs of several ranks wait for each other by events in this process.
bool ByEvents();

/// Whether SLIPWAY_GPU_EXCHANGE names the GPUs: those of a node combine large messages then, whatever their times are.
bool DirectIsNamed();

/// Numbers of a few binary digits: a sum of some is exact.
std::vector<char> RandomBytes(slipway_dtype dtype, std::int64_t count, unsigned seed);

/// float32 numbers of very different sizes: their sum depends on the order.
std::vector<char> OrderSensitiveBytes(std::int64_t count, unsigned seed);

/// Tests that end without a violation.
class OnDevice : public testing::Test {
 protected:
  void TearDown() override { EXPECT_EQ(Gpu::Violations(), ""); }
  static unsigned Seed(int step, int tensor) { return static_cast<unsigned>(1000 * step + 50 * tensor + Rank()); }

  Gpu gpu_;
};

}  // namespace slipway::test
