/// Streams, events and pinned memory of a device, which free themselves.
///
/// Errors of all that follow: DeviceError. Destructors ignore errors: a lost device has nothing to free. After
/// HasGivenUp() they do nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "runtime/device/device_memory.h"
#include "runtime/status.h"

namespace slipway::runtime {

/// Makes the device the thread's own while it lives.
class InContext {
 public:
  explicit InContext(const DevicePlace& place);
  InContext(const InContext&) = delete;
  InContext& operator=(const InContext&) = delete;
  ~InContext();

 private:
  DevicePlace place_;
  int device_before_ = 0;  ///< of HIP
};

/// Errors: RuntimeError(STATE) while `stream` is captured: it is given no work then, but a graph is made of it.
/// Cost: three calls to the driver, none of which waits.
void RequireNotCaptured(const DevicePlace& place, StreamHandle stream);

/// While it lives, this thread may ask the driver for events, and for memory and its end, also where another thread
/// captures a stream. In CUDA's default mode that forbids it to all threads, and such a call ends the capture.
///
/// Limits: HIP of ROCm 7.0 to 7.2.0 forbids questions about events all the same.
///
/// Source: CUDA Driver API, cuThreadExchangeStreamCaptureMode; HIP's changelog of 7.2.1.
class BesideCaptures {
 public:
  /// `driver`: null: there is none.
  explicit BesideCaptures(const Driver* driver);
  BesideCaptures(const BesideCaptures&) = delete;
  BesideCaptures& operator=(const BesideCaptures&) = delete;
  ~BesideCaptures();

 private:
  int (*exchange_)(int* mode);  ///< null: nothing to change
  int mode_;                    ///< the thread's other one
};

/// For destructors.
template <class Action>
void WithoutErrors(const DevicePlace& place, Action action) {
  try {
    const InContext here(place);
    action(*place.driver);
  } catch (const DeviceError&) {
    return;  // the device is lost
  }
}

/// For destructors that free what a GPU may still use, or wait for it. Does nothing after HasGivenUp().
template <class Action>
void FreeOnDevice(const DevicePlace& place, Action action) {
  if (HasGivenUp()) return;
  const BesideCaptures beside(place.driver);
  WithoutErrors(place, action);
}

/// Whose streams wait for an event.
enum class EventUse {
  kThisProcess,
  kNode,  ///< also those of other processes; only of a driver with Driver::shared_events()
};

/// A point in a stream. Recording it again moves it; who waits already waits for the old point.
class DeviceEvent {
 public:
  explicit DeviceEvent(const DevicePlace& place, EventUse use = EventUse::kThisProcess);
  /// An event of another process, as its Handle() says. It must not be recorded here.
  DeviceEvent(const DevicePlace& place, const IpcHandle& handle);
  DeviceEvent(DeviceEvent&& other) noexcept : place_(other.place_), handle_(std::exchange(other.handle_, nullptr)) {}
  DeviceEvent& operator=(DeviceEvent&&) = delete;
  ~DeviceEvent();

  /// For the other processes: of kNode.
  IpcHandle Handle() const;
  void Record(StreamHandle stream);
  /// Whether the stream has got to the point. True before Record().
  bool Reached() const;
  /// Later work of `stream` waits for the point. The calling thread does not.
  void HoldBack(StreamHandle stream) const;

 private:
  DevicePlace place_;
  void* handle_ = nullptr;
};

/// A stream of the program, as the calling thread means it. The handle alone does not say which one: the handle 2
/// (cudaStreamPerThread, hipStreamPerThread) is another stream in each thread.
struct StreamOfThread {
  explicit StreamOfThread(StreamHandle stream);
  bool operator==(const StreamOfThread&) const = default;

  StreamHandle handle;
  std::uint64_t thread;  ///< never that of an earlier thread; 0: the handle means one stream in all threads
};

/// Points in several streams of the program, for another one to wait for.
class StreamJoin {
 public:
  explicit StreamJoin(const DevicePlace& place) : place_(place) {}

  /// What `handle` was given so far.
  void Add(StreamHandle handle);
  /// Later work of `handle` waits for all that was added since the last call.
  void HoldBack(StreamHandle handle);

 private:
  struct Point {
    StreamOfThread stream;
    DeviceEvent event;
    bool added = false;
  };
  DevicePlace place_;
  std::vector<Point> points_;  ///< those that were added come first
};

/// A stream of our own, which no other stream waits for by itself.
class DeviceStream {
 public:
  explicit DeviceStream(const DevicePlace& place);
  DeviceStream(const DeviceStream&) = delete;
  DeviceStream& operator=(const DeviceStream&) = delete;
  /// Waits for what it still has to do.
  ~DeviceStream();

  StreamHandle handle() const { return handle_; }
  void CopyToCpu(void* to, const void* from, std::size_t bytes);
  void CopyToDevice(void* to, const void* from, std::size_t bytes);
  /// Within the device, or between devices that reach each other. Only of a driver with Driver::memory().
  void CopyOnDevice(void* to, const void* from, std::size_t bytes);
  void Synchronize();

 private:
  DevicePlace place_;
  StreamHandle handle_ = nullptr;
};

/// Memory on the device. Only of a driver with Driver::memory().
class DeviceBlock {
 public:
  DeviceBlock(const DevicePlace& place, std::size_t bytes);
  DeviceBlock(DeviceBlock&& other) noexcept : place_(other.place_), memory_(std::exchange(other.memory_, 0)) {}
  DeviceBlock& operator=(DeviceBlock&&) = delete;
  /// The driver waits for the whole device.
  ~DeviceBlock();

  char* data() const { return reinterpret_cast<char*>(memory_); }

 private:
  DevicePlace place_;
  DeviceAddress memory_ = 0;
};

/// Allocations of other processes, mapped into this one. Only of a driver with Driver::direct().
class PeerAllocations {
 public:
  explicit PeerAllocations(const DevicePlace& place) : place_(place) {}
  PeerAllocations(const PeerAllocations&) = delete;
  PeerAllocations& operator=(const PeerAllocations&) = delete;
  /// Ends the mappings. The owners may free the memory then.
  ~PeerAllocations();

  /// The first byte; null when the driver refuses. Once for each allocation.
  char* Map(const IpcHandle& allocation);

 private:
  DevicePlace place_;
  std::vector<DeviceAddress> mapped_;
};

/// CPU memory that the device reaches by itself: copies run beside the processor, at the speed of the link.
class PinnedRange {
 public:
  /// Where the driver refuses (a limit of locked memory), the memory stays as it was, with one warning on stderr.
  /// Cost: some 0.1 ms for each MB, once.
  PinnedRange(const DevicePlace& place, void* memory, std::size_t bytes);
  PinnedRange(const PinnedRange&) = delete;
  PinnedRange& operator=(const PinnedRange&) = delete;
  ~PinnedRange();

 private:
  DevicePlace place_;
  void* memory_ = nullptr;
};

}  // namespace slipway::runtime
