#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/runtime/device/fake_driver/executor.h"

namespace slipway::fake_gpu {

struct Context;

/// A queue of operations of one context.
struct Stream {
  enum class Kind { kLegacy, kBlocking, kNonBlocking };

  Stream(Context& owner, Kind of_kind);

  Context& context;
  const Kind kind;
  const StreamId id;
  std::string name;
  OperationPtr last;
  std::uint64_t count = 0;
  int capturing = 0;
  bool destroyed = false;
};
using StreamPtr = std::shared_ptr<Stream>;

/// What the last record captured.
struct Event {
  Context& context;
  unsigned flags = 0;
  OperationPtr recorded;                // null: never recorded
  std::shared_ptr<SharedEvent> shared;  // null: of this process alone
};

/// The primary context of a device.
struct Context {
  explicit Context(Device of_device);

  const Device device;
  ContextHandle handle = nullptr;
  unsigned retained = 0;
  std::set<ContextHandle> peers;  // whose memory it reaches
  StreamPtr legacy;
  std::map<std::thread::id, StreamPtr> per_thread;
  std::vector<StreamPtr> streams;  // all but the legacy one; destroyed ones until the next epoch

  StreamPtr PerThread();
  void ForgetDestroyed(std::uint64_t epoch);
};

/// Puts an operation at the end of a stream: after the stream's last one, after `also`, and as the legacy default
/// stream orders blocking streams. `known`: what the host knows to be done. The caller queues it.
void Append(Operation& operation, Stream& stream, const Clock& known, const OperationPtr& also = nullptr);

/// The last operation of a stream and, for the legacy default stream, of all blocking streams.
Operations LastOf(const Stream& stream);
/// Whether work of it would be that of a capture: of the legacy default stream, while a blocking stream is captured.
bool JoinsACapture(const Stream& stream);
/// The last operations of all streams of the context.
Operations LastOfAll(const Context& context);

}  // namespace slipway::fake_gpu
