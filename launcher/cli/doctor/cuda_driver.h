/// What `doctor` asks NVIDIA's driver beyond what the exchange needs of it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace slipway::launcher {

/// CUresult of cuda.h.
inline constexpr int kCudaNoDevice = 100;

struct GpuMemory {
  std::uint64_t total = 0;  ///< bytes
  std::uint64_t free = 0;   ///< bytes
};

/// The library libcuda.so.1. Once it is open, runtime::Driver finds it too.
///
/// Source: CUDA Driver API. Declared here, so that neither a header nor a library of CUDA is needed.
class CudaDriver {
 public:
  /// Nothing without a driver for CUDA 7 or newer. Cost: without a driver, a search for the library.
  static std::optional<CudaDriver> Open();

  /// First of all; it may take seconds when no program uses a GPU. A CUresult.
  int Init() const { return entries_.cuInit(0); }
  /// "CUDA_ERROR_NO_DEVICE (100)".
  std::string NameOf(int code) const;
  /// "12.4": what the driver can run.
  std::string Version() const;
  int Count() const;
  std::string NameOfGpu(int ordinal) const;
  /// "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6", as NVML names it; empty: unknown.
  std::string UuidOf(int ordinal) const;
  /// The context that the programs of this process share. Nothing: `code` says why.
  void* ContextOf(int ordinal, int& code) const;
  /// Of the GPU whose context is current.
  std::optional<GpuMemory> Memory() const;
  /// Whether `ordinal` reaches the memory of `other`.
  bool Reaches(int ordinal, int other) const;
  /// Whether the next two may be called.
  bool has_peer_copies() const {
    return entries_.cuCtxEnablePeerAccess != nullptr && entries_.cuMemcpyPeerAsync != nullptr;
  }
  /// From now on the GPU of the current context reaches the memory of this one directly. A CUresult; success also where
  /// it did before.
  int ReachContext(void* context) const;
  /// Queues a copy of device memory on `stream`, which is of the current context. A CUresult.
  int CopyToContext(std::uintptr_t to, void* to_context, std::uintptr_t from, void* from_context, std::size_t bytes,
                    void* stream) const {
    return entries_.cuMemcpyPeerAsync(to, to_context, from, from_context, bytes, stream);
  }

  /// CUuuid.
  struct Uuid {
    std::array<unsigned char, 16> bytes{};
  };
  /// The functions, with the names of CUDA's. Each returns a CUresult.
  struct Entries {
    int (*cuInit)(unsigned flags) = nullptr;
    int (*cuDriverGetVersion)(int* version) = nullptr;
    int (*cuGetErrorName)(int code, const char** name) = nullptr;
    int (*cuDeviceGetCount)(int* count) = nullptr;
    int (*cuDeviceGet)(int* device, int ordinal) = nullptr;
    int (*cuDeviceGetName)(char* name, int size, int device) = nullptr;
    int (*cuDeviceGetUuid)(Uuid* uuid, int device) = nullptr;  ///< optional
    int (*cuDevicePrimaryCtxRetain)(void** context, int device) = nullptr;
    int (*cuMemGetInfo)(std::size_t* free, std::size_t* total) = nullptr;
    int (*cuDeviceCanAccessPeer)(int* reaches, int device, int other) = nullptr;
    int (*cuCtxEnablePeerAccess)(void* context, unsigned flags) = nullptr;  ///< optional
    int (*cuMemcpyPeerAsync)(std::uintptr_t to, void* to_context, std::uintptr_t from, void* from_context,
                             std::size_t bytes, void* stream) = nullptr;  ///< optional
  };

 private:
  CudaDriver() = default;

  Entries entries_;
};

}  // namespace slipway::launcher
