/// The driver of a GPU: the few functions of CUDA's driver interface that the exchange needs, or HIP's of the same
/// kind.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/status.h"

namespace slipway::runtime {

/// An address in the memory of a device; what CUDA calls CUdeviceptr.
using DeviceAddress = std::uintptr_t;
inline DeviceAddress AddressOf(const void* data) { return reinterpret_cast<DeviceAddress>(data); }
/// CUipcMemHandle or CUipcEventHandle: an allocation or an event, for other processes of the node.
struct IpcHandle {
  std::array<char, 64> bytes{};

  auto operator<=>(const IpcHandle&) const = default;
};
/// CUstream of the program; null is the legacy default stream.
using StreamHandle = void*;

/// The driver reported an error. `code` is its CUresult.
class DeviceError : public RuntimeError {
 public:
  DeviceError(slipway_status status, const std::string& message, int code)
      : RuntimeError(status, message), code_(code) {}
  int code() const { return code_; }

 private:
  int code_;
};

/// The library of the driver that the program has loaded. Never loaded by us: a pointer to device memory proves that
/// the program has a driver, so without one no file is looked for.
///
/// Source: CUDA Driver API; HIP Runtime API of ROCm 6 and 7. Declared here, so that neither a header nor a library is
/// needed.
class Driver {
 public:
  /// Null while the program has loaded no driver. HIP's without a GPU counts as none: packages bring it along. Where
  /// both are loaded, it is CUDA's once the program has started that, and HIP's before. Any thread.
  /// Cost:   a look at a counter of the loader, and where it has changed at the names of the loaded libraries; a
  ///         question to CUDA's until the program has started it. Once it has, nothing.
  static const Driver* Loaded();
  /// HIP's, where it was loaded before the program started CUDA: memory may be of either. Else null.
  static const Driver* HipBesideCuda();
  /// Errors: RuntimeError(DEVICE) for a driver that lacks a function, naming it. Before it only cuPointerGetAttribute
  /// may be called.
  void RequireComplete() const;

  /// Throws DeviceError for another code than success: OUT_OF_MEMORY or DEVICE, naming `call` and the error.
  /// `call`: CUDA's name of the function, without its version; HIP's is said where that was called.
  void Check(int code, const char* call) const;
  /// "CUDA_ERROR_ILLEGAL_ADDRESS (700)".
  std::string NameOf(int code) const;
  /// The code of a call whose error the caller does without. HIP keeps an error for the program, which may take it for
  /// that of its own next kernel: so it is taken back, unless there was one before. CUDA's driver keeps none.
  /// Cost: with HIP, a look at a variable of the thread.
  template <class Call>
  int Try(Call call) const {
    const bool without_error = is_hip_ && hip_.hipPeekAtLastError() == 0;
    const int code = call();
    if (without_error && code != 0) hip_.hipGetLastError();
    return code;
  }
  static constexpr unsigned kDeviceMemory = 2;  ///< CU_MEMORYTYPE_DEVICE; HIP has the same since ROCm 6
  static constexpr unsigned kDeviceMemoryBeforeRocm6 = 1;
  /// What the driver answers for the type of memory that only the device reaches.
  unsigned device_memory_type() const { return is_before_rocm_6_ ? kDeviceMemoryBeforeRocm6 : kDeviceMemory; }

  // The functions, with the names of CUDA's. Each returns a CUresult, or a hipError_t.

  int (*cuDeviceGetCount)(int* count) = nullptr;  ///< null: a driver that has a GPU
  int (*cuPointerGetAttribute)(void* answer, int attribute, DeviceAddress pointer) = nullptr;
  int (*cuMemHostRegister)(void* memory, std::size_t bytes, unsigned flags) = nullptr;
  int (*cuMemHostUnregister)(void* memory) = nullptr;
  int (*cuStreamCreate)(StreamHandle* stream, unsigned flags) = nullptr;
  int (*cuStreamDestroy)(StreamHandle stream) = nullptr;
  int (*cuStreamSynchronize)(StreamHandle stream) = nullptr;
  int (*cuStreamWaitEvent)(StreamHandle stream, void* event, unsigned flags) = nullptr;
  int (*cuEventCreate)(void** event, unsigned flags) = nullptr;
  int (*cuEventDestroy)(void* event) = nullptr;
  int (*cuEventRecord)(void* event, StreamHandle stream) = nullptr;
  int (*cuEventQuery)(void* event) = nullptr;
  int (*cuMemcpyDtoHAsync)(void* to, DeviceAddress from, std::size_t bytes, StreamHandle stream) = nullptr;
  int (*cuMemcpyHtoDAsync)(DeviceAddress to, const void* from, std::size_t bytes, StreamHandle stream) = nullptr;

  // Of graphs, which are made from what streams are given. Null: the driver knows none.

  int (*cuStreamIsCapturing)(StreamHandle stream, int* status) = nullptr;
  int (*cuThreadExchangeStreamCaptureMode)(int* mode) = nullptr;

  /// A thread that works with a device has its context; in HIP a device.
  struct Cuda {
    int (*cuGetErrorName)(int code, const char** name) = nullptr;
    int (*cuCtxPushCurrent)(void* context) = nullptr;
    int (*cuCtxPopCurrent)(void** context) = nullptr;
  };
  struct Hip {
    const char* (*hipGetErrorName)(int code) = nullptr;
    int (*hipGetDevice)(int* device) = nullptr;
    int (*hipSetDevice)(int device) = nullptr;
    int (*hipPeekAtLastError)() = nullptr;
    int (*hipGetLastError)() = nullptr;
  };
  /// One of the two.
  const Cuda* cuda() const { return is_hip_ ? nullptr : &cuda_; }
  const Hip* hip() const { return is_hip_ ? &hip_ : nullptr; }

  /// Memory of our own on a device, and which device it is. Copies through the CPU's memory do without.
  struct Memory {
    int (*cuMemAlloc)(DeviceAddress* memory, std::size_t bytes) = nullptr;
    int (*cuMemFree)(DeviceAddress memory) = nullptr;
    int (*cuMemcpyDtoDAsync)(DeviceAddress to, DeviceAddress from, std::size_t bytes, StreamHandle stream) = nullptr;
    int (*cuDeviceGetPCIBusId)(char* text, int size, int device) = nullptr;
    int (*cuMemsetD8Async)(DeviceAddress to, unsigned char value, std::size_t count, StreamHandle stream) = nullptr;
    int (*cuCtxSynchronize)() = nullptr;
    int (*cuDevicePrimaryCtxRetain)(void** context, int device) = nullptr;  ///< null: HIP
  };
  /// Null when the driver lacks one of them.
  const Memory* memory() const { return has_memory_ ? &memory_ : nullptr; }

  /// What ranks need to combine in the memory of their GPUs, besides Memory.
  struct Direct {
    int (*cuIpcGetMemHandle)(IpcHandle* handle, DeviceAddress memory) = nullptr;
    int (*cuIpcOpenMemHandle)(DeviceAddress* memory, IpcHandle handle, unsigned flags) = nullptr;
    int (*cuIpcCloseMemHandle)(DeviceAddress memory) = nullptr;
    int (*cuModuleLoadData)(void** module, const void* image) = nullptr;
    int (*cuModuleUnload)(void* module) = nullptr;
    int (*cuModuleGetFunction)(void** function, void* module, const char* name) = nullptr;
    int (*cuLaunchKernel)(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                          unsigned block_y, unsigned block_z, unsigned shared_bytes, StreamHandle stream,
                          void** parameters, void** extra) = nullptr;
  };
  /// Null when the driver lacks one of them, or of Memory.
  const Direct* direct() const { return has_direct_ ? &direct_ : nullptr; }

  /// Events that GPUs of several processes wait for.
  struct SharedEvents {
    int (*cuDeviceGetAttribute)(int* value, int attribute, int device) = nullptr;
    int (*cuIpcGetEventHandle)(IpcHandle* handle, void* event) = nullptr;
    int (*cuIpcOpenEventHandle)(void** event, IpcHandle handle) = nullptr;
  };
  /// Null when the driver lacks one of them, or of Direct.
  const SharedEvents* shared_events() const { return has_shared_events_ ? &shared_events_ : nullptr; }

 private:
  explicit Driver(bool is_hip) : is_hip_(is_hip) {}
  struct Known;
  /// False while the library is not loaded, when it lacks the first functions, or when it is HIP's without a GPU.
  bool TakeLoaded(std::span<const char* const> names);
  /// CUDA's has none before the program has started it.
  bool HasGpu() const;
  void Take(void* library);
  bool TakeQuestions(void* library);
  template <class Function>
  bool TakeByName(void* library, const char* of_cuda, const char* of_hip, Function*& function);
  /// Of the driver that is in use. `call`: CUDA's name, or already HIP's.
  std::string NameOfCall(std::string_view call) const;
  bool TakeMemory(void* library);
  bool TakeDirect(void* library);
  bool TakeSharedEvents(void* library);

  bool is_hip_;
  bool is_before_rocm_6_ = false;
  Cuda cuda_;
  Hip hip_;
  const char* missing_ = nullptr;
  std::vector<std::pair<std::string_view, std::string_view>> hip_names_;  ///< by CUDA's

  Memory memory_;
  bool has_memory_ = false;
  Direct direct_;
  bool has_direct_ = false;
  SharedEvents shared_events_;
  bool has_shared_events_ = false;
};

}  // namespace slipway::runtime
