#include "runtime/device/stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>

namespace slipway::runtime {
namespace {

// Flags and codes of cuda.h; HIP has the same.
constexpr unsigned kEventWithoutTimes = 2;     // CU_EVENT_DISABLE_TIMING
constexpr unsigned kEventForNode = 4;          // CU_EVENT_INTERPROCESS
constexpr unsigned kStreamByItself = 1;        // CU_STREAM_NON_BLOCKING
constexpr unsigned kPinnedForAllContexts = 1;  // CU_MEMHOSTREGISTER_PORTABLE
constexpr int kNotReady = 600;                 // CUDA_ERROR_NOT_READY
constexpr int kCapturedForOthers = 906;        // CUDA_ERROR_STREAM_CAPTURE_IMPLICIT
constexpr int kOwnCapturesOnly = 1;            // CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
constexpr std::uintptr_t kStreamOfThread = 2;  // CU_STREAM_PER_THREAD

/// From 1. The system's numbers of threads are used again.
std::uint64_t NumberOfThread() {
  static std::atomic<std::uint64_t> last = 0;
  thread_local const std::uint64_t number = ++last;
  return number;
}

}  // namespace

InContext::InContext(const DevicePlace& place) : place_(place) {
  const auto& driver = *place.driver;
  if (const auto* cuda = driver.cuda()) {
    driver.Check(cuda->cuCtxPushCurrent(place.context), "cuCtxPushCurrent");
  } else {
    driver.Check(driver.hip()->hipGetDevice(&device_before_), "hipGetDevice");
    driver.Check(driver.hip()->hipSetDevice(place.ordinal), "hipSetDevice");
  }
}

InContext::~InContext() {
  if (const auto* cuda = place_.driver->cuda()) {
    void* popped = nullptr;
    cuda->cuCtxPopCurrent(&popped);
  } else {
    place_.driver->hip()->hipSetDevice(device_before_);
  }
}

/// What else the driver may have to say about the stream, it says when the stream is used.
void RequireNotCaptured(const DevicePlace& place, StreamHandle stream) {
  const auto ask = place.driver->cuStreamIsCapturing;
  if (ask == nullptr) return;
  const InContext here(place);
  int status = 0;
  const int code = place.driver->Try([&] { return ask(stream, &status); });
  if (code != kCapturedForOthers && (code != 0 || status == 0)) return;
  throw RuntimeError(SLIPWAY_ERROR_STATE,
                     "the stream is being captured into a graph, and an exchange is no part of one: call this before "
                     "the capture begins, or after it has ended");
}

BesideCaptures::BesideCaptures(const Driver* driver)
    : exchange_(driver != nullptr ? driver->cuThreadExchangeStreamCaptureMode : nullptr), mode_(kOwnCapturesOnly) {
  if (exchange_ != nullptr && exchange_(&mode_) != 0) exchange_ = nullptr;
}

BesideCaptures::~BesideCaptures() {
  if (exchange_ != nullptr) exchange_(&mode_);
}

DeviceEvent::DeviceEvent(const DevicePlace& place, EventUse use) : place_(place) {
  const InContext here(place_);
  const unsigned flags = kEventWithoutTimes | (use == EventUse::kNode ? kEventForNode : 0);
  place_.driver->Check(place_.driver->cuEventCreate(&handle_, flags), "cuEventCreate");
}

DeviceEvent::DeviceEvent(const DevicePlace& place, const IpcHandle& handle) : place_(place) {
  const InContext here(place_);
  place_.driver->Check(place_.driver->shared_events()->cuIpcOpenEventHandle(&handle_, handle), "cuIpcOpenEventHandle");
}

DeviceEvent::~DeviceEvent() {
  if (handle_ == nullptr) return;
  FreeOnDevice(place_, [this](const Driver& driver) { driver.cuEventDestroy(handle_); });
}

IpcHandle DeviceEvent::Handle() const {
  const InContext here(place_);
  IpcHandle handle;
  place_.driver->Check(place_.driver->shared_events()->cuIpcGetEventHandle(&handle, handle_), "cuIpcGetEventHandle");
  return handle;
}

void DeviceEvent::Record(StreamHandle stream) {
  place_.driver->Check(place_.driver->cuEventRecord(handle_, stream), "cuEventRecord");
}

bool DeviceEvent::Reached() const {
  const int code = place_.driver->cuEventQuery(handle_);
  if (code == kNotReady) return false;
  place_.driver->Check(code, "cuEventQuery");
  return true;
}

void DeviceEvent::HoldBack(StreamHandle stream) const {
  place_.driver->Check(place_.driver->cuStreamWaitEvent(stream, handle_, 0), "cuStreamWaitEvent");
}

StreamOfThread::StreamOfThread(StreamHandle stream)
    : handle(stream), thread(reinterpret_cast<std::uintptr_t>(stream) == kStreamOfThread ? NumberOfThread() : 0) {}

void StreamJoin::Add(StreamHandle handle) {
  const InContext here(place_);
  const StreamOfThread stream(handle);
  const auto fits = [&](const Point& point) { return !point.added || point.stream == stream; };
  auto point = std::ranges::find_if(points_, fits);
  if (point == points_.end()) {
    points_.push_back({stream, DeviceEvent(place_), false});
    point = points_.end() - 1;
  }
  point->stream = stream;
  point->event.Record(handle);
  point->added = true;
}

void StreamJoin::HoldBack(StreamHandle handle) {
  const InContext here(place_);
  const StreamOfThread stream(handle);
  for (auto& point : points_) {
    if (std::exchange(point.added, false) && point.stream != stream) point.event.HoldBack(handle);
  }
}

DeviceStream::DeviceStream(const DevicePlace& place) : place_(place) {
  const InContext here(place_);
  place_.driver->Check(place_.driver->cuStreamCreate(&handle_, kStreamByItself), "cuStreamCreate");
}

DeviceStream::~DeviceStream() {
  FreeOnDevice(place_, [this](const Driver& driver) {
    driver.cuStreamSynchronize(handle_);
    driver.cuStreamDestroy(handle_);
  });
}

void DeviceStream::CopyToCpu(void* to, const void* from, std::size_t bytes) {
  place_.driver->Check(place_.driver->cuMemcpyDtoHAsync(to, AddressOf(from), bytes, handle_), "cuMemcpyDtoHAsync");
}

void DeviceStream::CopyToDevice(void* to, const void* from, std::size_t bytes) {
  place_.driver->Check(place_.driver->cuMemcpyHtoDAsync(AddressOf(to), from, bytes, handle_), "cuMemcpyHtoDAsync");
}

void DeviceStream::CopyOnDevice(void* to, const void* from, std::size_t bytes) {
  const auto copy = place_.driver->memory()->cuMemcpyDtoDAsync;
  place_.driver->Check(copy(AddressOf(to), AddressOf(from), bytes, handle_), "cuMemcpyDtoDAsync");
}

void DeviceStream::Synchronize() {
  place_.driver->Check(place_.driver->cuStreamSynchronize(handle_), "cuStreamSynchronize");
}

DeviceBlock::DeviceBlock(const DevicePlace& place, std::size_t bytes) : place_(place) {
  const InContext here(place_);
  place_.driver->Check(place_.driver->memory()->cuMemAlloc(&memory_, bytes > 0 ? bytes : 1), "cuMemAlloc");
}

DeviceBlock::~DeviceBlock() {
  if (memory_ == 0) return;
  FreeOnDevice(place_, [this](const Driver& driver) { driver.memory()->cuMemFree(memory_); });
}

PeerAllocations::~PeerAllocations() {
  if (mapped_.empty()) return;
  FreeOnDevice(place_, [this](const Driver& driver) {
    for (const auto address : mapped_) driver.direct()->cuIpcCloseMemHandle(address);
  });
}

char* PeerAllocations::Map(const IpcHandle& allocation) {
  constexpr unsigned kWithPeers = 1;  // CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS
  const InContext here(place_);
  DeviceAddress address = 0;
  if (place_.driver->direct()->cuIpcOpenMemHandle(&address, allocation, kWithPeers) != 0) return nullptr;
  mapped_.push_back(address);
  return reinterpret_cast<char*>(address);
}

PinnedRange::PinnedRange(const DevicePlace& place, void* memory, std::size_t bytes) : place_(place) {
  const InContext here(place_);
  const auto& driver = *place.driver;
  const int code = driver.Try([&] { return driver.cuMemHostRegister(memory, bytes, kPinnedForAllContexts); });
  if (code == 0) {
    memory_ = memory;
    return;
  }
  static std::atomic<bool> warned = false;
  if (warned.exchange(true)) return;
  std::fputs(fmt::format("slipway: warning: {} bytes cannot be pinned for the GPU: {}: copies to and from the GPU are "
                         "slower; raise the limit of locked memory (ulimit -l)\n",
                         bytes, driver.NameOf(code))
                 .c_str(),
             stderr);
}

PinnedRange::~PinnedRange() {
  if (memory_ == nullptr) return;
  FreeOnDevice(place_, [this](const Driver& driver) { driver.cuMemHostUnregister(memory_); });
}

}  // namespace slipway::runtime
