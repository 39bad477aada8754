#include <cstring>
#include <thread>

#include "tests/runtime/device/fake_driver/driver.h"
#include "tests/runtime/device/fake_driver/driver_api.h"

namespace slipway::fake_gpu {
namespace {

Address AddressOf(const void* pointer) { return reinterpret_cast<Address>(pointer); }

void CheckArguments(const void* answer, std::size_t bytes) {
  if (answer == nullptr || bytes == 0) throw Refusal{kInvalidValue};
}

/// Allocations and registrations make a GPU wait for its work, most of the time.
void CountSlowCall(const Call& call) {
  if (call.driver.HasWork(call.context())) call.driver.ledger.Count(FAKE_GPU_SLOW_CALLS_UNDER_WORK);
}

DevicePointer Allocate(const Call& call, Allocation::Origin origin, std::size_t bytes) {
  CountSlowCall(call);
  auto& context = call.context();
  const auto& made = call.driver.memory.Allocate(origin, context.device, context.handle, bytes);
  if (call.driver.executor.is_virtual()) std::memset(made.shadow(made.range().begin), kFakeGpuFresh, bytes);
  return made.range().begin;
}

void Own(const Call& call, PinnedRange& pinned) {
  pinned.device = call.context().device;
  pinned.context = call.context().handle;
}

/// Queued work must not touch pages that go. It runs first, so that the finding is the only consequence.
void ReleasePinned(const Call& call, const PinnedRange& pinned) {
  auto& executor = call.driver.executor;
  const auto user = executor.log().InTheWayOfHost({pinned.range, FAKE_GPU_WRITE, true}, executor.known());
  if (user) call.driver.ledger.Report(FAKE_GPU_FREED_IN_USE, "the host has not waited for " + user->name);
  if (call.driver.HasWork(call.context())) call.driver.WaitForContext(call.lock, call.context());
}

/// What an address is in.
struct Found {
  Range range;
  ContextHandle context = nullptr;
  Device device = 0;
  std::uint64_t id = 0;
  MemoryType type = kHostMemory;
  bool managed = false;
};

Found FindAddress(Memory& memory, Address address) {
  if (const auto* allocation = memory.Find(address)) {
    const bool managed = allocation->origin() == Allocation::Origin::kManaged;
    const bool pooled = allocation->origin() == Allocation::Origin::kPooled;
    auto* const context = pooled ? nullptr : allocation->context;
    return {allocation->range(), context, allocation->device, allocation->id, kDeviceMemory, managed};
  }
  if (const auto* pinned = memory.FindPinned(address)) {
    return {pinned->range, pinned->context, pinned->device, pinned->id, kHostMemory, false};
  }
  throw Refusal{kInvalidValue};
}

template <class T>
void Answer(void* answer, T value) {
  std::memcpy(answer, &value, sizeof value);
}

void AnswerAttribute(void* answer, int attribute, const Found& found) {
  switch (attribute) {
    case kAttributeContext: return Answer(answer, found.context);
    case kAttributeMemoryType: return Answer(answer, static_cast<unsigned>(found.type));
    case kAttributeBufferId: return Answer(answer, static_cast<unsigned long long>(found.id));
    case kAttributeIsManaged: return Answer(answer, static_cast<unsigned char>(found.managed));
    case kAttributeDeviceOrdinal: return Answer(answer, found.device);
    case kAttributeRangeStart: return Answer(answer, static_cast<DevicePointer>(found.range.begin));
    case kAttributeRangeSize: return Answer(answer, found.range.bytes());
    default: throw Refusal{kInvalidValue};
  }
}

}  // namespace

extern "C" {

Code cuMemAlloc_v2(DevicePointer* pointer, std::size_t bytes) {
  return Enter("cuMemAlloc_v2", Needs::kContext, [&](const Call& call) {
    CheckArguments(pointer, bytes);
    const bool pooled = call.driver.allocates_in_pools;
    *pointer = Allocate(call, pooled ? Allocation::Origin::kPooled : Allocation::Origin::kAllocated, bytes);
  });
}

Code cuMemAllocManaged(DevicePointer* pointer, std::size_t bytes, unsigned) {
  return Enter("cuMemAllocManaged", Needs::kContext, [&](const Call& call) {
    CheckArguments(pointer, bytes);
    *pointer = Allocate(call, Allocation::Origin::kManaged, bytes);
  });
}

Code cuMemFree_v2(DevicePointer pointer) {
  return Enter("cuMemFree_v2", Needs::kContext, [&](const Call& call) {
    if (pointer == 0) return;
    call.driver.memory.Starting(pointer, false);
    call.driver.WaitForContext(call.lock, call.context());
    const auto& freed = call.driver.memory.Starting(pointer, false);
    if (freed.IsMappedElsewhere()) {
      call.driver.ledger.Report(FAKE_GPU_FREED_WHILE_MAPPED, "another process has the memory open");
    }
    call.driver.memory.Forget(freed);
  });
}

Code cuMemGetInfo_v2(std::size_t* free_bytes, std::size_t* total_bytes) {
  return Enter("cuMemGetInfo_v2", Needs::kContext, [&](const Call& call) {
    if (free_bytes == nullptr || total_bytes == nullptr) throw Refusal{kInvalidValue};
    *free_bytes = call.driver.memory.free(call.context().device);
    *total_bytes = call.driver.memory.total(call.context().device);
  });
}

Code cuMemGetAddressRange_v2(DevicePointer* base, std::size_t* bytes, DevicePointer pointer) {
  return Enter("cuMemGetAddressRange_v2", Needs::kContext, [&](const Call& call) {
    const auto* allocation = call.driver.memory.Find(pointer);
    if (allocation == nullptr) throw Refusal{kNotFound};
    if (base != nullptr) *base = allocation->range().begin;
    if (bytes != nullptr) *bytes = allocation->range().bytes();
  });
}

Code cuMemAllocHost_v2(void** pointer, std::size_t bytes) {
  return Enter("cuMemAllocHost_v2", Needs::kContext, [&](const Call& call) {
    CheckArguments(pointer, bytes);
    CountSlowCall(call);
    auto& made = call.driver.memory.AllocateHost(bytes);
    Own(call, made);
    *pointer = reinterpret_cast<void*>(made.range.begin);
  });
}

Code cuMemFreeHost(void* pointer) {
  return Enter("cuMemFreeHost", Needs::kContext, [&](const Call& call) {
    ReleasePinned(call, call.driver.memory.StartingPinned(AddressOf(pointer), true));
    call.driver.memory.ForgetPinned(AddressOf(pointer));
  });
}

Code cuMemHostRegister_v2(void* pointer, std::size_t bytes, unsigned flags) {
  return Enter("cuMemHostRegister_v2", Needs::kContext, [&](const Call& call) {
    CheckArguments(pointer, bytes);
    if (flags > 0xF) throw Refusal{kInvalidValue};
    CountSlowCall(call);
    Own(call, call.driver.memory.Register(Range::Of(AddressOf(pointer), bytes)));
  });
}

Code cuMemHostUnregister(void* pointer) {
  return Enter("cuMemHostUnregister", Needs::kContext, [&](const Call& call) {
    ReleasePinned(call, call.driver.memory.StartingPinned(AddressOf(pointer), false));
    call.driver.memory.ForgetPinned(AddressOf(pointer));
  });
}

Code cuPointerGetAttribute(void* answer, int attribute, DevicePointer pointer) {
  return Enter("cuPointerGetAttribute", Needs::kInitialized, [&](const Call& call) {
    if (answer == nullptr) throw Refusal{kInvalidValue};
    AnswerAttribute(answer, attribute, FindAddress(call.driver.memory, pointer));
  });
}

Code cuIpcGetMemHandle(IpcHandle* handle, DevicePointer pointer) {
  return Enter("cuIpcGetMemHandle", Needs::kContext, [&](const Call& call) {
    if (handle == nullptr) throw Refusal{kInvalidValue};
    const auto* allocation = call.driver.memory.Find(pointer);
    if (allocation == nullptr || allocation->origin() != Allocation::Origin::kAllocated) throw Refusal{kInvalidValue};
    *handle = allocation->Export();
  });
}

Code cuIpcOpenMemHandle_v2(DevicePointer* pointer, IpcHandle handle, unsigned flags) {
  return Enter("cuIpcOpenMemHandle_v2", Needs::kContext, [&](const Call& call) {
    if (pointer == nullptr || flags != 1) throw Refusal{kInvalidValue};
    CountSlowCall(call);
    *pointer = call.driver.memory.Open(handle, call.context().device, call.context().handle).range().begin;
  });
}

Code cuIpcCloseMemHandle(DevicePointer pointer) {
  return Enter("cuIpcCloseMemHandle", Needs::kContext, [&](const Call& call) {
    auto& imported = call.driver.memory.Starting(pointer, true);
    if (--imported.opened > 0) return;
    std::this_thread::sleep_for(call.driver.delay_of_closes);
    call.driver.WaitForContext(call.lock, call.context());
    call.driver.memory.Forget(imported);
  });
}

}  // extern "C"

}  // namespace slipway::fake_gpu
