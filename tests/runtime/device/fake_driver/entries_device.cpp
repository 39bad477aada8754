#include <algorithm>
#include <cstdio>
#include <map>

#include "tests/runtime/device/fake_driver/driver.h"
#include "tests/runtime/device/fake_driver/driver_api.h"

namespace slipway::fake_gpu {
namespace {

struct ErrorText {
  const char* name;
  const char* text;
};

const std::map<Code, ErrorText> kErrors = {
    {kSuccess, {"CUDA_SUCCESS", "no error"}},
    {kInvalidValue, {"CUDA_ERROR_INVALID_VALUE", "invalid argument"}},
    {kOutOfMemory, {"CUDA_ERROR_OUT_OF_MEMORY", "out of memory"}},
    {kNotInitialized, {"CUDA_ERROR_NOT_INITIALIZED", "initialization error"}},
    {kNoDevice, {"CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"}},
    {kInvalidDevice, {"CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"}},
    {kInvalidContext, {"CUDA_ERROR_INVALID_CONTEXT", "invalid device context"}},
    {kMapFailed, {"CUDA_ERROR_MAP_FAILED", "mapping of buffer object failed"}},
    {kUnsupportedPtxVersion,
     {"CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "the provided PTX was compiled with an unsupported toolchain."}},
    {kInvalidHandle, {"CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"}},
    {kNotFound, {"CUDA_ERROR_NOT_FOUND", "named symbol not found"}},
    {kNotReady, {"CUDA_ERROR_NOT_READY", "device not ready"}},
    {kIllegalAddress, {"CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"}},
    {kPeerAccessAlreadyEnabled, {"CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED", "peer access is already enabled"}},
    {kContextIsDestroyed, {"CUDA_ERROR_CONTEXT_IS_DESTROYED", "context is destroyed"}},
    {kHostMemoryAlreadyRegistered,
     {"CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED", "part or all of the requested memory range is already mapped"}},
    {kHostMemoryNotRegistered,
     {"CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED", "pointer does not correspond to a registered memory region"}},
    {kLaunchFailed, {"CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"}},
    {kNotPermitted, {"CUDA_ERROR_NOT_PERMITTED", "operation not permitted"}},
    {kNotSupported, {"CUDA_ERROR_NOT_SUPPORTED", "operation not supported"}},
    {kStreamCaptureUnsupported,
     {"CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "operation not permitted when stream is capturing"}},
    {kStreamCaptureImplicit,
     {"CUDA_ERROR_STREAM_CAPTURE_IMPLICIT",
      "operation would make the legacy stream depend on a capturing blocking stream"}},
    {kUnknown, {"CUDA_ERROR_UNKNOWN", "unknown error"}},
};

/// Attributes of a device that do not depend on it; the others are 0.
const std::map<int, int> kAttributes = {
    {1, 1024},  // threads of a block
    {10, 32},   // threads of a warp
    {16, 4},    // multiprocessors
    {19, 1},    // host memory can be mapped
    {31, 1},    // kernels at the same time
    {40, 2},    // copy engines
    {41, 1},    // one address space
    {75, 8},    // compute capability 8.0
    {76, 0},    //
    {83, 1},    // managed memory
    {91, 1},    // registered memory has the host's address on the device
    {125, 1},   // events of several processes: kAttributeSharedEvents
};
constexpr int kAttributePciBus = 33;
constexpr int kAttributeSharedEvents = 125;
constexpr int kCuda12 = 12000;
constexpr int kAttributesEnd = 160;

void CheckDevice(const Call& call, Device device) {
  if (device < 0 || device >= call.driver.memory.devices()) throw Refusal{kInvalidDevice};
}

template <class T>
void CheckAnswer(const T* answer) {
  if (answer == nullptr) throw Refusal{kInvalidValue};
}

std::shared_ptr<Context> CheckContext(const Call& call, ContextHandle handle) {
  auto context = call.driver.contexts.Find(handle);
  if (!context) call.driver.Refuse(FAKE_GPU_STALE_HANDLE, kInvalidContext, "the context does not exist");
  return context;
}

Code ErrorWord(Code code, const char** answer, const char* ErrorText::*word) {
  if (answer == nullptr) return kInvalidValue;
  const auto error = kErrors.find(code);
  *answer = error == kErrors.end() ? nullptr : error->second.*word;
  return error == kErrors.end() ? kInvalidValue : kSuccess;
}

}  // namespace

extern "C" {

Code cuInit(unsigned flags) {
  return Enter("cuInit", Needs::kNothing, [&](const Call& call) {
    if (flags != 0) throw Refusal{kInvalidValue};
    if (call.driver.memory.devices() == 0) throw Refusal{kNoDevice};
    call.driver.initialized = true;
  });
}

Code cuDriverGetVersion(int* version) {
  return Enter("cuDriverGetVersion", Needs::kNothing, [&](const Call& call) {
    CheckAnswer(version);
    *version = call.driver.version;
  });
}

Code cuGetErrorName(Code code, const char** name) { return ErrorWord(code, name, &ErrorText::name); }

Code cuGetErrorString(Code code, const char** text) { return ErrorWord(code, text, &ErrorText::text); }

Code cuDeviceGetCount(int* count) {
  return Enter("cuDeviceGetCount", Needs::kInitialized, [&](const Call& call) {
    CheckAnswer(count);
    *count = call.driver.memory.devices();
  });
}

Code cuDeviceGet(Device* device, int ordinal) {
  return Enter("cuDeviceGet", Needs::kInitialized, [&](const Call& call) {
    CheckAnswer(device);
    CheckDevice(call, ordinal);
    *device = ordinal;
  });
}

Code cuDeviceGetName(char* name, int size, Device device) {
  return Enter("cuDeviceGetName", Needs::kInitialized, [&](const Call& call) {
    CheckAnswer(name);
    CheckDevice(call, device);
    std::snprintf(name, static_cast<std::size_t>(size), "Slipway fake GPU %d", device);
  });
}

/// Those of tests/support/fake_nvml.cpp, where GPU 0 and 1 have changed places.
Code cuDeviceGetUuid(Uuid* uuid, Device device) {
  return Enter("cuDeviceGetUuid", Needs::kInitialized, [&](const Call& call) {
    CheckAnswer(uuid);
    CheckDevice(call, device);
    const int place = device < 2 ? 1 - device : device;
    std::ranges::fill(uuid->bytes, static_cast<char>(place * 0x11));
    std::fill_n(uuid->bytes, 4, static_cast<char>((place + 10) * 0x11));
  });
}

Code cuDeviceGetPCIBusId(char* text, int size, Device device) {
  return Enter("cuDeviceGetPCIBusId", Needs::kInitialized, [&](const Call& call) {
    CheckAnswer(text);
    CheckDevice(call, device);
    std::snprintf(text, static_cast<std::size_t>(size), "%08x:%02x:00.0", call.driver.pci_domain, device + 1);
  });
}

Code cuDeviceGetAttribute(int* value, int attribute, Device device) {
  return Enter("cuDeviceGetAttribute", Needs::kInitialized, [&](const Call& call) {
    CheckAnswer(value);
    CheckDevice(call, device);
    if (attribute <= 0 || attribute >= kAttributesEnd) throw Refusal{kInvalidValue};
    if (attribute == kAttributeSharedEvents && call.driver.version < kCuda12) throw Refusal{kInvalidValue};
    const auto known = kAttributes.find(attribute);
    *value = known == kAttributes.end() ? 0 : known->second;
    if (attribute == kAttributePciBus) *value = device + 1;
  });
}

Code cuDeviceCanAccessPeer(int* can_access, Device device, Device peer) {
  return Enter("cuDeviceCanAccessPeer", Needs::kInitialized, [&](const Call& call) {
    CheckAnswer(can_access);
    CheckDevice(call, device);
    CheckDevice(call, peer);
    *can_access = device != peer ? 1 : 0;
  });
}

Code cuDevicePrimaryCtxRetain(ContextHandle* context, Device device) {
  return Enter("cuDevicePrimaryCtxRetain", Needs::kInitialized, [&](const Call& call) {
    CheckAnswer(context);
    CheckDevice(call, device);
    call.driver.CheckAlive();
    const auto primary = call.driver.PrimaryOf(device);
    ++primary->retained;
    *context = primary->handle;
  });
}

Code cuDevicePrimaryCtxRelease_v2(Device device) {
  return Enter("cuDevicePrimaryCtxRelease_v2", Needs::kInitialized, [&](const Call& call) {
    CheckDevice(call, device);
    const auto primary = call.driver.PrimaryOf(device);
    if (primary->retained == 0)
      call.driver.Refuse(FAKE_GPU_STALE_HANDLE, kInvalidContext, "the context was not retained");
    if (--primary->retained == 0) call.driver.DestroyContext(call.lock, *primary);
  });
}

Code cuCtxGetCurrent(ContextHandle* context) {
  return Enter("cuCtxGetCurrent", Needs::kInitialized, [&](const Call&) {
    CheckAnswer(context);
    *context = ContextStack().empty() ? nullptr : ContextStack().back();
  });
}

Code cuCtxSetCurrent(ContextHandle context) {
  return Enter("cuCtxSetCurrent", Needs::kInitialized, [&](const Call& call) {
    auto& stack = ContextStack();
    if (context != nullptr) CheckContext(call, context);
    if (!stack.empty()) stack.pop_back();
    if (context != nullptr) stack.push_back(context);
  });
}

Code cuCtxPushCurrent_v2(ContextHandle context) {
  return Enter("cuCtxPushCurrent_v2", Needs::kInitialized, [&](const Call& call) {
    CheckContext(call, context);
    ContextStack().push_back(context);
  });
}

Code cuCtxPopCurrent_v2(ContextHandle* context) {
  return Enter("cuCtxPopCurrent_v2", Needs::kInitialized, [&](const Call& call) {
    auto& stack = ContextStack();
    if (stack.empty()) call.driver.Refuse(FAKE_GPU_NO_CONTEXT, kInvalidContext, "this thread has no current context");
    if (context != nullptr) *context = stack.back();
    stack.pop_back();
  });
}

Code cuCtxGetDevice(Device* device) {
  return Enter("cuCtxGetDevice", Needs::kContext, [&](const Call& call) {
    CheckAnswer(device);
    *device = call.context().device;
  });
}

/// In whatever mode: the wait would be one for the captured stream, too.
Code cuCtxSynchronize() {
  return Enter("cuCtxSynchronize", Needs::kContext, [&](const Call& call) {
    const auto is_captured = [](const auto& stream) { return stream->capturing != 0; };
    if (call.driver.captured_elsewhere || std::ranges::any_of(call.context().streams, is_captured)) {
      throw Refusal{kStreamCaptureUnsupported};
    }
    if (!call.driver.HasWork(call.context())) call.driver.ledger.Count(FAKE_GPU_DEVICE_SYNCHRONISATIONS);
    call.driver.WaitForContext(call.lock, call.context());
  });
}

Code cuCtxEnablePeerAccess(ContextHandle peer, unsigned flags) {
  return Enter("cuCtxEnablePeerAccess", Needs::kContext, [&](const Call& call) {
    if (flags != 0) throw Refusal{kInvalidValue};
    if (CheckContext(call, peer).get() == call.current) throw Refusal{kInvalidDevice};
    if (!call.context().peers.insert(peer).second) throw Refusal{kPeerAccessAlreadyEnabled};
  });
}

}  // extern "C"

}  // namespace slipway::fake_gpu
