/// Why an ensemble ends before its trials are done.
#pragma once

#include <optional>

#include "ensemble/manager/manager.h"
#include "ensemble/study/options.h"

namespace slipway::ensemble {

class EarlyEnd {
 public:
  /// `failed`: trials that have failed already. `options` must outlive it.
  EarlyEnd(const EnsembleOptions& options, int failed) : options_(options), failed_(failed) {}

  void TakeFailure() { ++failed_; }
  /// Sets the count of failed trials, after failed trials were queued again.
  void CountFailures(int failed) { failed_ = failed; }
  void TakeInterrupt();
  /// Checks whether `max_failures` or the time ends the ensemble. `seconds_left`: of the time.
  void Watch(double seconds_left);

  /// Why running trials are asked to stop; nothing: they go on. The first reason counts.
  const std::optional<StopReason>& reason() const { return reason_; }
  void Tell(EnsembleSummary& summary) const;

 private:
  void StopAll(StopReason reason);

  const EnsembleOptions& options_;
  int failed_;
  std::optional<StopReason> reason_;
  bool interrupted_ = false;
  bool too_many_failures_ = false;
  bool out_of_time_ = false;
};

}  // namespace slipway::ensemble
