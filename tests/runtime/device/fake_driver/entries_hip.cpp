#include <dlfcn.h>

#include <utility>

#include "tests/runtime/device/fake_driver/driver.h"
#include "tests/runtime/device/fake_driver/driver_api.h"
#include "tests/runtime/device/fake_driver/hip_api.h"

namespace slipway::fake_gpu {
namespace {

thread_local Device device_here = 0;
thread_local Code last_error = kSuccess;

/// As ROCm 7 keeps it: until the program takes it.
Code Keep(Code code) {
  if (code != kSuccess && code != kNotReady) last_error = code;
  return code;
}

/// Makes the context of this thread's device current, as HIP does in each call.
Code UseDevice() {
  auto& driver = Driver::The();
  Lock lock(driver.mutex);
  if (device_here < 0 || device_here >= driver.memory.devices()) return kNoDevice;
  driver.initialized = true;
  const auto context = driver.PrimaryOf(device_here);
  context->retained = std::max(context->retained, 1u);
  ContextStack() = {context->handle};
  return kSuccess;
}

/// The CUDA entry, with a context.
template <class... Parameters, class... Arguments>
Code On(Code (*entry)(Parameters...), Arguments... arguments) {
  if (const auto code = UseDevice(); code != kSuccess) return Keep(code);
  return Keep(entry(arguments...));
}

/// A library of ROCm 5 has no such entry (old_hip.map).
bool IsBeforeRocm6() {
  Dl_info own{};
  if (::dladdr(reinterpret_cast<const void*>(&UseDevice), &own) == 0) return false;
  void* library = ::dlopen(own.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  return library != nullptr && ::dlsym(library, "hipGetDevicePropertiesR0600") == nullptr;
}

DevicePointer Number(const void* pointer) { return reinterpret_cast<DevicePointer>(pointer); }

/// Where an entry of CUDA writes a number and HIP's a pointer.
DevicePointer* Number(void** pointer) { return reinterpret_cast<DevicePointer*>(pointer); }

const char* WordOr(Code (*word)(Code, const char**), Code code, const char* otherwise) {
  const char* text = nullptr;
  return word(code, &text) == kSuccess ? text : otherwise;
}

}  // namespace

extern "C" {

Code hipInit(unsigned flags) { return On(cuInit, flags); }
Code hipDriverGetVersion(int* version) { return cuDriverGetVersion(version); }
Code hipGetDeviceCount(int* count) { return On(cuDeviceGetCount, count); }
Code hipGetDevice(int* device) { return On(cuCtxGetDevice, device); }

Code hipSetDevice(int device) {
  int count = 0;
  if (const auto code = On(cuDeviceGetCount, &count); code != kSuccess) return code;
  if (device < 0 || device >= count) return Keep(kInvalidDevice);
  device_here = device;
  return Keep(UseDevice());
}

Code hipGetDevicePropertiesR0600(void*, int) { return Keep(kNotSupported); }
Code hipPeekAtLastError() { return last_error; }
Code hipGetLastError() { return std::exchange(last_error, kSuccess); }

Code hipDeviceGetName(char* name, int size, Device device) { return On(cuDeviceGetName, name, size, device); }
Code hipDeviceGetPCIBusId(char* text, int size, Device device) { return On(cuDeviceGetPCIBusId, text, size, device); }
Code hipDeviceSynchronize() { return On(cuCtxSynchronize); }
const char* hipGetErrorName(Code code) { return WordOr(cuGetErrorName, code, "hipErrorUnknown"); }
const char* hipGetErrorString(Code code) { return WordOr(cuGetErrorString, code, "unknown error"); }

Code hipMalloc(void** pointer, std::size_t bytes) { return On(cuMemAlloc_v2, Number(pointer), bytes); }
Code hipFree(void* pointer) { return On(cuMemFree_v2, Number(pointer)); }
Code hipMemGetInfo(std::size_t* free_bytes, std::size_t* total_bytes) {
  return On(cuMemGetInfo_v2, free_bytes, total_bytes);
}
Code hipMemGetAddressRange(void** base, std::size_t* bytes, void* pointer) {
  return On(cuMemGetAddressRange_v2, Number(base), bytes, Number(pointer));
}
Code hipHostMalloc(void** pointer, std::size_t bytes, unsigned) { return On(cuMemAllocHost_v2, pointer, bytes); }
Code hipHostFree(void* pointer) { return On(cuMemFreeHost, pointer); }
Code hipHostRegister(void* pointer, std::size_t bytes, unsigned flags) {
  return On(cuMemHostRegister_v2, pointer, bytes, flags);
}
Code hipHostUnregister(void* pointer) { return On(cuMemHostUnregister, pointer); }

Code hipPointerGetAttribute(void* answer, int attribute, void* pointer) {
  const auto code = On(cuPointerGetAttribute, answer, attribute, Number(pointer));
  // Before ROCm 6 memory of the CPU was 0, and of the device 1.
  if (code == kSuccess && attribute == kAttributeMemoryType && IsBeforeRocm6()) --*static_cast<unsigned*>(answer);
  return code;
}

Code hipPointerGetAttributes(HipPointerAttributes* attributes, const void* pointer) {
  if (attributes == nullptr) return kInvalidValue;
  unsigned type = 0;
  unsigned char managed = 0;
  *attributes = {};
  if (const auto code = UseDevice(); code != kSuccess) return Keep(code);
  if (cuPointerGetAttribute(&type, kAttributeMemoryType, Number(pointer)) != kSuccess) {
    attributes->device = kHipNoDevice;
    return kSuccess;
  }
  cuPointerGetAttribute(&managed, kAttributeIsManaged, Number(pointer));
  cuPointerGetAttribute(&attributes->device, kAttributeDeviceOrdinal, Number(pointer));
  const auto unmanaged = type == kDeviceMemory ? kHipDeviceMemory : kHipHostMemory;
  attributes->type = managed != 0 ? kHipManagedMemory : unmanaged;
  attributes->is_managed = managed;
  attributes->device_pointer = reinterpret_cast<void*>(Number(pointer));
  if (type == kHostMemory || managed != 0) attributes->host_pointer = attributes->device_pointer;
  return kSuccess;
}

Code hipMemcpyDtoH(void* to, void* from, std::size_t bytes) { return On(cuMemcpyDtoH_v2, to, Number(from), bytes); }
Code hipMemcpyHtoD(void* to, const void* from, std::size_t bytes) {
  return On(cuMemcpyHtoD_v2, Number(to), from, bytes);
}
Code hipMemcpyDtoHAsync(void* to, void* from, std::size_t bytes, StreamHandle stream) {
  return On(cuMemcpyDtoHAsync_v2, to, Number(from), bytes, stream);
}
Code hipMemcpyHtoDAsync(void* to, const void* from, std::size_t bytes, StreamHandle stream) {
  return On(cuMemcpyHtoDAsync_v2, Number(to), from, bytes, stream);
}
Code hipMemcpyDtoDAsync(void* to, void* from, std::size_t bytes, StreamHandle stream) {
  return On(cuMemcpyDtoDAsync_v2, Number(to), Number(from), bytes, stream);
}
Code hipMemcpyAsync(void* to, const void* from, std::size_t bytes, int, StreamHandle stream) {
  return On(cuMemcpyAsync, Number(to), Number(from), bytes, stream);
}
Code hipMemsetD8Async(void* to, unsigned char value, std::size_t count, StreamHandle stream) {
  return On(cuMemsetD8Async, Number(to), value, count, stream);
}
Code hipMemsetD32Async(void* to, int value, std::size_t count, StreamHandle stream) {
  return On(cuMemsetD32Async, Number(to), static_cast<unsigned>(value), count, stream);
}

Code hipStreamCreate(StreamHandle* stream) { return On(cuStreamCreate, stream, 0u); }
Code hipStreamCreateWithFlags(StreamHandle* stream, unsigned flags) { return On(cuStreamCreate, stream, flags); }
Code hipStreamCreateWithPriority(StreamHandle* stream, unsigned flags, int priority) {
  return On(cuStreamCreateWithPriority, stream, flags, priority);
}
Code hipStreamDestroy(StreamHandle stream) { return On(cuStreamDestroy_v2, stream); }
Code hipStreamQuery(StreamHandle stream) { return On(cuStreamQuery, stream); }
Code hipStreamSynchronize(StreamHandle stream) { return On(cuStreamSynchronize, stream); }
Code hipStreamWaitEvent(StreamHandle stream, EventHandle event, unsigned flags) {
  return On(cuStreamWaitEvent, stream, event, flags);
}
Code hipStreamIsCapturing(StreamHandle stream, int* status) { return On(cuStreamIsCapturing, stream, status); }
Code hipThreadExchangeStreamCaptureMode(int* mode) { return On(cuThreadExchangeStreamCaptureMode, mode); }
Code hipLaunchHostFunc(StreamHandle stream, HostFunction function, void* argument) {
  return On(cuLaunchHostFunc, stream, function, argument);
}

Code hipEventCreate(EventHandle* event) { return On(cuEventCreate, event, 0u); }
Code hipEventCreateWithFlags(EventHandle* event, unsigned flags) { return On(cuEventCreate, event, flags); }
Code hipEventRecord(EventHandle event, StreamHandle stream) { return On(cuEventRecord, event, stream); }
Code hipEventQuery(EventHandle event) { return On(cuEventQuery, event); }
Code hipEventSynchronize(EventHandle event) { return On(cuEventSynchronize, event); }
Code hipEventDestroy(EventHandle event) { return On(cuEventDestroy_v2, event); }
Code hipEventElapsedTime(float* milliseconds, EventHandle start, EventHandle end) {
  return On(cuEventElapsedTime, milliseconds, start, end);
}

Code hipIpcGetMemHandle(IpcHandle* handle, void* pointer) { return On(cuIpcGetMemHandle, handle, Number(pointer)); }
Code hipIpcOpenMemHandle(void** pointer, IpcHandle handle, unsigned flags) {
  return On(cuIpcOpenMemHandle_v2, Number(pointer), handle, flags);
}
Code hipIpcCloseMemHandle(void* pointer) { return On(cuIpcCloseMemHandle, Number(pointer)); }

Code hipModuleLoadData(ModuleHandle* module, const void* image) { return On(cuModuleLoadData, module, image); }
Code hipModuleUnload(ModuleHandle module) { return On(cuModuleUnload, module); }
Code hipModuleGetFunction(FunctionHandle* function, ModuleHandle module, const char* name) {
  return On(cuModuleGetFunction, function, module, name);
}
Code hipModuleLaunchKernel(FunctionHandle function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                           unsigned block_y, unsigned block_z, unsigned shared_bytes, StreamHandle stream,
                           void** parameters, void** extra) {
  return On(cuLaunchKernel, function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream,
            parameters, extra);
}

}  // extern "C"

}  // namespace slipway::fake_gpu
