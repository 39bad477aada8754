#include "tests/runtime/device/gpu_program.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <random>
#include <string_view>
#include <thread>

#include "runtime/reduction/reduction.h"
#include "tests/runtime/device/fake_driver/hip_api.h"

namespace slipway::fake_gpu {

extern "C" [[gnu::weak]] Code hipSetDevice(int device);  // null: the fake driver has CUDA's names alone

}  // namespace slipway::fake_gpu

namespace slipway::test {
namespace {

using namespace fake_gpu;  // the entries that the program calls

std::atomic<std::chrono::milliseconds> kernel_delay = std::chrono::milliseconds(0);
std::atomic<int> kernels_to_death = 0;  ///< 0: none

/// What sum.ptx does, on the shadow of the GPU's memory.
template <slipway_dtype dtype>
void SumOnFake(const fake_gpu_launch* launch, void** parameters) {
  std::this_thread::sleep_for(kernel_delay.load());
  if (kernels_to_death > 0 && --kernels_to_death == 0) ::_exit(0);
  const auto table = *static_cast<const DevicePointer*>(parameters[0]);
  const auto ranks = static_cast<std::size_t>(*static_cast<const int*>(parameters[1]));
  const float factor = *static_cast<const float*>(parameters[2]);
  const auto row_bytes = (1 + ranks) * sizeof(DevicePointer);
  for (unsigned part = 0; part < launch->grid[1]; ++part) {
    std::vector<DevicePointer> row(1 + ranks);
    std::memcpy(row.data(), fake_gpu_shadow(table + part * row_bytes, row_bytes, FAKE_GPU_READ), row_bytes);
    const auto bytes = row[0] * runtime::SizeOf(dtype);
    std::vector<void*> at;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      at.push_back(fake_gpu_shadow(row[1 + rank], bytes, FAKE_GPU_WRITE));
    }
    // A mean has the factor 1/divisor: CombineAll() divides by it.
    const auto op = factor == 1.0F ? SLIPWAY_SUM : SLIPWAY_MEAN;
    const auto divisor = static_cast<int>(std::lround(1 / factor));
    const auto* inputs = const_cast<const void* const*>(at.data());
    runtime::CombineAll({dtype, op}, inputs, static_cast<int>(ranks), at.data(), static_cast<int>(ranks),
                        static_cast<std::int64_t>(row[0]), divisor);
  }
}

void RegisterKernels() {
  static constexpr std::size_t kParameters[] = {sizeof(DevicePointer), sizeof(int), sizeof(float), sizeof(double)};
  fake_gpu_register_kernel("slipway_sum_float32", SumOnFake<SLIPWAY_FLOAT32>, kParameters, 4);
  fake_gpu_register_kernel("slipway_sum_float64", SumOnFake<SLIPWAY_FLOAT64>, kParameters, 4);
  fake_gpu_register_kernel("slipway_sum_float16", SumOnFake<SLIPWAY_FLOAT16>, kParameters, 4);
  fake_gpu_register_kernel("slipway_sum_bfloat16", SumOnFake<SLIPWAY_BFLOAT16>, kParameters, 4);
}

}  // namespace

Gpu::Gpu() {
  static const bool ready = [] {
    EXPECT_EQ(cuInit(0), kSuccess);
    void* context = nullptr;
    EXPECT_EQ(cuDevicePrimaryCtxRetain(&context, 0), kSuccess);
    EXPECT_EQ(cuCtxSetCurrent(context), kSuccess);
    RegisterKernels();
    return true;
  }();
  EXPECT_TRUE(ready);
}

void Gpu::DelayKernels(std::chrono::milliseconds delay) { kernel_delay = delay; }

void Gpu::DieInKernel(int nth) { kernels_to_death = nth; }

std::string Gpu::Violations() {
  std::string text(fake_gpu_violations(nullptr, 0) + 1, '\0');
  fake_gpu_violations(text.data(), text.size());
  text.pop_back();
  return text;
}

std::uint64_t StopsOfTheGpu() {
  return fake_gpu_count(FAKE_GPU_DEVICE_SYNCHRONISATIONS) + fake_gpu_count(FAKE_GPU_PAGEABLE_COPIES) +
         fake_gpu_count(FAKE_GPU_SLOW_CALLS_UNDER_WORK) + fake_gpu_calls("cuCtxSynchronize") +
         fake_gpu_calls("cuStreamSynchronize") + fake_gpu_calls("cuMemHostRegister_v2") +
         fake_gpu_calls("cuMemAlloc_v2");
}

bool IsHip() { return hipSetDevice != nullptr; }

/// HIP makes the context of a thread's device current in each of its calls.
UsingGpu::UsingGpu(int device) {
  if (IsHip()) {
    EXPECT_EQ(hipSetDevice(device), kSuccess);
    return;
  }
  void* context = nullptr;
  EXPECT_EQ(cuDevicePrimaryCtxRetain(&context, device), kSuccess);
  EXPECT_EQ(cuCtxPushCurrent_v2(context), kSuccess);
}

UsingGpu::~UsingGpu() {
  if (IsHip()) {
    hipSetDevice(0);
    return;
  }
  void* popped = nullptr;
  cuCtxPopCurrent_v2(&popped);
}

GpuView::GpuView(void* data, std::size_t bytes) : GpuView(bytes) { device_ = reinterpret_cast<DevicePointer>(data); }

GpuView::GpuView(std::size_t bytes) : bytes_(bytes) {
  EXPECT_EQ(cuMemAllocHost_v2(&source_, std::max<std::size_t>(1, bytes)), kSuccess);
  EXPECT_EQ(cuMemAllocHost_v2(&result_, std::max<std::size_t>(1, bytes)), kSuccess);
}

GpuView::~GpuView() {
  cuMemFreeHost(source_);
  cuMemFreeHost(result_);
}

GpuBuffer::GpuBuffer(std::size_t bytes) : GpuView(bytes) {
  EXPECT_EQ(cuMemAlloc_v2(&device_, std::max<std::size_t>(1, bytes)), kSuccess);
}

GpuBuffer::~GpuBuffer() { cuMemFree_v2(device_); }

void GpuView::Fill(const void* bytes, void* stream) {
  if (bytes_ == 0) return;
  std::memcpy(source_, bytes, bytes_);
  EXPECT_EQ(cuMemcpyHtoDAsync_v2(device_, source_, bytes_, stream), kSuccess);
}

std::vector<char> GpuView::Read(void* stream) {
  std::vector<char> bytes(bytes_);
  if (bytes_ == 0) return bytes;
  EXPECT_EQ(cuMemcpyDtoHAsync_v2(result_, device_, bytes_, stream), kSuccess);
  EXPECT_EQ(cuStreamSynchronize(stream), kSuccess);
  std::memcpy(bytes.data(), result_, bytes_);
  return bytes;
}

GpuStream::GpuStream() { EXPECT_EQ(cuStreamCreate(&handle_, kStreamNonBlocking), kSuccess); }

GpuStream::~GpuStream() { cuStreamDestroy_v2(handle_); }

void* StreamOfThread() { return reinterpret_cast<void*>(kPerThreadStream); }

void InAnotherThread(const std::function<void()>& action) {
  std::thread([&] {
    const UsingGpu here(0);
    action();
  }).join();
}

HeldStream::HeldStream() {
  const auto wait = [](void* free) { static_cast<std::atomic<bool>*>(free)->wait(false); };
  EXPECT_EQ(cuLaunchHostFunc(stream_.handle(), wait, &free_), kSuccess);
}

HeldStream::~HeldStream() {
  LetGo();
  cuStreamSynchronize(handle());
}

void HeldStream::LetGo() {
  free_ = true;
  free_.notify_all();
}

bool ByEvents() {
  const char* waits = std::getenv("SLIPWAY_GPU_WAIT");
  return waits != nullptr && std::string_view(waits) == "events";
}

bool DirectIsNamed() {
  const char* way = std::getenv("SLIPWAY_GPU_EXCHANGE");
  return way != nullptr && std::string_view(way) == "direct";
}

std::vector<char> RandomBytes(slipway_dtype dtype, std::int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (auto& value : values) value = static_cast<float>(static_cast<int>(random() % 4001) - 2000) / 64;
  std::vector<char> bytes(values.size() * runtime::SizeOf(dtype));
  const auto fill = [&]<class Number>(Number) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto number = static_cast<Number>(values[i]);
      std::memcpy(bytes.data() + i * sizeof number, &number, sizeof number);
    }
  };
  switch (dtype) {
    case SLIPWAY_FLOAT64: fill(double{}); break;
    case SLIPWAY_INT32: fill(std::int32_t{}); break;
    case SLIPWAY_INT64: fill(std::int64_t{}); break;
    case SLIPWAY_FLOAT16:
    case SLIPWAY_BFLOAT16: runtime::Narrow(values.data(), bytes.data(), count, dtype); break;
    default: fill(float{});
  }
  return bytes;
}

std::vector<char> OrderSensitiveBytes(std::int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<char> bytes(static_cast<std::size_t>(count) * sizeof(float));
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(float)) {
    const auto number = random();
    const float value = std::ldexp(static_cast<float>(number % 8191) - 4095, static_cast<int>(number >> 13) % 40 - 20);
    std::memcpy(bytes.data() + at, &value, sizeof value);
  }
  return bytes;
}

}  // namespace slipway::test
