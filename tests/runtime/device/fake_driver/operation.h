#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/runtime/device/fake_driver/clock.h"
#include "tests/runtime/device/fake_driver/memory.h"
#include "tests/runtime/device/fake_driver/shared_event.h"

namespace slipway::fake_gpu {

/// What runs an operation: a copy engine each way, the processors, the thread of host functions; markers run nowhere.
enum class Engine { kToHost, kToDevice, kCompute, kHostFunction, kMarker };

struct Access {
  Range range;
  fake_gpu_access how = FAKE_GPU_READ;
  bool on_host = false;

  bool Conflicts(const Access& other) const {
    return range.Meets(other.range) && (how == FAKE_GPU_WRITE || other.how == FAKE_GPU_WRITE);
  }
};

/// One piece of work in a stream. kQueued -> kRunning -> kDone; a lost device moves kQueued to kDone.
struct Operation {
  enum class State { kQueued, kRunning, kDone };

  std::string name;  // entry, stream and place, for texts
  Engine engine = Engine::kMarker;
  std::function<void()> work;
  std::vector<Access> accesses;
  std::size_t bytes = 0;

  Place place;
  Clock clock;                                    // all operations that precede this one, and itself
  std::uint64_t epoch = 0;                        // Executor::epoch() when it was queued
  std::vector<std::shared_ptr<Operation>> after;  // those of them that must be done first; empty when this one is done
  State state = State::kQueued;
  bool wanted = false;  // a host call waits for it
  std::optional<std::uint64_t> source_hash;
  bool poisoned = false;
  std::shared_ptr<SharedEvent> shared;  // of a record that other processes see, or a wait for one of theirs
  std::uint64_t record = 0;             // its number
  bool waits_elsewhere = false;         // a wait
  std::chrono::steady_clock::time_point queued;
  std::chrono::steady_clock::time_point finished;

  bool done() const { return state == State::kDone; }
  bool ready() const {
    return state == State::kQueued && (!waits_elsewhere || shared->Reached(record)) &&
           std::all_of(after.begin(), after.end(), [](const auto& op) { return op->done(); });
  }
};

using OperationPtr = std::shared_ptr<Operation>;
using Operations = std::vector<OperationPtr>;

}  // namespace slipway::fake_gpu
