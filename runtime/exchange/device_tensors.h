/// A team's tensors in the memory of a GPU, on their way to the exchange and back.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "runtime/device/driver.h"
#include "runtime/exchange/tensors.h"
#include "runtime/group/waiter.h"

namespace slipway::runtime {

/// The program's streams and the exchange wait for each other by events; only AwaitResult() waits for the device.
///
/// Not for several threads at the same time, but Store() may run beside Fetch() and TakeArrived().
/// Errors: DeviceError.
class DeviceTensors {
 public:
  virtual ~DeviceTensors() = default;

  /// What is exchanged: each tensor, or several values for a large one. In the order of the tensors, with their names.
  virtual const std::vector<TensorInfo>& values() const = 0;
  /// The values of these tensors are to come, once `stream` has done what it was given so far.
  virtual void Fetch(std::span<const int> tensors, StreamHandle stream) = 0;
  /// Whether some have not been taken yet.
  virtual bool Fetching() const = 0;
  /// The next value that is here, in the order of Fetch().
  virtual std::optional<int> TakeArrived() = 0;
  /// The tensors are to get these values.
  virtual void Store(std::span<const int> values) = 0;
  /// Later work of `stream` finds all that was stored.
  virtual void Release(StreamHandle stream) = 0;
  /// After Release(): whether the GPU still has to do some of what it was given: copies to it, or sums. False where the
  /// exchange has waited for it. Not beside Release(). Cost: a call to the driver at most.
  virtual bool IsAtWork() const = 0;
  /// Between steps: returns when the CPU finds the result of the last Release(), too. `waiter`: of the calling thread.
  /// Errors: also RuntimeError(STALLED) when a rank is dead whose GPU has a part in it.
  virtual void AwaitResult(Waiter& waiter) = 0;
};

}  // namespace slipway::runtime
