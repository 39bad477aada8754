/// Values that streams of a GPU make, until they are there.
#pragma once

#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "runtime/device/stream.h"

namespace slipway::runtime {

/// Values that come together share an event: the driver is asked once for all of them.
///
/// Not for several threads at the same time. Errors: DeviceError.
class Arrivals {
 public:
  explicit Arrivals(const DevicePlace& place) : place_(place) {}

  /// These will be there when `stream` has done what it was given so far. The thread's device is that of the place.
  void Add(std::span<const int> values, StreamHandle stream);
  /// These count as there.
  void AddHere(std::span<const int> values) { here_.insert(here_.end(), values.begin(), values.end()); }
  /// Whether Take() has not given all of them yet.
  bool Coming() const { return !coming_.empty() || !here_.empty(); }
  /// The next value that is there, in the order of Add().
  std::optional<int> Take();

 private:
  struct Together {
    DeviceEvent made;
    std::vector<int> values;
  };
  DevicePlace place_;
  std::deque<Together> coming_;
  std::deque<int> here_;
  std::vector<DeviceEvent> free_;  ///< not in use
};

}  // namespace slipway::runtime
