/// What `doctor` asks NVIDIA's driver beyond what the exchange needs of it.
#pragma once

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
  int Init() const { return init_(0); }
  /// "CUDA_ERROR_NO_DEVICE (100)".
  std::string NameOf(int code) const;
  /// "12.4": what the driver can run.
  std::string Version() const;
  int Count() const;
  std::string NameOfGpu(int ordinal) const;
  /// The context that the programs of this process share. Nothing: `code` says why.
  void* ContextOf(int ordinal, int& code) const;
  /// Of the GPU whose context is current.
  std::optional<GpuMemory> Memory() const;
  /// Whether `ordinal` reaches the memory of `other`.
  bool Reaches(int ordinal, int other) const;

 private:
  CudaDriver() = default;

  int (*init_)(unsigned flags) = nullptr;
  int (*version_)(int*) = nullptr;
  int (*error_name_)(int code, const char** name) = nullptr;
  int (*count_)(int*) = nullptr;
  int (*get_)(int* device, int ordinal) = nullptr;
  int (*name_)(char* name, int size, int device) = nullptr;
  int (*retain_)(void** context, int device) = nullptr;
  int (*memory_)(std::size_t* free, std::size_t* total) = nullptr;
  int (*reaches_)(int* reaches, int device, int other) = nullptr;
};

}  // namespace slipway::launcher
