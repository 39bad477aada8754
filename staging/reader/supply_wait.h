/// The waiting of the file supplies: short sleeps, a tick for the caller, a warning when nothing comes.
#pragma once

#include <string>

#include "core/clock.h"
#include "staging/reader/file_supply.h"

namespace slipway::staging {

class SupplyPatience {
 public:
  /// `what` is waited for: "'/tier/train-1/part-003.tfrecord'".
  SupplyPatience(const SupplyWait& wait, std::string what, Clock& clock = SystemClock());

  /// Ticks, sleeps for a moment, and warns once a minute.
  void Sleep();
  /// The same without the sleep, for callers that sleep in the kernel.
  void Tick();
  /// Something came: the minute begins again.
  void Restart();
  /// True twice a second while nothing comes: time to check whether the stager still works.
  bool TimeToLook();

 private:
  void Warn();

  const SupplyWait& wait_;
  std::string what_;
  Clock& clock_;
  SteadyTime since_;
  SteadyTime warned_;
  SteadyTime looked_;
};

}  // namespace slipway::staging
