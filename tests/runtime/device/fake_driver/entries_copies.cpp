#include <cstring>
#include <vector>

#include "tests/runtime/device/fake_driver/driver.h"
#include "tests/runtime/device/fake_driver/driver_api.h"

namespace slipway::fake_gpu {
namespace {

/// One side of a copy: where the bytes lie, and the address to copy with.
struct Side {
  Access access;
  char* bytes = nullptr;
  bool pinned = true;  // device memory counts as pinned
};

Side DeviceSide(const Call& call, DevicePointer pointer, std::size_t bytes, fake_gpu_access how) {
  const auto range = Range::Of(pointer, bytes);
  return {{range, how, false}, call.driver.memory.Shadow(range), true};
}

Side HostSide(const Call& call, const void* pointer, std::size_t bytes, fake_gpu_access how) {
  const auto address = reinterpret_cast<Address>(pointer);
  if (pointer == nullptr) throw Refusal{kInvalidValue};
  const auto range = Range::Of(address, bytes);
  if (call.driver.memory.Find(address) != nullptr) {
    call.driver.Refuse(FAKE_GPU_OUT_OF_BOUNDS, kInvalidValue, "the host side of the copy is device memory");
  }
  const bool pinned = call.driver.memory.PinningOf(range) == Memory::Pinning::kPinned;
  return {{range, how, true}, reinterpret_cast<char*>(address), pinned};
}

/// A side of a copy that does not say what it is.
Side AnySide(const Call& call, DevicePointer pointer, std::size_t bytes, fake_gpu_access how) {
  if (call.driver.memory.Find(pointer) != nullptr) return DeviceSide(call, pointer, bytes, how);
  return HostSide(call, reinterpret_cast<const void*>(pointer), bytes, how);
}

Engine EngineOf(const Side& to, const Side& from) {
  if (to.access.on_host) return Engine::kToHost;
  return from.access.on_host ? Engine::kToDevice : Engine::kCompute;
}

OperationPtr Copy(const Side& to, const Side& from) {
  auto operation = std::make_shared<Operation>();
  const auto bytes = to.access.range.bytes();
  operation->engine = EngineOf(to, from);
  operation->bytes = bytes;
  operation->work = [target = to.bytes, source = from.bytes, bytes] { std::memcpy(target, source, bytes); };
  for (const auto* side : {&to, &from}) {
    if (side->pinned) operation->accesses.push_back(side->access);
  }
  return operation;
}

/// The source is read at the call, as a driver does that stages pageable memory.
OperationPtr CopyStaged(const Side& to, const Side& from) {
  auto operation = Copy(to, from);
  const auto staged = std::make_shared<std::vector<char>>(from.bytes, from.bytes + to.access.range.bytes());
  operation->work = [target = to.bytes, staged] { std::memcpy(target, staged->data(), staged->size()); };
  return operation;
}

void QueueCopy(const Call& call, const Side& to, const Side& from, StreamHandle handle) {
  auto& driver = call.driver;
  const auto stream = driver.WorkStream(handle, call.context());
  if (to.access.range.bytes() == 0) return;
  if (!to.pinned || !from.pinned) driver.ledger.Count(FAKE_GPU_PAGEABLE_COPIES);
  const bool staged = !from.pinned && !to.access.on_host;
  const auto copy = driver.Queue(call.lock, *stream, staged ? CopyStaged(to, from) : Copy(to, from));
  const bool waits = !to.pinned || (from.access.on_host && to.access.on_host);
  if (waits) driver.Wait(call.lock, {copy});
}

/// A copy that the host waits for, in the legacy default stream.
void CopyNow(const Call& call, const Side& to, const Side& from) {
  auto& driver = call.driver;
  if (to.access.range.bytes() == 0) return;
  Stream& stream = *call.context().legacy;
  const auto last = LastOf(stream);
  const bool waits = std::any_of(last.begin(), last.end(), [](const auto& operation) { return !operation->done(); });
  if (waits) driver.ledger.Count(FAKE_GPU_DEVICE_SYNCHRONISATIONS);
  if (from.pinned) {
    driver.Wait(call.lock, {driver.Queue(call.lock, stream, Copy(to, from))});
    return;
  }
  // From pageable memory the call returns when the driver has staged it: the device may not have it yet.
  driver.Wait(call.lock, last);
  driver.Queue(call.lock, stream, CopyStaged(to, from));
}

/// Device memory of this context.
Side SideOf(const Call& call, ContextHandle context, DevicePointer pointer, std::size_t bytes, fake_gpu_access how) {
  const auto side = DeviceSide(call, pointer, bytes, how);
  const auto known = call.driver.Known(call.driver.contexts, context, "the context");
  if (call.driver.memory.Find(pointer)->device != known->device) {
    call.driver.Refuse(FAKE_GPU_WRONG_CONTEXT, kInvalidValue, "the memory is of another device");
  }
  return side;
}

template <class Value>
Code Set(const char* entry, DevicePointer to, Value value, std::size_t count, StreamHandle handle) {
  return Enter(entry, Needs::kContext, [&](const Call& call) {
    const auto stream = call.driver.WorkStream(handle, call.context());
    if (to % sizeof value != 0) throw Refusal{kInvalidValue};
    if (count == 0) return;
    const auto target = DeviceSide(call, to, count * sizeof value, FAKE_GPU_WRITE);
    auto operation = std::make_shared<Operation>();
    operation->engine = Engine::kCompute;
    operation->bytes = count * sizeof value;
    operation->accesses = {target.access};
    operation->work = [bytes = target.bytes, value, count] {
      std::fill_n(reinterpret_cast<Value*>(bytes), count, value);
    };
    call.driver.Queue(call.lock, *stream, operation);
  });
}

}  // namespace

extern "C" {

Code cuMemcpyDtoH_v2(void* to, DevicePointer from, std::size_t bytes) {
  return Enter("cuMemcpyDtoH_v2", Needs::kContext, [&](const Call& call) {
    CopyNow(call, HostSide(call, to, bytes, FAKE_GPU_WRITE), DeviceSide(call, from, bytes, FAKE_GPU_READ));
  });
}

Code cuMemcpyHtoD_v2(DevicePointer to, const void* from, std::size_t bytes) {
  return Enter("cuMemcpyHtoD_v2", Needs::kContext, [&](const Call& call) {
    CopyNow(call, DeviceSide(call, to, bytes, FAKE_GPU_WRITE), HostSide(call, from, bytes, FAKE_GPU_READ));
  });
}

Code cuMemcpyDtoHAsync_v2(void* to, DevicePointer from, std::size_t bytes, StreamHandle stream) {
  return Enter("cuMemcpyDtoHAsync_v2", Needs::kContext, [&](const Call& call) {
    QueueCopy(call, HostSide(call, to, bytes, FAKE_GPU_WRITE), DeviceSide(call, from, bytes, FAKE_GPU_READ), stream);
  });
}

Code cuMemcpyHtoDAsync_v2(DevicePointer to, const void* from, std::size_t bytes, StreamHandle stream) {
  return Enter("cuMemcpyHtoDAsync_v2", Needs::kContext, [&](const Call& call) {
    QueueCopy(call, DeviceSide(call, to, bytes, FAKE_GPU_WRITE), HostSide(call, from, bytes, FAKE_GPU_READ), stream);
  });
}

Code cuMemcpyDtoDAsync_v2(DevicePointer to, DevicePointer from, std::size_t bytes, StreamHandle stream) {
  return Enter("cuMemcpyDtoDAsync_v2", Needs::kContext, [&](const Call& call) {
    QueueCopy(call, DeviceSide(call, to, bytes, FAKE_GPU_WRITE), DeviceSide(call, from, bytes, FAKE_GPU_READ), stream);
  });
}

Code cuMemcpyAsync(DevicePointer to, DevicePointer from, std::size_t bytes, StreamHandle stream) {
  return Enter("cuMemcpyAsync", Needs::kContext, [&](const Call& call) {
    QueueCopy(call, AnySide(call, to, bytes, FAKE_GPU_WRITE), AnySide(call, from, bytes, FAKE_GPU_READ), stream);
  });
}

Code cuMemcpyPeerAsync(DevicePointer to, ContextHandle to_context, DevicePointer from, ContextHandle from_context,
                       std::size_t bytes, StreamHandle stream) {
  return Enter("cuMemcpyPeerAsync", Needs::kContext, [&](const Call& call) {
    auto target = SideOf(call, to_context, to, bytes, FAKE_GPU_WRITE);
    const auto source = SideOf(call, from_context, from, bytes, FAKE_GPU_READ);
    const auto& peers = call.context().peers;  // else the driver copies through the CPU's memory
    const bool direct = peers.contains(to_context) || peers.contains(from_context);
    if (direct && call.driver.peers_are_spoiled) target.bytes = static_cast<char*>(call.driver.OtherBytes(bytes));
    QueueCopy(call, target, source, stream);
  });
}

Code cuMemsetD8Async(DevicePointer to, unsigned char value, std::size_t count, StreamHandle stream) {
  return Set("cuMemsetD8Async", to, value, count, stream);
}

Code cuMemsetD32Async(DevicePointer to, unsigned value, std::size_t count, StreamHandle stream) {
  return Set("cuMemsetD32Async", to, value, count, stream);
}

}  // extern "C"

}  // namespace slipway::fake_gpu
