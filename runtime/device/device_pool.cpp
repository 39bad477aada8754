#include "runtime/device/device_pool.h"

#include <algorithm>

namespace slipway::runtime {
namespace {

/// What a driver gives out at once.
constexpr std::int64_t kGranule = 2 << 20;
constexpr int kCaptured = 900;  // CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED

[[noreturn]] void Refuse(const char* message) { throw RuntimeError(SLIPWAY_ERROR_DEVICE, message); }

DevicePlace PlaceFor(int device) {
  const auto* driver = Driver::Loaded();
  if (driver == nullptr) {
    Refuse("this program has loaded no driver of a GPU: use CUDA before, or slipway_alloc for memory of the CPU");
  }
  driver->RequireComplete();
  if (driver->direct() == nullptr)
    Refuse("the driver cannot share memory of GPUs: use the allocator of your framework");
  return PlaceOn(*driver, device);
}

/// What is queued may still use memory that was freed. CUDA refuses the wait while a stream of the GPU is captured.
void AwaitAllWork(const DevicePlace& place) {
  const InContext here(place);
  const int code = place.driver->memory()->cuCtxSynchronize();
  if (code == kCaptured) {
    throw RuntimeError(SLIPWAY_ERROR_STATE,
                       "memory of a GPU that was freed cannot be used again while a stream of that GPU is being "
                       "captured into a graph: allocate before the capture begins, or after it has ended");
  }
  place.driver->Check(code, "cuCtxSynchronize");
}

void Zero(const DevicePlace& place, char* data, std::int64_t bytes) {
  DeviceStream stream(place);
  const InContext here(place);
  const auto set = place.driver->memory()->cuMemsetD8Async;
  place.driver->Check(set(AddressOf(data), 0, static_cast<std::size_t>(bytes), stream.handle()), "cuMemsetD8Async");
  stream.Synchronize();
}

}  // namespace

DevicePool::Owned& DevicePool::Take(const DevicePlace& place, std::int64_t bytes) {
  for (auto& block : blocks_) {
    if (block->in_use || block->place != place || block->bytes != bytes) continue;
    AwaitAllWork(place);
    block->in_use = true;
    return *block;
  }
  const InContext here(place);
  DeviceAddress address = 0;
  place.driver->Check(place.driver->memory()->cuMemAlloc(&address, static_cast<std::size_t>(bytes)), "cuMemAlloc");
  IpcHandle handle;
  const int code = place.driver->direct()->cuIpcGetMemHandle(&handle, address);
  if (code != 0) {
    place.driver->memory()->cuMemFree(address);
    place.driver->Check(code, "cuIpcGetMemHandle");
  }
  const auto serial = static_cast<std::int64_t>(blocks_.size()) + 1;
  blocks_.push_back(
      std::make_unique<Owned>(Owned{{serial, handle}, place, bytes, reinterpret_cast<char*>(address), true}));
  return *blocks_.back();
}

void* DevicePool::Allocate(int device, std::int64_t bytes) {
  const auto place = PlaceFor(device);
  const auto rounded = std::max<std::int64_t>(1, (bytes + kGranule - 1) / kGranule) * kGranule;
  Owned* block = nullptr;
  {
    const std::lock_guard lock(mutex_);
    block = &Take(place, rounded);
  }
  try {
    Zero(place, block->data, rounded);
  } catch (const DeviceError&) {
    Free(block->data);
    throw;
  }
  return block->data;
}

bool DevicePool::Free(const void* memory) {
  const std::lock_guard lock(mutex_);
  for (auto& block : blocks_) {
    if (block->data != memory || !block->in_use) continue;
    block->in_use = false;
    return true;
  }
  return false;
}

SharedLocation DevicePool::Find(const void* data, std::uint64_t bytes) const {
  const auto* first = static_cast<const char*>(data);
  const std::lock_guard lock(mutex_);
  for (const auto& block : blocks_) {
    const auto offset = AddressOf(first) - AddressOf(block->data);  // large where it lies before the block
    if (offset + bytes <= static_cast<std::uint64_t>(block->bytes) && offset + bytes >= bytes) {
      return {block->shared.serial, offset};
    }
  }
  return {};
}

std::vector<DevicePool::Shared> DevicePool::BlocksOn(const DevicePlace& place) const {
  const std::lock_guard lock(mutex_);
  std::vector<Shared> shared;
  for (const auto& block : blocks_) {
    if (block->place == place) shared.push_back(block->shared);
  }
  return shared;
}

char* DevicePool::FirstByte(std::int64_t serial) const {
  const std::lock_guard lock(mutex_);
  if (serial < 1 || serial > static_cast<std::int64_t>(blocks_.size())) return nullptr;
  return blocks_[static_cast<std::size_t>(serial - 1)]->data;
}

}  // namespace slipway::runtime
