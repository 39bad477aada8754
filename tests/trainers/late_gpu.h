/// Stands for two GPUs in a libtorch without CUDA: streams, device memory, pinned memory. Include it once in a program.
///
/// "Device memory" is memory of the host. A stream does its work as late as it may: when the host waits for it. So
/// whoever overwrites or frees what is still copied from gets other values, or an error of AddressSanitizer.
#pragma once

#include <ATen/ATen.h>
#include <ATen/EmptyTensor.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/library.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <utility>
#include <vector>

namespace slipway::test {

class LateGpu {
 public:
  struct Copied {
    bool from_pinned = false;
    c10::StreamId stream = 0;
  };

  static LateGpu& Get() {
    static LateGpu gpu;
    return gpu;
  }

  /// As in a new process.
  void Reset() { *this = LateGpu(); }

  void Enqueue(std::function<void()> work) { queues_[stream].push_back(std::move(work)); }
  void Synchronize(c10::StreamId of) {
    for (const auto& work : std::exchange(queues_[of], {})) work();
  }
  bool is_idle() const {
    return std::ranges::all_of(queues_, [](const auto& queue) { return queue.second.empty(); });
  }

  void* Pin(std::size_t bytes) {
    TORCH_CHECK(can_pin, "CUDA error: out of memory\nCompile with more of this and that.");
    void* memory = std::malloc(std::max<std::size_t>(bytes, 1));
    pinned_[static_cast<std::byte*>(memory)] = bytes;
    return memory;
  }
  void Unpin(void* memory) {
    pinned_.erase(static_cast<std::byte*>(memory));
    std::free(memory);
  }
  bool IsPinned(const void* memory) const {
    const auto* place = static_cast<const std::byte*>(memory);
    const auto after = pinned_.upper_bound(const_cast<std::byte*>(place));
    return after != pinned_.begin() && place < std::prev(after)->first + std::prev(after)->second;
  }

  bool can_pin = true;
  c10::DeviceIndex device = 0;      ///< the current one
  c10::StreamId stream = 0;         ///< the current one
  c10::StreamId last_stream = 0;    ///< made so far
  std::vector<Copied> copies;       ///< to a GPU
  std::vector<c10::StreamId> uses;  ///< what record_stream() was told

 private:
  std::map<c10::StreamId, std::vector<std::function<void()>>> queues_;
  std::map<std::byte*, std::size_t> pinned_;
};

/// What libtorch knows a kind of device by.
struct LateGuard final : c10::impl::DeviceGuardImplInterface {
  c10::DeviceType type() const override { return at::kCUDA; }
  c10::Device getDevice() const override { return {at::kCUDA, LateGpu::Get().device}; }
  void setDevice(c10::Device device) const override { LateGpu::Get().device = device.index(); }
  void uncheckedSetDevice(c10::Device device) const noexcept override { setDevice(device); }
  c10::Device exchangeDevice(c10::Device device) const override {
    return {at::kCUDA, std::exchange(LateGpu::Get().device, device.index())};
  }
  c10::DeviceIndex deviceCount() const noexcept override { return 2; }

  c10::Stream getStream(c10::Device device) const noexcept override {
    return c10::Stream(c10::Stream::UNSAFE, device, LateGpu::Get().stream);
  }
  c10::Stream getStreamFromGlobalPool(c10::Device device, bool /*is_high_priority*/) const override {
    return c10::Stream(c10::Stream::UNSAFE, device, ++LateGpu::Get().last_stream);
  }
  c10::Stream exchangeStream(c10::Stream stream) const noexcept override {
    return c10::Stream(c10::Stream::UNSAFE, stream.device(), std::exchange(LateGpu::Get().stream, stream.id()));
  }
  void synchronizeStream(const c10::Stream& stream) const override { LateGpu::Get().Synchronize(stream.id()); }
};
C10_REGISTER_GUARD_IMPL(CUDA, LateGuard);

struct PinnedAllocator final : c10::Allocator {
  c10::DataPtr allocate(std::size_t bytes) const override {
    void* memory = LateGpu::Get().Pin(bytes);
    return {memory, memory, &Free, at::kCPU};
  }
  static void Free(void* memory) { LateGpu::Get().Unpin(memory); }
};

struct DeviceAllocator final : c10::Allocator {
  c10::DataPtr allocate(std::size_t bytes) const override {
    void* memory = std::malloc(std::max<std::size_t>(bytes, 1));
    return {memory, memory, &std::free, LateGuard().getDevice()};
  }
};

inline at::Tensor LateEmpty(at::IntArrayRef size, at::IntArrayRef stride, c10::optional<at::ScalarType> type,
                            c10::optional<at::Layout> /*layout*/, c10::optional<at::Device> /*device*/,
                            c10::optional<bool> /*pinned*/) {
  static DeviceAllocator allocator;
  return at::Tensor(at::detail::empty_strided_generic(
      size, stride, &allocator, c10::DispatchKeySet(c10::DispatchKey::CUDA), type.value_or(at::kFloat)));
}

inline at::Tensor& LateCopy(at::Tensor& to, const at::Tensor& from, bool non_blocking) {
  auto& gpu = LateGpu::Get();
  gpu.copies.push_back({gpu.IsPinned(from.data_ptr()), gpu.stream});
  gpu.Enqueue([target = to.data_ptr(), source = from.data_ptr(), bytes = from.nbytes()] {
    std::memcpy(target, source, bytes);
  });
  if (!non_blocking) gpu.Synchronize(gpu.stream);
  return to;
}

inline void LateRecordStream(at::Tensor& /*tensor*/, c10::Stream stream) { LateGpu::Get().uses.push_back(stream.id()); }

TORCH_LIBRARY_IMPL(aten, CUDA, library) {
  library.impl("empty_strided", LateEmpty);
  library.impl("copy_", LateCopy);
  library.impl("record_stream", LateRecordStream);
}

}  // namespace slipway::test

namespace at {

/// libtorch looks for this name.
struct CUDAHooks final : CUDAHooksInterface {
  explicit CUDAHooks(CUDAHooksArgs) {}
  bool hasCUDA() const override { return true; }
  int getNumGPUs() const override { return 2; }
  bool isPinnedPtr(void* memory) const override { return slipway::test::LateGpu::Get().IsPinned(memory); }
  Allocator* getPinnedMemoryAllocator() const override {
    static slipway::test::PinnedAllocator allocator;
    return &allocator;
  }
};
REGISTER_CUDA_HOOKS(CUDAHooks);

}  // namespace at
